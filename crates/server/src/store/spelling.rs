//! Whether a folder keeps names as they are.
//!
//! Keys are told apart by their bytes. On a file system that takes `A` for `a`, or `é` in one code point for
//! `é` in two, two keys would be one file, and one of the objects would be lost.

use std::fs;
use std::io;
use std::path::Path;

/// Names, and what some file systems take for the same.
const ALIKE: [(&str, &str); 4] = [
    ("probe-a", "PROBE-A"),
    ("probe-\u{e9}", "probe-e\u{301}"),
    ("probe-dot", "probe-dot."),
    ("probe-space", "probe-space "),
];

/// Whether the file system of `directory` takes different names for one. It leaves nothing there.
pub(super) fn merges_names(directory: &Path) -> io::Result<bool> {
    let mut merged = false;
    for (name, alike) in ALIKE {
        let path = directory.join(name);
        fs::write(&path, "")?;
        merged |= directory.join(alike).exists();
        fs::remove_file(path)?;
    }
    Ok(merged)
}
