//! Detection of file systems that treat different names as the same.
//!
//! Keys are distinguished by their bytes. On a file system that treats `A` as `a`, or `é` in one code point as `é` in
//! two, two keys would be one file, and one of the objects would be lost.

use std::fs;
use std::io;
use std::path::Path;

/// Pairs of names that some file systems treat as the same.
const ALIKE: [(&str, &str); 4] = [
    ("probe-a", "PROBE-A"),
    ("probe-\u{e9}", "probe-e\u{301}"),
    ("probe-dot", "probe-dot."),
    ("probe-space", "probe-space "),
];

/// Returns true if the file system of `directory` treats different names as the same. Leaves no files there.
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
