//! Checks of free disk space.

use std::path::Path;

use sluicegate_costmodel::Bytes;

use crate::failure::{Failure, Result};

/// The fraction of an estimate that must be free, because estimates may be too high.
const CERTAIN: f64 = 0.7;

/// Fails if a folder clearly lacks `needed` bytes, before anything is written. `what` names their use in the error.
pub(crate) fn check(folder: &Path, needed: f64, what: &str) -> Result<()> {
    match free(folder) {
        Some(free) if needed * CERTAIN > free.as_f64() => Err(Failure::new(format!(
            "{what} takes about {}, and {free} are free in {}",
            Bytes(needed as u64),
            folder.display()
        ))
        .with_hint(
            "Choose a smaller scale, or a folder on a larger disk (TMPDIR for temporary ones).",
        )),
        _ => Ok(()),
    }
}

/// Returns the bytes that this user may still write in a folder, if the system reports them.
#[cfg(unix)]
fn free(folder: &Path) -> Option<Bytes> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(Bytes(found.f_bavail.saturating_mul(found.f_frsize)))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<Bytes> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), 1.0, "a byte").unwrap();
        let refused = check(folder.path(), 1e20, "a world").unwrap_err();
        let (message, hint) = refused.words();
        assert!(
            message.contains("a world takes about") && message.contains("are free"),
            "{message}"
        );
        assert!(hint.unwrap().contains("smaller scale"));
    }
}
