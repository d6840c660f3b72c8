//! Verification of the objects in a folder.

use std::path::Path;

use crate::error::Error;
use crate::store::{Damage, Scrubbed, Store};

/// Reads all objects of a folder and compares each with its stored checksum. No server may serve the folder. Damaged
/// objects are reported as they are found.
///
/// # Errors
/// If the folder is missing, not writable, served by a server, or cannot be listed. An object that cannot be read
/// counts as damaged.
pub fn scrub(folder: impl AsRef<Path>, report: impl FnMut(Damage)) -> Result<Scrubbed, Error> {
    let folder = folder.as_ref();
    let store = Store::open(folder, true)?;
    store.scrub(report).map_err(|source| Error::NotReadable { path: folder.to_owned(), source })
}
