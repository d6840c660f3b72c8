//! Names index objects.
//!
//! The index of one column, for one version of a data object, is stored below a folder that mirrors the bucket:
//!
//! ```text
//! .sluice-index/<key of the object>/_<column>.<version of the object>.<format>.idx
//! ```
//!
//! The name of an index table ends in `.csv`.
//!
//! A listing of that folder is therefore enough to find the indexes that are up to date.

use std::fmt;

/// The folder in a bucket that holds its index objects.
pub const FOLDER: &str = ".sluice-index";

/// The form of an index object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// Sorted blocks of entries with a top: the binary format of [`layout`](crate::layout).
    #[default]
    Blocks,
    /// A table in CSV with the value, the first byte and the last byte of each record.
    Table,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Blocks, Self::Table];

    /// The suffix of an index object's name.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Blocks => ".idx",
            Self::Table => ".csv",
        }
    }
}

/// A 64-bit hash used in names. Readers of the index object compare the full values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(u64);

impl Tag {
    /// Returns the FNV-1a hash, which is the same on every machine and in every version of this program.
    #[must_use]
    pub fn hash(bytes: &[u8]) -> Self {
        let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold))
    }

    /// Returns the tag of an object's version: its entity tag without quotes and its size in bytes.
    #[must_use]
    pub fn of_version(e_tag: &str, size: u64) -> Self {
        Self::hash(format!("{e_tag} {size}").as_bytes())
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The parsed name of an index object, without its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    column: String,
    version: String,
    format: String,
    kind: Kind,
}

impl Name {
    /// Names the index of a column for one version of an object. The column must be spelled as in object keys.
    #[must_use]
    pub fn new(column: String, version: Tag, format: Tag) -> Self {
        let (version, format) = (version.to_string(), format.to_string());
        Self { column, version, format, kind: Kind::default() }
    }

    /// Names an index object of another form.
    #[must_use]
    pub fn with_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Returns the form of the index object.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Parses a name; returns `None` if it is not that of an index object.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix('_')?;
        let stem = |kind: Kind| Some((name.strip_suffix(kind.suffix())?, kind));
        let (name, kind) = Kind::ALL.into_iter().find_map(stem)?;
        let mut parts = name.rsplitn(3, '.').map(ToOwned::to_owned);
        let (format, version, column) = (parts.next()?, parts.next()?, parts.next()?);
        let is_tag =
            |part: &String| part.len() == 16 && part.bytes().all(|it| it.is_ascii_hexdigit());
        if ![&format, &version].into_iter().all(is_tag) {
            return None;
        }
        Some(Self { column, version, format, kind })
    }

    /// Returns the column as spelled in object keys.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Returns whether the index belongs to this version of the data object.
    #[must_use]
    pub fn is_of_version(&self, version: Tag) -> bool {
        self.version == version.to_string()
    }

    /// Returns whether the index was built with these format options.
    #[must_use]
    pub fn is_of_format(&self, format: Tag) -> bool {
        self.format == format.to_string()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "_{}.{}.{}{}", self.column, self.version, self.format, self.kind.suffix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_column_version_and_format() {
        let (version, format) = (Tag::of_version("e", 7), Tag::hash(b"f"));
        for column in ["price", "a.b", "a%2Fb"] {
            let name = Name::new(column.to_owned(), version, format);
            assert_eq!(Name::parse(&name.to_string()).as_ref(), Some(&name));
            let table = name.clone().with_kind(Kind::Table);
            assert_eq!(Name::parse(&table.to_string()).as_ref(), Some(&table));
            assert_eq!(name.column(), column);
            assert!(name.is_of_version(version) && !name.is_of_version(format));
            assert!(name.is_of_format(format) && !name.is_of_format(version));
        }
        assert_eq!(Name::parse("b.idx"), None);
        assert_eq!(Name::parse("_b.idx"), None);
        assert_eq!(Name::parse("_price.2024.01.csv"), None);
    }

    /// Tags must never change: an index under another name is not found.
    #[test]
    fn tags_are_stable() {
        assert_eq!(Tag::hash(b"").to_string(), "cbf29ce484222325");
        assert_eq!(Tag::hash(b"foobar").to_string(), "85944171f73967e8");
        assert_eq!(Tag::of_version("foo", 8), Tag::hash(b"foo 8"));
    }
}
