//! A `SelectObjectContent` request as plain data: the statement, how the object is read and how rows
//! are returned. A client sends it, and a server evaluates it.

use std::ops::Range;

use crate::dialect::Extras;
use crate::error::{Result, SelectError, SelectErrorCode};

/// The content of one `SelectObjectContent` call, apart from the bucket and the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectRequest {
    /// The SQL statement, at most 256 KiB of UTF-8.
    pub expression: String,
    /// How the object's bytes are to be read.
    pub input: InputSerialization,
    /// How rows are to be sent back.
    pub output: OutputSerialization,
    /// The part of the object to scan; `None` is all of it.
    pub scan_range: Option<ScanRange>,
    /// Whether `Progress` events are wanted.
    pub progress: bool,
    /// What the statement may use of our extensions to the language.
    pub extras: Extras,
}

/// How the object's bytes are to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSerialization {
    /// The object's format.
    pub format: InputFormat,
    /// Compression of the whole object; must be `None` for Parquet.
    pub compression: Compression,
}

/// The format of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFormat {
    /// Delimited text.
    Csv(CsvInput),
    /// JSON values.
    Json(JsonType),
    /// Apache Parquet.
    Parquet,
}

/// Options of a CSV object. The defaults are the service's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvInput {
    /// What the first line is.
    pub header: FileHeaderInfo,
    /// One character between fields.
    pub field_delimiter: String,
    /// One or two characters after each record.
    pub record_delimiter: String,
    /// The quote character; `None` switches quoting off.
    pub quote: Option<char>,
    /// The character that escapes a quote inside quotes; equal to `quote` for doubling.
    pub quote_escape: Option<char>,
    /// Lines that start with this character are skipped; `None` skips none.
    pub comments: Option<char>,
    /// Whether a quoted field may hold a record delimiter.
    pub allow_quoted_record_delimiter: bool,
    /// Whether a carriage return that no line feed follows fails the statement. Readers disagree
    /// about it: some end a record there, others take it for a character of the field. Only with
    /// the record delimiter `\n`; an extension of ours ([`Extension::StrictLines`]).
    ///
    /// [`Extension::StrictLines`]: crate::profile::Extension::StrictLines
    pub strict_lines: bool,
    /// How many fields every record must have, the header included; one with more or fewer fails the
    /// statement. `None` takes any, as S3 Select does: missing ones are NULL. An extension of ours
    /// ([`Extension::StrictFields`]).
    ///
    /// [`Extension::StrictFields`]: crate::profile::Extension::StrictFields
    pub strict_fields: Option<usize>,
}

impl Default for CsvInput {
    fn default() -> Self {
        Self {
            header: FileHeaderInfo::None,
            field_delimiter: ",".to_owned(),
            record_delimiter: "\n".to_owned(),
            quote: Some('"'),
            quote_escape: Some('"'),
            comments: Some('#'),
            allow_quoted_record_delimiter: false,
            strict_lines: false,
            strict_fields: None,
        }
    }
}

/// What the first line of a CSV object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileHeaderInfo {
    /// A record like any other; columns are `_1`, `_2`, ….
    #[default]
    None,
    /// A header to skip; columns are `_1`, `_2`, ….
    Ignore,
    /// A header whose names can be used.
    Use,
}

/// How a JSON object is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// Values that may span lines.
    Document,
    /// One value per line.
    Lines,
}

/// Compression of a whole object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Stored as is.
    #[default]
    None,
    /// RFC 1952, several members allowed.
    Gzip,
    /// bzip2, several streams allowed.
    Bzip2,
}

/// How rows are sent back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSerialization {
    /// Delimited text.
    Csv(CsvOutput),
    /// One JSON object per row.
    Json {
        /// What follows each object.
        record_delimiter: String,
    },
}

impl OutputSerialization {
    /// What follows each record.
    #[must_use]
    pub fn record_delimiter(&self) -> &str {
        match self {
            Self::Csv(csv) => &csv.record_delimiter,
            Self::Json { record_delimiter } => record_delimiter,
        }
    }
}

/// Options of a CSV answer. The defaults are the service's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOutput {
    /// Which fields are quoted.
    pub quote_fields: QuoteFields,
    /// One character between fields.
    pub field_delimiter: String,
    /// One or two characters after each record.
    pub record_delimiter: String,
    /// The quote character.
    pub quote: char,
    /// The character that escapes a quote inside quotes; equal to `quote` for doubling.
    pub quote_escape: char,
}

impl Default for CsvOutput {
    fn default() -> Self {
        Self {
            quote_fields: QuoteFields::AsNeeded,
            field_delimiter: ",".to_owned(),
            record_delimiter: "\n".to_owned(),
            quote: '"',
            quote_escape: '"',
        }
    }
}

/// Which fields of a CSV answer are quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuoteFields {
    /// Every field.
    Always,
    /// Fields that hold a delimiter, a quote or a line break.
    #[default]
    AsNeeded,
}

/// The part of an object whose records are wanted. A record belongs to the range that contains its
/// first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanRange {
    /// Bytes `start ..= last`, counted from 0.
    Bounded {
        /// Offset of the first byte.
        start: u64,
        /// Offset of the last byte, included.
        last: u64,
    },
    /// From `start` to the end of the object.
    From {
        /// Offset of the first byte.
        start: u64,
    },
    /// The last `length` bytes of the object.
    Suffix {
        /// How many bytes.
        length: u64,
    },
}

impl ScanRange {
    /// Its offsets in an object of `len` bytes. A range that starts past the end of the object is
    /// empty.
    ///
    /// # Errors
    ///
    /// `InvalidScanRange` if it ends before it starts, or is of no bytes.
    pub fn offsets(self, len: u64) -> Result<Range<u64>> {
        let invalid = |message: &'static str| {
            Err(SelectError::new(SelectErrorCode::InvalidScanRange, message))
        };
        match self {
            Self::Bounded { start, last } if last < start => {
                invalid("The scan range ends before it starts.")
            }
            Self::Bounded { start, last } => Ok(start..last.saturating_add(1)),
            Self::From { start } => Ok(start..u64::MAX),
            Self::Suffix { length: 0 } => invalid("The scan range is empty."),
            Self::Suffix { length } => Ok(len.saturating_sub(length)..u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_service() {
        let input = CsvInput::default();
        assert_eq!((input.field_delimiter.as_str(), input.record_delimiter.as_str()), (",", "\n"));
        assert_eq!(
            (input.quote, input.quote_escape, input.comments),
            (Some('"'), Some('"'), Some('#'))
        );
        assert_eq!(input.header, FileHeaderInfo::None);
        assert!(!input.allow_quoted_record_delimiter);
        let output = CsvOutput::default();
        assert_eq!((output.field_delimiter, output.record_delimiter), (",".into(), "\n".into()));
        assert_eq!((output.quote, output.quote_escape), ('"', '"'));
        assert_eq!(output.quote_fields, QuoteFields::AsNeeded);
        assert_eq!(Compression::default(), Compression::None);
    }
}
