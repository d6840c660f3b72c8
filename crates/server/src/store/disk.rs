//! Changes of the folder, and what it takes for them to outlive a power failure.
//!
//! After a power failure a file system may have lost whatever was not forced to disk, and may have kept
//! the rest in any order: a name without the bytes, a later rename without an earlier one. It keeps
//! two promises: a rename is one step, and changes of one name keep their order. So every file is made
//! in `tmp`, with its bytes, time and attribute; [`Disk::settle`] forces them (of a large one most were
//! forced while it was written, see `draft`); a rename
//! ([`Disk::publish`]) makes them visible; and before the client hears of it [`Disk::sync_names`] forces
//! the directory, and the names of the directories above it that are not known to be on disk.
//! Nothing is removed before what replaces it is forced.
//!
//! A directory is forced once for each change in it, by the thread that made the change. Sharing one
//! call among threads gains nothing, since the file system's journal commits them together anyway: 16
//! threads on ext4 made 5 200 changes per second each by itself, and 5 000 in groups (measured).
//!
//! `replay` records what goes through here, and tries what may be left of it.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tempfile::NamedTempFile;

#[cfg(test)]
use super::replay::{Change, Recorder};

/// Directories that are remembered to be on disk. Forgetting one costs a call.
const REMEMBERED: usize = 1 << 16;

/// The changes of one folder.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
    temporary: PathBuf,
    sync: bool,
    durable: Mutex<Durable>,
    #[cfg(test)]
    pub(super) recorder: Option<Recorder>,
    /// Whether time stamps are as coarse as on a file system that keeps two seconds.
    #[cfg(test)]
    pub(super) coarse: bool,
}

/// What is known of directories.
#[derive(Debug, Default)]
struct Durable {
    /// Those whose own names are on disk, and those of all directories above them.
    directories: BTreeSet<PathBuf>,
    /// Counts removed directories: one of the same name may be another.
    removals: u64,
}

impl Disk {
    pub(super) fn new(root: &Path, temporary: PathBuf, sync: bool) -> Self {
        Self {
            root: root.to_owned(),
            temporary,
            sync,
            durable: Mutex::default(),
            #[cfg(test)]
            recorder: None,
            #[cfg(test)]
            coarse: false,
        }
    }

    fn durable(&self) -> MutexGuard<'_, Durable> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn record(&self, change: impl FnOnce() -> Change) {
        if let Some(recorder) = &self.recorder {
            recorder.note(change());
        }
    }

    /// A new file. It is removed when it is dropped, unless it is published.
    pub(super) fn create(&self) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // Minus the process's umask, as for any file.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(&self.temporary)
    }

    /// A file that is another name of an existing one, where the file system has such.
    pub(super) fn link(&self, existing: &Path) -> io::Result<NamedTempFile> {
        let linked = tempfile::Builder::new().make_in(&self.temporary, |path| {
            fs::hard_link(existing, path)?;
            File::options().read(true).write(true).open(path)
        })?;
        #[cfg(test)]
        self.record(|| Change::link(existing, linked.path()));
        Ok(linked)
    }

    /// Gives a file a time, as exactly as the file system keeps it.
    pub(super) fn stamp(&self, file: &File, time: SystemTime) -> io::Result<Metadata> {
        #[cfg(test)]
        let time = if self.coarse { super::tests::coarse(time) } else { time };
        file.set_modified(time)?;
        file.metadata()
    }

    /// Whether files are forced.
    pub(super) fn forces(&self) -> bool {
        self.sync
    }

    /// Forces the bytes, the time and the attribute of a file that is complete.
    pub(super) fn settle(&self, file: &NamedTempFile) -> io::Result<()> {
        #[cfg(test)]
        self.record(|| Change::file(file.path()));
        if self.sync {
            file.as_file().sync_all()?;
            #[cfg(test)]
            self.record(|| Change::sync_file(file.path()));
        }
        Ok(())
    }

    /// Gives a settled file its name, in one step.
    pub(super) fn publish(&self, file: &mut NamedTempFile, name: &Path) -> io::Result<()> {
        self.rename(file.path(), name)?;
        file.disable_cleanup(true);
        Ok(())
    }

    /// Makes bytes the content of a file, in one step, and forces them, but not the name.
    pub(super) fn publish_bytes(&self, name: &Path, bytes: &[u8]) -> io::Result<()> {
        self.publish(&mut self.settled(bytes)?, name)
    }

    /// As [`Self::publish_bytes`], unless there is a file of that name: then it says `false`.
    pub(super) fn publish_new(&self, name: &Path, bytes: &[u8]) -> io::Result<bool> {
        let file = self.settled(bytes)?;
        #[cfg(test)]
        let from = file.path().to_owned();
        match file.persist_noclobber(name) {
            Ok(_) => {}
            Err(e) if e.error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(e) => return Err(e.error),
        }
        #[cfg(test)]
        self.record(|| Change::rename(&from, name));
        Ok(true)
    }

    fn settled(&self, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut file = self.create()?;
        file.write_all(bytes)?;
        self.settle(&file)?;
        Ok(file)
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        #[cfg(test)]
        self.record(|| Change::rename(from, to));
        Ok(())
    }

    pub(super) fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)?;
        #[cfg(test)]
        self.record(|| Change::create_directory(path));
        Ok(())
    }

    /// Makes a directory, and those above it, unless they exist.
    pub(super) fn create_directories(&self, path: &Path) -> io::Result<()> {
        match self.create_directory(path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => match path.parent() {
                Some(parent) => {
                    self.create_directories(parent)?;
                    self.create_directories(path)
                }
                None => Err(e),
            },
            result => result,
        }
    }

    pub(super) fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)?;
        #[cfg(test)]
        self.record(|| Change::remove(path));
        Ok(())
    }

    /// Removes a directory that is empty.
    pub(super) fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)?;
        #[cfg(test)]
        self.record(|| Change::remove(path));
        self.forget(path);
        Ok(())
    }

    /// Removes a directory with everything in it: first its name, in one step.
    pub(super) fn discard(&self, directory: &Path, unique: &str) -> io::Result<()> {
        let discarded = self.set_aside(directory, unique)?;
        if let Some(parent) = directory.parent() {
            self.sync_names(parent)?;
        }
        loop {
            match fs::remove_dir_all(&discarded) {
                // Somebody had opened the directory before it was renamed.
                Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
                // What is left is removed when the store is opened.
                _ => return Ok(()),
            }
        }
    }

    /// Takes a directory away, in one step, to where it is removed when the store is opened at the latest.
    pub(super) fn set_aside(&self, directory: &Path, unique: &str) -> io::Result<PathBuf> {
        let aside = self.temporary.join(format!("discarded-{unique}"));
        self.rename(directory, &aside)?;
        self.forget(directory);
        Ok(aside)
    }

    /// Forgets what is known of a directory, and of those in it.
    fn forget(&self, directory: &Path) {
        let mut durable = self.durable();
        durable.removals += 1;
        let below: Vec<_> = durable
            .directories
            .range(directory.to_owned()..)
            .take_while(|below| below.starts_with(directory))
            .cloned()
            .collect();
        for below in below {
            durable.directories.remove(&below);
        }
    }

    /// Forces the names in a directory, and all that lead to it. If it is gone, that is forced.
    pub(super) fn sync_names(&self, directory: &Path) -> io::Result<()> {
        if !self.sync {
            return Ok(());
        }
        let mut directory = directory;
        while !self.sync_directory(directory)? {
            match directory.parent() {
                Some(parent) if directory != self.root => directory = parent,
                _ => return Ok(()),
            }
        }
        let below_root: Vec<_> =
            directory.ancestors().take_while(|above| *above != self.root).collect();
        for above in below_root.into_iter().rev() {
            let removals = {
                let durable = self.durable();
                if durable.directories.contains(above) {
                    continue;
                }
                durable.removals
            };
            let Some(parent) = above.parent() else { continue };
            self.sync_directory(parent)?;
            let mut durable = self.durable();
            if durable.removals == removals {
                if durable.directories.len() >= REMEMBERED {
                    durable.directories.clear();
                }
                durable.directories.insert(above.to_owned());
            }
        }
        Ok(())
    }

    /// Forces the names in a directory; says whether it is there.
    fn sync_directory(&self, directory: &Path) -> io::Result<bool> {
        // Elsewhere directories cannot be opened, and the file system does it by itself.
        if cfg!(unix) {
            let result = File::open(directory).and_then(|opened| opened.sync_all());
            match result {
                Ok(()) => {}
                Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    return Ok(false);
                }
                // Some network file systems have no such call: names are on the server.
                Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
                Err(e) => return Err(e),
            }
            #[cfg(test)]
            self.record(|| Change::sync_directory(directory));
        }
        Ok(true)
    }
}
