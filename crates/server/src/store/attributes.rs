//! Extended attributes of files, where the file system supports them.
//!
//! An attribute belongs to the file, not to its name. It exists before the file is renamed into a bucket, moves with
//! the file, and is removed with it.

use std::fs::File;
use std::io;
use std::path::Path;

/// The file to read an attribute of.
#[derive(Debug, Clone, Copy)]
pub(super) enum XattrTarget<'a> {
    Open(&'a File),
    /// A path. Symbolic links are not followed.
    Named(&'a Path),
}

/// Returns true if the file system of `directory` supports attributes.
pub(super) fn are_kept(directory: &Path) -> bool {
    let probe = || -> io::Result<bool> {
        let file = tempfile::tempfile_in(directory)?;
        set(&file, b"probe")?;
        Ok(get(XattrTarget::Open(&file)).as_deref() == Some(b"probe"))
    };
    probe().unwrap_or(false)
}

pub(super) use imp::{get, set};

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod imp {
    use super::*;

    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr, lgetxattr};
    use rustix::io::Errno;

    const NAME: &str = "user.sluice";
    /// The usual maximum length of attributes, in bytes.
    const USUAL: usize = 1024;

    /// Returns the attribute, if it can be read.
    pub(crate) fn get(of: XattrTarget<'_>) -> Option<Vec<u8>> {
        let mut value = vec![0; USUAL];
        loop {
            let read = match of {
                XattrTarget::Open(file) => fgetxattr(file, NAME, value.as_mut_slice()),
                XattrTarget::Named(path) => lgetxattr(path, NAME, value.as_mut_slice()),
            };
            match read {
                Ok(length) => {
                    value.truncate(length);
                    return Some(value);
                }
                // No file system supports more than 64 KiB.
                Err(Errno::RANGE) if value.len() < 1 << 16 => value.resize(1 << 16, 0),
                Err(_) => return None,
            }
        }
    }

    /// Sets the attribute. Fails if the file system has no room for it.
    pub(crate) fn set(file: &File, value: &[u8]) -> io::Result<()> {
        Ok(fsetxattr(file, NAME, value, XattrFlags::empty())?)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod imp {
    use super::*;

    pub(crate) fn get(_: XattrTarget<'_>) -> Option<Vec<u8>> {
        None
    }

    pub(crate) fn set(_: &File, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
