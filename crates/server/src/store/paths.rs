//! The mapping of an object's key to a path.
//!
//! The segments of a key between its slashes are directory and file names without changes, so that a folder of files
//! is a bucket of objects with the expected names. Three kinds of keys cannot be mapped like that. Their segments are
//! spelled with a prefix that is unlikely to occur otherwise:
//!
//! * `~%…`: a segment that is not a legal or unambiguous file name: the empty one (keys such as
//!   `a//b` and `dir/`), `.`, `..`, one with a NUL, or one that starts like an escape. The prefix is followed by
//!   the segment with `%00`, `%25` and, first, `%23` for NUL, `%` and `#`.
//! * `~%#…`: a segment longer than a file name may be. The prefix is followed by a hash of it. The segment
//!   itself is kept in the store's register of [`LongNames`].
//! * `~=…`: the last segment of a key that is also a directory, as with the keys `a` and `a/b`.
//!   It is spelled like the `~%` ones otherwise.
//!
//! A name that starts like an escape, but is not the spelling of any key, is not an object.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::PathBuf;

use s3s::crypto::{Checksum as _, Sha256};

use super::disk::Disk;

/// The maximum length of file names in common file systems, in bytes.
const MAX_NAME: usize = 255;
/// S3's maximum length of keys, in bytes.
pub(crate) const MAX_KEY: usize = 1024;

const ESCAPED: &str = "~%";
const BESIDE: &str = "~=";

/// A key as file names under its bucket's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyPath {
    /// The names of the directories, outermost first.
    pub(crate) directories: Vec<String>,
    /// The file's name, if no directory has that name.
    pub(crate) file: String,
    /// The file's name, if a directory has the first one.
    pub(crate) file_beside: String,
    /// The segments that are spelled with a hash.
    pub(crate) long: Vec<String>,
}

impl KeyPath {
    pub(crate) fn new(key: &str) -> Self {
        let (directories, last) = match key.rsplit_once('/') {
            Some((directories, last)) => (directories.split('/').collect(), last),
            None => (Vec::new(), key),
        };
        let long = directories.iter().chain([&last]).filter(|s| is_long(s));
        Self {
            long: long.map(|s| (*s).to_owned()).collect(),
            directories: directories.iter().map(|s| directory_name(s).into_owned()).collect(),
            file: directory_name(last).into_owned(),
            file_beside: name_beside(last),
        }
    }
}

/// Returns the name of a directory, or of a file without a directory of the same name.
pub(crate) fn directory_name(segment: &str) -> Cow<'_, str> {
    let plain = !matches!(segment, "" | "." | "..")
        && segment.len() <= MAX_NAME
        && !segment.contains('\0')
        && !segment.starts_with(ESCAPED)
        && !segment.starts_with(BESIDE);
    if plain { Cow::Borrowed(segment) } else { Cow::Owned(escape(ESCAPED, segment)) }
}

/// Returns the name of a file that shares its segment with a directory.
pub(crate) fn name_beside(segment: &str) -> String {
    escape(BESIDE, segment)
}

fn escape(prefix: &str, segment: &str) -> String {
    let mut name = String::with_capacity(prefix.len() + segment.len() + 8);
    name.push_str(prefix);
    for (at, c) in segment.char_indices() {
        match c {
            '\0' => name.push_str("%00"),
            '%' => name.push_str("%25"),
            '#' if at == 0 => name.push_str("%23"),
            c => name.push(c),
        }
    }
    if name.len() > MAX_NAME { format!("{prefix}#{}", hash(segment)) } else { name }
}

/// Returns true if one of the two spellings of a segment has a hash.
fn is_long(segment: &str) -> bool {
    name_beside(segment).starts_with("~=#")
}

/// Returns 128 bits of SHA-256, in hexadecimal.
pub(crate) fn hash(text: &str) -> String {
    hex(&Sha256::checksum(text.as_bytes()).as_ref()[..16])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| char::from(DIGITS[usize::from(n)]);
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

/// The meaning of a file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) segment: String,
    /// True if this is the spelling for a file that shares its name with a directory.
    pub(crate) beside: bool,
}

/// Returns the segment that a name stands for; `None` if no key is spelled like that.
pub(crate) fn decode(name: &str, long_names: &LongNames) -> Option<Decoded> {
    let (beside, rest) = if let Some(rest) = name.strip_prefix(ESCAPED) {
        (false, rest)
    } else if let Some(rest) = name.strip_prefix(BESIDE) {
        (true, rest)
    } else {
        return Some(Decoded { segment: name.to_owned(), beside: false });
    };
    let segment = match rest.strip_prefix('#') {
        Some(hash) => long_names.get(hash)?,
        None => rest.replace("%00", "\0").replace("%23", "#").replace("%25", "%"),
    };
    let spelled =
        if beside { name_beside(&segment) } else { directory_name(&segment).into_owned() };
    (spelled == name).then_some(Decoded { segment, beside })
}

/// The register of segments that are too long to be file names. Each is a small file whose name is the hash. Entries
/// are written before they are needed, and never removed.
#[derive(Debug, Clone)]
pub(crate) struct LongNames {
    directory: PathBuf,
}

impl LongNames {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn get(&self, hash: &str) -> Option<String> {
        let plain = hash.len() == 32 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        if plain { fs::read_to_string(self.directory.join(hash)).ok() } else { None }
    }

    /// Registers the long segments of a key, and repairs files that a power failure has damaged.
    pub(super) fn insert(&self, path: &KeyPath, disk: &Disk) -> io::Result<()> {
        for segment in &path.long {
            let hash = hash(segment);
            if self.get(&hash).as_ref() != Some(segment) {
                disk.publish_bytes(&self.directory.join(hash), segment.as_bytes())?;
            }
        }
        if path.long.is_empty() { Ok(()) } else { disk.sync_names(&self.directory) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    fn long_names() -> (tempfile::TempDir, LongNames) {
        let dir = tempfile::tempdir().unwrap();
        let names = LongNames::new(dir.path().to_owned());
        (dir, names)
    }

    #[track_caller]
    fn check(key: &str, expected: &str) {
        let path = KeyPath::new(key);
        let mut names = path.directories;
        names.push(path.file);
        assert_eq!(names.join("/"), expected);
    }

    #[test]
    fn plain_where_possible() {
        check("a.csv", "a.csv");
        check("tpch/line item/%2F part-0.csv", "tpch/line item/%2F part-0.csv");
        check(".hidden/...", ".hidden/...");
        check("dir/", "dir/~%");
        check("/", "~%/~%");
        check("a//b", "a/~%/b");
        check("./../x", "~%./~%../x");
        check("~%", "~%~%25");
        check("~=a", "~%~=a");
        check("~$doc", "~$doc");
        check("a\0b", "~%a%00b");
        check("#\0", "~%%23%00");
    }

    #[test]
    fn long_segments_are_hashed() {
        let path = KeyPath::new(&"x".repeat(300));
        assert!(path.file.starts_with("~%#") && path.file.len() < 64, "{}", path.file);
        assert_eq!(path.long, ["x".repeat(300)]);
        // The name is short enough for a directory, but not with the prefix of a file beside it.
        let path = KeyPath::new(&"x".repeat(255));
        assert_eq!(path.file, "x".repeat(255));
        assert!(path.file_beside.starts_with("~=#"));
        assert_eq!(path.long.len(), 1);
    }

    #[test]
    fn foreign_spellings_name_nothing() {
        let (_dir, names) = long_names();
        for name in ["~%a", "~%%41", "~=a%b", "~%#", "~%#../../etc/passwd", "~%#0123"] {
            assert_eq!(decode(name, &names), None, "{name}");
        }
    }

    fn segment() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[a-c.~%=#\\x00]{0,4}",
            1 => "\\PC{0,20}",
            1 => "[ab%]{250,330}",
            1 => Just("..".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn every_key_has_its_own_path_and_is_read_back(
            segments in prop::collection::vec(segment(), 1..4)
        ) {
            let (dir, names) = long_names();
            let key = segments.iter().map(|s| s.replace('/', "_")).collect::<Vec<_>>().join("/");
            let path = KeyPath::new(&key);
            let disk = Disk::new(dir.path(), dir.path().to_owned(), false);
            names.insert(&path, &disk).unwrap();
            for file in [&path.file, &path.file_beside] {
                let mut spelled = path.directories.clone();
                spelled.push(file.clone());
                let mut read = Vec::new();
                for name in &spelled {
                    prop_assert!(!name.is_empty() && name != "." && name != "..");
                    prop_assert!(name.len() <= MAX_NAME && !name.contains(['/', '\0']));
                    read.push(decode(name, &names).unwrap().segment);
                }
                prop_assert_eq!(&read.join("/"), &key);
            }
            prop_assert_ne!(&path.file, &path.file_beside);
        }
    }
}
