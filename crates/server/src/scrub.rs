//! Looking whether a folder still has what was stored.

use std::path::Path;

use crate::error::Error;
use crate::store::{Damage, Scrubbed, Store};

/// Reads all objects of a folder that no server serves, and compares each with the checksum that was stored
/// with it. Those that are damaged are reported as they are found.
///
/// # Errors
/// If the folder is missing, not writable, served by a server, or cannot be listed. An object that cannot be
/// read is damaged.
pub fn scrub(folder: impl AsRef<Path>, report: impl FnMut(Damage)) -> Result<Scrubbed, Error> {
    let folder = folder.as_ref();
    let store = Store::open(folder, true)?;
    store.scrub(report).map_err(|source| Error::NotReadable { path: folder.to_owned(), source })
}
