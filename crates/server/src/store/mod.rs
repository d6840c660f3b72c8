//! A store in a folder: buckets are directories, and objects are files.
//!
//! ```text
//! folder/
//!   bucket/           a bucket; files in it are its objects, with names as `paths` describes
//!   .sluice/          the store's own files
//!     lock            held while a server runs
//!     meta/           metadata of objects that is not an attribute of their file
//!     names/          segments of keys that are too long for a file name
//!     tmp/            files being written; emptied at start
//!     uploads/        multipart uploads that are neither completed nor aborted
//!     completed/      results of uploads, for repeated requests; removed after a while
//! ```
//!
//! An object is one file: its bytes, with its metadata in an attribute (`meta`). It becomes visible by one rename,
//! and confirmed changes survive a power failure (`disk`).
//!
//! All functions here block and are called from blocking threads. Symbolic links are not followed, because they could
//! lead out of the folder.
//!
//! Start reading with `object.rs` and `draft.rs`, which read and write objects. `listing.rs` walks the tree,
//! `multipart.rs` and `completion.rs` handle uploads, and `scrub.rs` finds damage.

mod attributes;
mod bucket;
mod checksum;
mod completion;
mod condition;
mod disk;
mod draft;
mod listing;
mod meta;
mod multipart;
mod name_folding;
mod names;
mod object;
mod paths;
#[cfg(test)]
mod replay;
mod scrub;
#[cfg(test)]
mod tests;
mod window;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use crate::error::Error;

pub(crate) use checksum::{Algorithm, Checksums, Crc64, Expected, Hasher, base64_of_crc64};
pub(crate) use completion::DeclaredObject;
pub(crate) use condition::{Conditions, WriteConditions};
pub(crate) use draft::{Draft, FinishedDraft};
pub(crate) use listing::{Entry, Page, PageRequest};
pub(crate) use meta::Meta;
pub(crate) use multipart::{PartReference, Upload, milliseconds};
pub(crate) use object::{Head, Object};
pub(crate) use paths::MAX_KEY;
pub use scrub::{Damage, Scrubbed};

use disk::Disk;
use paths::{LongNames, hex};
use window::Windows;

const OWN: &str = ".sluice";

/// The store over one folder.
#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
    disk: Disk,
    /// True if metadata is kept in extended attributes.
    attributes: bool,
    names: LongNames,
    windows: Windows,
    /// Held while names in the folder change. Every visible change is one short critical section, so conditions on
    /// writes hold and directories do not disappear in between.
    names_lock: Mutex<()>,
    /// The latest modification time assigned. No two versions of an object share one.
    last_modified: Mutex<SystemTime>,
    /// Locks for the completion and the abortion of uploads. The name of the upload selects one.
    completions: [Mutex<()>; 64],
    #[cfg(test)]
    meta_files_opened: std::sync::atomic::AtomicUsize,
    /// The lock that keeps other servers out of the folder.
    _lock: File,
}

impl Store {
    /// Opens the folder, and removes the leftovers of a crash.
    ///
    /// If `sync` is true, confirmed changes survive a power failure.
    pub(crate) fn open(root: &Path, sync: bool) -> Result<Self, Error> {
        Self::open_on(Disk::new(root, root.join(OWN).join("tmp"), sync), root)
    }

    fn open_on(disk: Disk, root: &Path) -> Result<Self, Error> {
        match fs::metadata(root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(Error::NotAFolder { path: root.to_owned() }),
            Err(_) => return Err(Error::FolderMissing { path: root.to_owned() }),
        }
        let own = root.join(OWN);
        for name in ["completed", "meta", "names", "tmp", "uploads"] {
            let path = own.join(name);
            writable(&path, disk.create_directories(&path))?;
        }
        writable(&own, disk.sync_names(&own))?;
        let lock_path = own.join("lock");
        let lock = File::create(&lock_path)
            .map_err(|source| Error::NotWritable { path: lock_path.clone(), source })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::FolderInUse { path: root.to_owned() });
            }
            Err(TryLockError::Error(source)) => {
                return Err(Error::NotWritable { path: lock_path, source });
            }
        }
        let tmp = own.join("tmp");
        writable(&tmp, fs::remove_dir_all(&tmp).and_then(|()| fs::create_dir(&tmp)))?;
        if writable(&tmp, name_folding::merges_names(&tmp))? {
            return Err(Error::NamesMerge { path: root.to_owned() });
        }
        Ok(Self {
            root: root.to_owned(),
            names: LongNames::new(own.join("names")),
            windows: Windows::new(window::WINDOW),
            attributes: attributes::are_kept(&tmp),
            disk,
            names_lock: Mutex::new(()),
            last_modified: Mutex::new(SystemTime::UNIX_EPOCH),
            completions: [const { Mutex::new(()) }; 64],
            #[cfg(test)]
            meta_files_opened: Default::default(),
            _lock: lock,
        })
    }

    fn own(&self, name: &str) -> PathBuf {
        self.root.join(OWN).join(name)
    }

    fn lock_names(&self) -> MutexGuard<'_, ()> {
        // After a panic, names are in a state that a crash could also leave.
        self.names_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current time, or one later than that of any earlier change.
    fn next_modified(&self) -> SystemTime {
        let mut last = self.last_modified.lock().unwrap_or_else(PoisonError::into_inner);
        *last = SystemTime::now().max(*last + Duration::from_nanos(1));
        *last
    }

    /// Returns true if the folder can be accessed.
    pub(crate) fn is_reachable(&self) -> bool {
        self.own("tmp").is_dir()
    }

    /// Refuses keys that S3 refuses, too.
    pub(crate) fn check_key(key: &str) -> S3Result<()> {
        if key.is_empty() {
            return Err(s3_error!(InvalidArgument, "a key must not be empty"));
        }
        if key.len() > MAX_KEY {
            return Err(s3_error!(KeyTooLongError, "a key has at most {MAX_KEY} bytes"));
        }
        Ok(())
    }
}

fn writable<T>(path: &Path, result: io::Result<T>) -> Result<T, Error> {
    result.map_err(|source| Error::NotWritable { path: path.to_owned(), source })
}

/// Returns a unique name that cannot be guessed.
fn random() -> io::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(hex(&random))
}

/// The error message for a damaged object. A retry does not help.
const DAMAGED: &str = "the object is damaged on the disk of the store: its bytes are not those that were stored \
    (checksum); store it again from a copy. The server's log names it";

/// Converts an I/O error to S3's form.
pub(crate) fn storage_error(error: io::Error) -> S3Error {
    use io::ErrorKind as Kind;
    match error.kind() {
        kind @ (Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge) => {
            let message = match kind {
                Kind::FileTooLarge => {
                    "this is larger than the files that the server may write (ulimit -f), or than its file system \
                     takes; nothing was stored"
                }
                _ => "the disk behind this store is full; nothing was stored",
            };
            let code = S3ErrorCode::Custom("InsufficientStorage".into());
            let mut full = S3Error::with_message(code, message);
            full.set_status_code(http::StatusCode::INSUFFICIENT_STORAGE);
            full
        }
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            let mut denied = S3Error::with_source(S3ErrorCode::AccessDenied, Box::new(error));
            denied.set_message("the server may not access the file behind this name");
            denied
        }
        Kind::InvalidData => {
            let mut damaged = S3Error::with_source(S3ErrorCode::InternalError, Box::new(error));
            damaged.set_message(DAMAGED);
            damaged
        }
        Kind::InvalidFilename => {
            s3_error!(KeyTooLongError, "the folder's path is too long for this key")
        }
        _ => {
            let mut internal = S3Error::with_source(S3ErrorCode::InternalError, Box::new(error));
            internal.set_message("the server failed to read or write its folder");
            internal
        }
    }
}
