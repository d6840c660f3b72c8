//! A `SelectObjectContent` request as plain data: the statement, the input options and the output options. A client
//! sends it, and a server evaluates it.

use std::ops::Range;

pub use crate::arrow_output::{ArrowCompression, ArrowOutput, ArrowTimeUnit, ArrowType};
use crate::dialect::Extras;
use crate::error::{Result, SelectError, SelectErrorCode};

/// The content of one `SelectObjectContent` call, without the bucket and the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectRequest {
    /// The SQL statement, at most 256 KiB of UTF-8.
    pub expression: String,
    /// The format of the object's bytes.
    pub input: InputSerialization,
    /// The format of the returned rows.
    pub output: OutputSerialization,
    /// The part of the object to scan; `None` stands for the whole object.
    pub scan_range: Option<ScanRange>,
    /// True to request `Progress` events.
    pub progress: bool,
    /// The extensions of the language that the statement may use.
    pub extras: Extras,
}

/// The format and compression of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSerialization {
    /// The object's format and its options.
    pub format: InputFormat,
    /// Compression of the whole object; must be `None` for Parquet.
    pub compression: Compression,
}

/// The format of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFormat {
    /// Delimited text, with its options.
    Csv(CsvInput),
    /// JSON values, with their layout.
    Json(JsonType),
    /// Apache Parquet, which has no options.
    Parquet,
}

/// Options for reading CSV. The defaults are the service's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvInput {
    /// The meaning of the first line.
    pub header: FileHeaderInfo,
    /// One character between fields.
    pub field_delimiter: String,
    /// One or two characters after each record.
    pub record_delimiter: String,
    /// The quote character; `None` disables quoting.
    pub quote: Option<char>,
    /// The character that escapes a quote inside quotes; equal to `quote` for doubling.
    pub quote_escape: Option<char>,
    /// The character that starts a line to skip; `None` skips no lines.
    pub comments: Option<char>,
    /// True if a quoted field may contain a record delimiter.
    pub allow_quoted_record_delimiter: bool,
    /// True if a carriage return without a line feed fails the statement.
    ///
    /// Readers disagree about such a carriage return: some end the record there, others make it part of the field.
    /// The option requires the record delimiter `\n`. It is an extension of this project
    /// ([`Extension::StrictLines`]).
    ///
    /// [`Extension::StrictLines`]: crate::capabilities::Extension::StrictLines
    pub strict_lines: bool,
    /// The number of fields in every record, including the header. A record with more or fewer fields fails the
    /// statement.
    ///
    /// `None` accepts any number, as S3 Select does, and missing fields are NULL. The option is an extension of this
    /// project ([`Extension::StrictFields`]).
    ///
    /// [`Extension::StrictFields`]: crate::capabilities::Extension::StrictFields
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

/// The meaning of the first line of a CSV object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileHeaderInfo {
    /// A record like all others; columns are `_1`, `_2`, ….
    #[default]
    None,
    /// A header that is skipped; columns are `_1`, `_2`, ….
    Ignore,
    /// A header with the names of the columns.
    Use,
}

/// The layout of a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// Values that may span several lines.
    Document,
    /// One value per line.
    Lines,
}

/// The compression of a whole object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// The object is not compressed.
    #[default]
    None,
    /// gzip (RFC 1952), with one or more members.
    Gzip,
    /// bzip2, with one or more streams.
    Bzip2,
}

/// The format of the returned rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSerialization {
    /// Delimited text, with its options.
    Csv(CsvOutput),
    /// One JSON object for each row.
    Json {
        /// The text after each object.
        record_delimiter: String,
    },
    /// An Arrow IPC stream of the given types.
    Arrow(ArrowOutput),
}

impl OutputSerialization {
    /// The text after each record; empty for Arrow, which has none.
    #[must_use]
    pub fn record_delimiter(&self) -> &str {
        match self {
            Self::Csv(csv) => &csv.record_delimiter,
            Self::Json { record_delimiter } => record_delimiter,
            Self::Arrow(_) => "",
        }
    }
}

/// Options for writing CSV. The defaults are the service's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOutput {
    /// The fields that are quoted.
    pub quote_fields: QuoteFields,
    /// One character between fields.
    pub field_delimiter: String,
    /// One or two characters after each record.
    pub record_delimiter: String,
    /// The character around quoted fields.
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

/// The fields of a CSV answer that are quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuoteFields {
    /// All fields are quoted.
    Always,
    /// Fields that contain a delimiter, a quote or a line break.
    #[default]
    AsNeeded,
}

/// The part of an object to scan. A record belongs to the range that contains its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanRange {
    /// The bytes `start ..= last`, counted from 0.
    Bounded {
        /// The offset of the first byte.
        start: u64,
        /// The offset of the last byte, which is included.
        last: u64,
    },
    /// All bytes from `start` to the end of the object.
    From {
        /// The offset of the first byte.
        start: u64,
    },
    /// The last `length` bytes of the object.
    Suffix {
        /// The number of bytes, which must not be 0.
        length: u64,
    },
}

impl ScanRange {
    /// The range as offsets in an object of `len` bytes. The end is not limited to `len`, so the range may lie partly
    /// or wholly past the end of the object.
    ///
    /// # Errors
    ///
    /// `InvalidScanRange` if the range ends before it starts, or is an empty suffix.
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
