//! A simulated file system that may lose unforced changes, and the folder that is then left.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use super::super::{OWN, attributes};
use super::{Change, Content};

/// A file or a directory, independent of its names.
type Node = usize;

/// A change of names: the directory, the name, and the node that it leads to afterwards.
#[derive(Debug, Clone)]
struct DirEntryChange {
    edits: Vec<(Node, String, Option<Node>)>,
    /// The changed names, as numbers.
    places: Vec<usize>,
    forced: bool,
}

/// The state of a file system at some moment.
#[derive(Debug, Default)]
pub(super) struct SimulatedFs {
    /// The names that programs currently see.
    directories: HashMap<Node, BTreeMap<String, Node>>,
    /// The possible contents of files, only one if it was forced.
    files: BTreeMap<Node, Vec<Content>>,
    namings: Vec<DirEntryChange>,
    places: HashMap<(Node, String), usize>,
    /// The directory that is cleared unread when a store is opened.
    tmp: Option<Node>,
    nodes: Node,
}

const ROOT: Node = 0;

impl SimulatedFs {
    pub(super) fn new() -> Self {
        Self { directories: HashMap::from([(ROOT, BTreeMap::new())]), nodes: 1, ..Self::default() }
    }

    fn node(&mut self) -> Node {
        self.nodes += 1;
        self.nodes - 1
    }

    fn find(&self, path: &Path) -> Node {
        names_of(path).iter().fold(ROOT, |at, name| self.directories[&at][name])
    }

    fn place(&self, path: &Path) -> (Node, String) {
        let mut names = names_of(path);
        let name = names.pop().unwrap();
        (names.iter().fold(ROOT, |at, name| self.directories[&at][name]), name)
    }

    fn edit(&mut self, edits: Vec<(Node, String, Option<Node>)>) {
        for (directory, name, node) in &edits {
            let names = self.directories.get_mut(directory).unwrap();
            match node {
                Some(node) => names.insert(name.clone(), *node),
                None => names.remove(name),
            };
        }
        if edits.iter().all(|(directory, ..)| Some(*directory) == self.tmp) {
            return;
        }
        let number = |(directory, name, _): &(Node, String, _)| {
            let next = self.places.len();
            *self.places.entry((*directory, name.clone())).or_insert(next)
        };
        let places = edits.iter().map(number).collect();
        self.namings.push(DirEntryChange { edits, places, forced: false });
    }

    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::File { path, content } => {
                let (directory, name) = self.place(path);
                if let Some(&node) = self.directories[&directory].get(&name) {
                    let before = self.files.remove(&node).unwrap();
                    // Only the time and the attribute of forced bytes may change.
                    assert!(before.iter().all(|before| before.bytes == content.bytes));
                    self.files.insert(node, [vec![content.clone()], before].concat());
                } else {
                    let node = self.node();
                    self.files.insert(node, content.torn());
                    self.edit(vec![(directory, name, Some(node))]);
                }
            }
            Change::SyncFile(path) => {
                let node = self.find(path);
                self.files.get_mut(&node).unwrap().truncate(1);
            }
            Change::Link { from, to } => {
                let node = self.find(from);
                let (directory, name) = self.place(to);
                self.edit(vec![(directory, name, Some(node))]);
            }
            Change::Rename { from, to } => {
                let node = self.find(from);
                let ((from, old), (to, new)) = (self.place(from), self.place(to));
                self.edit(vec![(from, old, None), (to, new, Some(node))]);
            }
            Change::CreateDirectory(path) => {
                let (directory, name) = self.place(path);
                let node = self.node();
                self.directories.insert(node, BTreeMap::new());
                if path == &Path::new(OWN).join("tmp") {
                    self.tmp = Some(node);
                }
                self.edit(vec![(directory, name, Some(node))]);
            }
            Change::Remove(path) => {
                let (directory, name) = self.place(path);
                self.edit(vec![(directory, name, None)]);
            }
            Change::SyncDirectory(path) => {
                let node = self.find(path);
                let mut wanted = BTreeSet::new();
                for (index, naming) in self.namings.iter().enumerate() {
                    if naming.edits.iter().any(|(directory, ..)| *directory == node) {
                        wanted.insert(index);
                    }
                }
                for index in self.closed(wanted) {
                    self.namings[index].forced = true;
                }
            }
            Change::Asked(_) | Change::Told(_) => {}
        }
    }

    /// Adds all earlier changes of the same names.
    fn closed(&self, mut wanted: BTreeSet<usize>) -> BTreeSet<usize> {
        let mut names = vec![false; self.places.len()];
        for (index, DirEntryChange { places, .. }) in self.namings.iter().enumerate().rev() {
            if wanted.contains(&index) || places.iter().any(|place| names[*place]) {
                wanted.insert(index);
                for place in places {
                    names[*place] = true;
                }
            }
        }
        wanted
    }

    /// Returns sets of name changes that may survive: all sets if there are few.
    pub(super) fn survivors(&self, random: &mut impl FnMut() -> u64) -> BTreeSet<Vec<usize>> {
        let loose: Vec<usize> =
            (0..self.namings.len()).filter(|index| !self.namings[*index].forced).collect();
        let forced = (0..self.namings.len()).filter(|index| self.namings[*index].forced);
        let forced: BTreeSet<usize> = forced.collect();
        let with = |kept: &mut dyn FnMut(usize) -> bool| {
            let mut wanted = forced.clone();
            for (at, index) in loose.iter().enumerate() {
                if kept(at) {
                    wanted.insert(*index);
                }
            }
            self.closed(wanted).into_iter().collect::<Vec<_>>()
        };
        if loose.len() <= 6 {
            return (0..1_u32 << loose.len())
                .map(|set| with(&mut |at| set >> at & 1 == 1))
                .collect();
        }
        let mut sets = BTreeSet::new();
        for one in 0..loose.len() {
            sets.insert(with(&mut |at| at == one));
            sets.insert(with(&mut |at| at != one));
            sets.insert(with(&mut |at| at < one));
            sets.insert(with(&mut |at| at >= one));
        }
        sets.extend((0..24).map(|_| {
            let share = random() % 4 + 1;
            with(&mut |_| random() % 5 < share)
        }));
        sets
    }

    /// Returns the folder after a power failure in which these name changes survive.
    pub(super) fn left(
        &self,
        survivors: &[usize],
        random: &mut impl FnMut() -> u64,
    ) -> FolderState {
        let mut directories: HashMap<Node, BTreeMap<&str, Node>> = HashMap::new();
        for index in survivors {
            for (directory, name, node) in &self.namings[*index].edits {
                let names = directories.entry(*directory).or_default();
                match node {
                    Some(node) => names.insert(name, *node),
                    None => names.remove(name.as_str()),
                };
            }
        }
        let mut left = FolderState::default();
        let mut contents: HashMap<Node, Content> = HashMap::new();
        let mut todo = vec![(ROOT, PathBuf::new())];
        while let Some((node, path)) = todo.pop() {
            for (name, node) in directories.get(&node).into_iter().flatten() {
                let path = path.join(name);
                if self.tmp == Some(*node) {
                    left.directories.push(path);
                } else if let Some(possible) = self.files.get(node) {
                    let content = contents
                        .entry(*node)
                        .or_insert_with(|| possible[random() as usize % possible.len()].clone());
                    left.files.insert(path, content.clone());
                } else {
                    left.directories.push(path.clone());
                    todo.push((*node, path));
                }
            }
        }
        left
    }
}

/// A folder as plain data.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FolderState {
    directories: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Content>,
}

/// Creates a folder in memory, if there is a file system in memory with attributes, because many folders are made.
pub(super) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if attributes::are_kept(memory) {
        return tempfile::tempdir_in(memory).unwrap();
    }
    tempfile::tempdir().unwrap()
}

impl FolderState {
    pub(super) fn make(&self) -> tempfile::TempDir {
        let folder = folder();
        for directory in &self.directories {
            fs::create_dir_all(folder.path().join(directory)).unwrap();
        }
        for (path, content) in &self.files {
            let path = folder.path().join(path);
            fs::write(&path, &content.bytes).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            if let Some(modified) = content.modified {
                file.set_modified(modified).unwrap();
            }
            if let Some(attribute) = &content.attribute {
                attributes::set(&file, attribute).unwrap();
            }
        }
        folder
    }
}

fn names_of(path: &Path) -> Vec<String> {
    path.components()
        .map(|component| match component {
            Component::Normal(name) => name.to_str().unwrap().to_owned(),
            _ => panic!("{}", path.display()),
        })
        .collect()
}
