//! The statistics of a session by version of an object: in memory and, if it has a folder, in one file per object.
//!
//! A file is named by a tag of the store, the object and the options that it is read with. A new version replaces the
//! file atomically. Files contain no credentials. A file that is damaged, foreign or of another version of this
//! program is ignored with a note.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, exec_datafusion_err};

use super::column_layouts::LayoutCache;
use super::{ObjectStatistics, Origin, StatisticsKey, message};
use crate::context::config_extension::carried;
use crate::context::notes::some_of;
use sluicegate_index::name::Tag;

/// The maximum number of bytes of statistics in memory, and in files.
const MEMORY: usize = 128 << 20;
const FILES: u64 = 512 << 20;
/// Suffix of the files.
const SUFFIX: &str = "stat";
/// Number of new files after which the total size is checked.
const CLEANUP_AFTER: usize = 256;

/// The statistics of a session. Clones share them.
///
/// It is a config extension, under a prefix without settings, because file formats and optimizer rules can access the
/// configuration.
#[derive(Debug, Clone, Default)]
pub struct StatisticsCache {
    memory: Arc<Mutex<Memory>>,
    folder: Option<Arc<Folder>>,
    stored: Arc<LayoutCache>,
}

#[derive(Debug, Default)]
struct Memory {
    /// Each with its bytes as stored.
    objects: HashMap<StatisticsKey, (Arc<ObjectStatistics>, usize)>,
    bytes: usize,
}

/// A version of an object.
#[derive(Debug, Clone)]
pub struct Version {
    /// The object, and how it is read.
    pub about: StatisticsKey,
    /// Entity tag of the object, without quotes.
    pub e_tag: String,
    /// Size of the object in bytes.
    pub size: u64,
}

impl Version {
    fn is(&self, object: &ObjectStatistics) -> bool {
        object.e_tag == self.e_tag && object.size == self.size && object.about == self.about
    }
}

/// The result of a search.
#[derive(Debug, Clone, Default)]
pub struct CachedStatistics {
    /// Statistics in the order of the requested versions.
    pub objects: Vec<Option<Arc<ObjectStatistics>>>,
    /// A note about files that cannot be used.
    pub note: Option<String>,
}

impl StatisticsCache {
    /// Creates statistics that are stored in a folder. The folder is created when it is first needed.
    #[must_use]
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        let folder = Folder { path: folder.into(), written: Mutex::new(0) };
        Self { folder: Some(Arc::new(folder)), ..Self::default() }
    }

    /// Returns the statistics of a session, if it has any.
    #[must_use]
    pub fn from_options(options: &ConfigOptions) -> Option<&Self> {
        options.extensions.get::<Self>()
    }

    /// Returns the column layouts from footers.
    #[must_use]
    pub fn stored(&self) -> &LayoutCache {
        &self.stored
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the statistics in memory, in the order of the versions.
    #[must_use]
    pub fn in_memory(&self, versions: &[Version]) -> Vec<Option<Arc<ObjectStatistics>>> {
        let memory = self.memory();
        let find = |version: &Version| {
            let (found, _) = memory.objects.get(&version.about)?;
            version.is(found).then(|| Arc::clone(found))
        };
        versions.iter().map(find).collect()
    }

    /// Returns the statistics of versions of objects. This reads files, so call it on a blocking thread.
    #[must_use]
    pub fn find(&self, versions: &[Version]) -> CachedStatistics {
        let mut objects = self.in_memory(versions);
        let Some(folder) = &self.folder else { return CachedStatistics { objects, note: None } };
        if objects.iter().all(Option::is_some) {
            return CachedStatistics { objects, note: None };
        }
        let there = folder.names();
        let mut bad = Vec::new();
        for (version, object) in versions.iter().zip(&mut objects) {
            let name = file_name(&version.about);
            if object.is_some() || !there.contains(&name) {
                continue;
            }
            match folder.read(&name) {
                Ok(Some((found, bytes))) if version.is(&found) => {
                    let found = Arc::new(found);
                    self.memory().insert(&found, bytes, true);
                    *object = Some(found);
                }
                Ok(Some((found, _))) if found.about != version.about => {
                    let why = format!("it is about {}", found.about.url);
                    bad.push((name, why));
                }
                // The file is about another version of the object, or another process removed it.
                Ok(_) => {}
                Err(why) => bad.push((name, why.to_string())),
            }
        }
        let note = bad.first().map(|(_, why)| {
            let names: Vec<&String> = bad.iter().map(|(name, _)| name).collect();
            let folder = folder.path.display();
            format!("statistics in {folder} are ignored ({}): {why}", some_of(&names))
        });
        CachedStatistics { objects, note }
    }

    /// Returns the statistics of one version.
    fn one(&self, version: &Version) -> Option<Arc<ObjectStatistics>> {
        let known = self.memory().objects.get(&version.about).map(|(it, _)| Arc::clone(it));
        let read = || {
            let (object, _) = self.folder.as_ref()?.read(&file_name(&version.about)).ok()??;
            Some(Arc::new(object))
        };
        known.or_else(read).filter(|object| version.is(object))
    }

    /// Stores statistics, which replace those of an earlier version of the object.
    ///
    /// # Errors
    ///
    /// If they cannot be written; then they are in memory only.
    pub fn keep(&self, mut object: ObjectStatistics) -> Result<()> {
        let version =
            Version { about: object.about.clone(), e_tag: object.e_tag.clone(), size: object.size };
        // Statistics of other columns stay, and a sample does not replace an analysis of the whole object.
        if let Some(before) = self.one(&version)
            && before.origin == Origin::Analyze
        {
            if object.origin == Origin::Sample {
                return Ok(());
            }
            for column in &before.columns {
                if object.columns.iter().all(|new| new.position != column.position) {
                    object.columns.push(column.clone());
                }
            }
            object.columns.sort_by_key(|column| column.position);
        }
        let bytes = message::to_bytes(&object)?;
        let mut written = Ok(());
        if let Some(folder) = &self.folder {
            written = folder
                .write(&file_name(&object.about), &bytes)
                .map_err(|error| exec_datafusion_err!("{}: {error}", folder.path.display()));
        }
        let kept_elsewhere = self.folder.is_some() && written.is_ok();
        self.memory().insert(&Arc::new(object), bytes.len(), kept_elsewhere);
        written
    }

    /// Returns all stored statistics, sorted by object.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<ObjectStatistics>> {
        let mut all: HashMap<StatisticsKey, Arc<ObjectStatistics>> = {
            let memory = self.memory();
            let objects = memory.objects.iter();
            objects.map(|(about, (object, _))| (about.clone(), Arc::clone(object))).collect()
        };
        if let Some(folder) = &self.folder {
            for name in folder.names() {
                match folder.read(&name) {
                    Ok(Some((object, _))) => {
                        all.insert(object.about.clone(), Arc::new(object));
                    }
                    Ok(None) => {}
                    Err(why) => tracing::warn!(%name, %why, "statistics are ignored"),
                }
            }
        }
        let mut all: Vec<_> = all.into_values().collect();
        all.sort_by(|a, b| a.about.cmp(&b.about));
        all
    }

    /// Removes the statistics of some objects and returns their number. With `unusable`, damaged files are removed,
    /// too.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn remove_stale(
        &self,
        which: impl Fn(&StatisticsKey) -> bool,
        unusable: bool,
    ) -> io::Result<usize> {
        let mut forgotten: HashSet<StatisticsKey> = HashSet::new();
        let mut memory = self.memory();
        forgotten.extend(memory.objects.keys().filter(|about| which(about)).cloned());
        forgotten.iter().for_each(|about| memory.remove(about));
        drop(memory);
        let mut others = 0;
        if let Some(folder) = &self.folder {
            for name in folder.names() {
                match folder.read(&name) {
                    Ok(Some((object, _))) if which(&object.about) => {
                        forgotten.insert(object.about);
                    }
                    Err(_) if unusable => others += 1,
                    Ok(_) | Err(_) => continue,
                }
                match fs::remove_file(folder.path.join(&name)) {
                    // Another process may have removed it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    removed => removed?,
                }
            }
        }
        Ok(forgotten.len() + others)
    }
}

impl Memory {
    fn insert(&mut self, object: &Arc<ObjectStatistics>, bytes: usize, kept_elsewhere: bool) {
        self.remove(&object.about);
        if self.bytes + bytes > MEMORY {
            if !kept_elsewhere {
                return;
            }
            self.objects.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.objects.insert(object.about.clone(), (Arc::clone(object), bytes));
    }

    fn remove(&mut self, about: &StatisticsKey) {
        if let Some((_, bytes)) = self.objects.remove(about) {
            self.bytes -= bytes;
        }
    }
}

fn file_name(about: &StatisticsKey) -> String {
    let text = format!("{}\n{}\n{}", about.store, about.url, about.format);
    format!("{}.{SUFFIX}", Tag::hash(text.as_bytes()))
}

/// A folder of statistics files.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Number of files written since the total size was last checked.
    written: Mutex<usize>,
}

impl Folder {
    /// Returns the names of the statistics files.
    fn names(&self) -> HashSet<String> {
        let Ok(entries) = fs::read_dir(&self.path) else { return HashSet::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let of_ours = |name: &String| Path::new(name).extension().is_some_and(|it| it == SUFFIX);
        names.filter(of_ours).collect()
    }

    /// Reads a file; `None` if it no longer exists.
    fn read(&self, name: &str) -> Result<Option<(ObjectStatistics, usize)>> {
        let bytes = match fs::read(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        Ok(Some((message::of_bytes(&bytes)?, bytes.len())))
    }

    /// Writes a temporary file and renames it, so that readers never see a partial file.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(bytes)?;
        file.persist(self.path.join(name)).map_err(|error| error.error)?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        *written += 1;
        if *written >= CLEANUP_AFTER {
            *written = 0;
            self.shrink(FILES);
        }
        Ok(())
    }

    /// Removes the oldest files until the others have at most `most` bytes.
    fn shrink(&self, most: u64) {
        let mut files: Vec<(SystemTime, u64, String)> = self
            .names()
            .into_iter()
            .filter_map(|name| {
                let about = fs::metadata(self.path.join(&name)).ok()?;
                Some((about.modified().ok()?, about.len(), name))
            })
            .collect();
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, size, name) in files {
            if bytes <= most {
                break;
            }
            bytes -= size;
            // Another process may have removed it.
            drop(fs::remove_file(self.path.join(name)));
        }
    }
}

carried!(
    StatisticsCache,
    "sluice_statistics",
    "statistics come from ANALYZE TABLE and cannot be SET ({})"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn object(key: &str, e_tag: &str, origin: Origin) -> ObjectStatistics {
        ObjectStatistics {
            about: StatisticsKey {
                store: "http://here".to_owned(),
                url: format!("s3://bucket/{key}"),
                format: "csv".to_owned(),
            },
            e_tag: e_tag.to_owned(),
            size: 10,
            origin,
            taken: 7,
            rows: 1000,
            seen: 1000,
            columns: Vec::new(),
        }
    }

    fn version(key: &str, e_tag: &str) -> Version {
        let object = object(key, e_tag, Origin::Sample);
        Version { about: object.about, e_tag: object.e_tag, size: object.size }
    }

    #[track_caller]
    fn origins(known: &StatisticsCache, versions: &[Version], expected: &[Option<Origin>]) {
        let found = known.find(versions);
        let origins: Vec<_> =
            found.objects.iter().map(|it| it.as_ref().map(|it| it.origin)).collect();
        assert_eq!((origins.as_slice(), found.note), (expected, None));
    }

    #[test]
    fn a_version_is_found_by_those_who_come_later_and_no_other_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("statistics");
        let known = StatisticsCache::in_folder(&path);
        let asked = [version("a", "1"), version("b", "1"), version("a", "2")];
        origins(&known, &asked, &[None, None, None]);
        known.keep(object("a", "1", Origin::Sample)).unwrap();
        known.keep(object("b", "1", Origin::Analyze)).unwrap();
        // A sample adds nothing to an object that was read whole.
        known.keep(object("b", "1", Origin::Sample)).unwrap();
        let both = [Some(Origin::Sample), Some(Origin::Analyze), None];
        origins(&known, &asked, &both);
        origins(&StatisticsCache::in_folder(&path), &asked, &both);
        known.keep(object("a", "2", Origin::Sample)).unwrap();
        origins(&known, &asked, &[None, Some(Origin::Analyze), Some(Origin::Sample)]);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
        assert_eq!(known.all().len(), 2);
        assert_eq!(known.remove_stale(|about| about.url.ends_with('a'), false).unwrap(), 1);
        origins(&StatisticsCache::in_folder(&path), &asked, &[None, Some(Origin::Analyze), None]);
    }

    #[test]
    fn statistics_that_are_replaced_or_removed_free_their_memory() {
        let known = StatisticsCache::default();
        known.keep(object("a", "1", Origin::Sample)).unwrap();
        let one = known.memory().bytes;
        known.keep(object("a", "2", Origin::Sample)).unwrap();
        assert_eq!(known.memory().bytes, one);
        assert_eq!(known.remove_stale(|_| true, false).unwrap(), 1);
        assert_eq!(known.memory().bytes, 0);
    }

    #[test]
    fn files_that_cannot_be_used_are_ignored_with_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let known = StatisticsCache::in_folder(folder.path());
        known.keep(object("a", "1", Origin::Sample)).unwrap();
        let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let bytes = fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("secret"));
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        for bad in [&b""[..], b"mine", &bytes[..bytes.len() - 1]] {
            fs::write(&file, bad).unwrap();
            let found = StatisticsCache::in_folder(folder.path()).find(&[version("a", "1")]);
            assert!(found.objects[0].is_none());
            assert!(found.note.unwrap().contains("are ignored (`"), "{bad:?}");
        }
        // The file of this object contains the statistics of another.
        let other = message::to_bytes(&object("b", "1", Origin::Sample)).unwrap();
        fs::write(&file, other).unwrap();
        let found = StatisticsCache::in_folder(folder.path()).find(&[version("a", "1")]);
        assert!(found.objects[0].is_none());
        let note = found.note.unwrap();
        assert!(note.contains("it is about s3://bucket/b"), "{note}");
        fs::write(&file, "bad").unwrap();
        assert_eq!(
            StatisticsCache::in_folder(folder.path()).remove_stale(|_| false, true).unwrap(),
            1
        );
        assert!(folder.path().join("notes.txt").exists() && !file.exists());
    }

    #[test]
    fn who_cannot_write_files_remembers_for_as_long_as_the_session() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("statistics");
        fs::write(&path, "a file where the folder would be").unwrap();
        let known = StatisticsCache::in_folder(&path);
        let error = known.keep(object("a", "1", Origin::Analyze)).unwrap_err().to_string();
        assert!(error.contains("statistics: "), "{error}");
        origins(&known, &[version("a", "1")], &[Some(Origin::Analyze)]);
    }

    #[test]
    fn several_may_write_at_once() {
        const ROUNDS: usize = 100;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("statistics");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    // Each thread has a memory of its own, like another process.
                    for round in 0..ROUNDS {
                        let known = StatisticsCache::in_folder(&path);
                        for key in ["a", "b"] {
                            known.keep(object(key, "1", Origin::Analyze)).unwrap();
                        }
                        if round % 10 == 0 {
                            known.remove_stale(|about| about.url.ends_with('b'), true).unwrap();
                        }
                    }
                });
            }
            for _ in 0..ROUNDS {
                let found = StatisticsCache::in_folder(&path).find(&[version("a", "1")]);
                assert_eq!(found.note, None);
            }
        });
        origins(
            &StatisticsCache::in_folder(&path),
            &[version("a", "1"), version("b", "1")],
            &[Some(Origin::Analyze); 2],
        );
        assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
    }

    #[test]
    fn the_oldest_files_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let known = StatisticsCache::in_folder(folder.path());
        for key in ["a", "b", "c"] {
            known.keep(object(key, "1", Origin::Sample)).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let one = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
        known.folder.as_ref().unwrap().shrink(one.metadata().unwrap().len());
        let asked = [version("a", "1"), version("b", "1"), version("c", "1")];
        origins(
            &StatisticsCache::in_folder(folder.path()),
            &asked,
            &[None, None, Some(Origin::Sample)],
        );
    }
}
