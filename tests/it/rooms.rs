//! Checks the order of the rooms, which are the folders of `crates/engine/src`: each takes names only from those
//! before it.
//!
//! Imports are read as text. A path counts for the file that defines its first name that is no module. Names that a
//! `mod.rs` re-exports therefore count for the file that they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

/// The folders, the lowest first.
const ROOMS: [&str; 11] = [
    "context",
    "text",
    "pushdown",
    "store",
    "index",
    "scan",
    "estimate",
    "operators",
    "optimizer",
    "catalog",
    "engine",
];
/// The maximum number of files that may depend on one another in a circle.
const LARGEST_CIRCLE: usize = 20;

/// A module, by the names of its path; the crate's root has none.
type Module = Vec<String>;

struct Source {
    /// The code without comments and without tests.
    code: String,
    /// The imported names, with the path of each, and whether other modules may use it from here.
    imported: BTreeMap<String, (Module, bool)>,
}

struct Sources(BTreeMap<Module, Source>);

impl Sources {
    fn read(root: &Path) -> Self {
        let mut files = Vec::new();
        walk(root, &mut files);
        let mut sources = BTreeMap::new();
        for file in files {
            let relative = file.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module =
                relative.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            if module.iter().any(|part| part == "tests") {
                continue;
            }
            if ["mod", "lib"].contains(&module.last().unwrap().as_str()) {
                module.pop();
            }
            let code = without_tests(&fs::read_to_string(&file).unwrap());
            sources.insert(module, Source { code, imported: BTreeMap::new() });
        }
        let modules: BTreeSet<Module> = sources.keys().cloned().collect();
        let uses = Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").unwrap();
        for (module, source) in &mut sources {
            for found in uses.captures_iter(&source.code) {
                for path in expanded(&found[2]) {
                    let Some(path) = absolute(module, &path, &modules) else { continue };
                    let Some(name) = path.last().cloned() else { continue };
                    source.imported.insert(name, (path, found.get(1).is_some()));
                }
            }
        }
        Self(sources)
    }

    /// The module that defines what a path names.
    fn home(&self, path: &[String], depth: usize) -> Option<Module> {
        let length = (0..=path.len()).rev().find(|n| self.0.contains_key(&path[..*n]))?;
        let (module, rest) = path.split_at(length);
        let name = rest.first()?;
        match self.0[module].imported.get(name) {
            Some((from, true)) if depth < 8 && from != path => {
                let path: Module = from.iter().chain(&rest[1..]).cloned().collect();
                self.home(&path, depth + 1)
            }
            _ => Some(module.to_vec()),
        }
    }

    /// Which modules take names from which.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let modules: BTreeSet<Module> = self.0.keys().cloned().collect();
        let paths = Regex::new(r"\b[A-Za-z_]\w*(?:::\w+)+").unwrap();
        let mut arrows = BTreeMap::new();
        for (module, source) in &self.0 {
            let imports = source.imported.values().map(|(path, _)| path.clone());
            let written = paths.find_iter(&source.code).filter_map(|found| {
                let path: Module = found.as_str().split("::").map(str::to_owned).collect();
                match source.imported.get(&path[0]) {
                    Some((from, _)) => Some(from.iter().chain(&path[1..]).cloned().collect()),
                    None => absolute(module, &path, &modules),
                }
            });
            let homes = imports.chain(written).filter_map(|path: Module| self.home(&path, 0));
            arrows.insert(module, homes.filter(|home| home != module).collect());
        }
        arrows
    }
}

fn walk(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}

fn without_tests(text: &str) -> String {
    let tests =
        Regex::new(r"(?m)^#\[cfg\((?:test|all\(test[^\n]*)\)\]\s*\n\s*mod \w+ *\{").unwrap();
    let text = tests.find(text).map_or(text, |found| &text[..found.start()]);
    Regex::new(r"(?m)//.*$").unwrap().replace_all(text, "").into_owned()
}

/// The paths of a `use`, each by its names.
fn expanded(tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    if let Some((before, inner)) = tree.split_once('{') {
        let prefix: Module = names(before);
        let inner = inner.trim_end().trim_end_matches('}');
        let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
        for (at, sign) in inner.char_indices() {
            match sign {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(&inner[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(&inner[start..]);
        let each = parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(expanded);
        return each.map(|path| prefix.iter().cloned().chain(path).collect()).collect();
    }
    let path = names(tree.split(" as ").next().unwrap());
    vec![path.into_iter().filter(|name| name != "self" || tree.starts_with("self")).collect()]
}

fn names(path: &str) -> Module {
    path.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// A path from the crate's root, or `None` if it leads to another crate.
fn absolute(module: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some(module.iter().chain(rest).cloned().collect()),
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            let base = &module[..module.len().checked_sub(ups)?];
            Some(base.iter().chain(&path[ups..]).cloned().collect())
        }
        _ => {
            let child: Module = module.iter().chain([first]).cloned().collect();
            modules.contains(&child).then(|| child.into_iter().chain(rest.to_vec()).collect())
        }
    }
}

fn sources() -> Sources {
    Sources::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/engine/src"))
}

#[test]
fn rooms_take_names_only_from_those_before_them() {
    let rank = |module: &Module| match module.first() {
        Some(room) => ROOMS.iter().position(|it| it == room),
        // The root only declares and re-exports.
        None => Some(ROOMS.len()),
    };
    let sources = sources();
    let mut upward = Vec::new();
    for (from, all) in sources.arrows() {
        for to in all {
            let (Some(lower), Some(upper)) = (rank(from), rank(&to)) else {
                panic!("{} or {} is in no room", from.join("::"), to.join("::"));
            };
            if lower < upper {
                upward.push(format!("{} takes names from {}", from.join("::"), to.join("::")));
            }
        }
    }
    assert!(upward.is_empty(), "upward:\n{}", upward.join("\n"));
}

#[test]
fn circles_of_files_are_small() {
    let sources = sources();
    let arrows = sources.arrows();
    let reached = |from: &Module| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = next.pop() {
            for to in arrows.get(&module).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        arrows.keys().map(|module| (*module, reached(module))).collect();
    let circle = |module: &Module| {
        let back = |other: &&Module| reached[*other].contains(module);
        reached[module].iter().filter(back).map(|it| it.join("::")).collect::<Vec<_>>()
    };
    let largest = reached.keys().map(|module| circle(module)).max_by_key(Vec::len).unwrap();
    assert!(largest.len() <= LARGEST_CIRCLE, "{}:\n{}", largest.len(), largest.join("\n"));
}

#[test]
fn the_source_has_a_folder_for_each_room() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/engine/src");
    let entries = fs::read_dir(root).unwrap();
    let names: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let expected = ROOMS.iter().map(|room| (*room).to_owned()).chain(["lib.rs".to_owned()]);
    assert_eq!(names, expected.collect());
}
