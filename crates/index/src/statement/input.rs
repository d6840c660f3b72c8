//! Selects the indexes that apply to an object as a request reads it.

use sluicegate_s3select::request::{Compression, CsvInput, InputFormat, InputSerialization};

use crate::layout::{FormatMessage, LinesMessage, TopMessage};

/// Returns the CSV options if records of the object, or of a part of it, can be looked up.
#[must_use]
pub fn csv_of(input: &InputSerialization, is_part: bool) -> Option<&CsvInput> {
    let InputFormat::Csv(csv) = &input.format else { return None };
    // A ScanRange with quoted record delimiters is rejected by the evaluator, which reports the error.
    let refused = is_part && csv.allow_quoted_record_delimiter;
    (input.compression == Compression::None && !refused).then_some(csv)
}

/// An index that conditions can be looked up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsableIndex {
    /// The position of the indexed column in a record.
    pub column: usize,
    /// The kind of values that the keys encode.
    pub keys: Keys,
}

/// The kind of values that keys encode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Text, compared byte by byte.
    Text,
    /// Whole numbers of at most 64 bits.
    Integers,
}

impl Keys {
    /// Returns the kind of keys for a column type as named in index objects. Types that statements compare in another
    /// order than the keys have none.
    fn of_type(name: &str) -> Option<Self> {
        match name {
            "Utf8" => Some(Self::Text),
            "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" => {
                Some(Self::Integers)
            }
            // S3 Select has no integers beyond 63 bits.
            _ => None,
        }
    }
}

impl UsableIndex {
    /// Returns the index if its object is read as the request reads it and the format options leave no room for
    /// another reading.
    #[must_use]
    pub fn try_new(top: &TopMessage, csv: &CsvInput) -> Option<Self> {
        let (format, lines) = (top.format.as_ref()?, top.lines.as_ref()?);
        let column = usize::try_from(top.position).ok()?;
        let keys = Keys::of_type(&top.column_type)?;
        let inside = lines.first_bytes <= top.size;
        (inside && reads_alike(format, lines, csv)).then_some(Self { column, keys })
    }
}

/// Returns whether a request reads the object in the way it was indexed.
fn reads_alike(format: &FormatMessage, lines: &LinesMessage, csv: &CsvInput) -> bool {
    const CSV: u32 = 0;
    let own = format.escape.is_some() || format.comment.is_some() || format.terminator.is_some();
    let comments = match csv.comments {
        None => true,
        Some('#') => !lines.hashes,
        Some(_) => false,
    };
    format.kind == CSV
        && !own
        && comments
        && csv.record_delimiter == "\n"
        && csv.field_delimiter.chars().map(u32::from).eq([format.delimiter])
        && csv.quote.map(u32::from) == Some(format.quote)
        && csv.quote_escape.is_none_or(|escape| Some(escape) == csv.quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_that_are_read_as_the_index_was_made() {
        let format = FormatMessage {
            columns: 2,
            delimiter: u32::from(b','),
            quote: u32::from(b'"'),
            ..FormatMessage::default()
        };
        let lines = LinesMessage::default();
        let csv = CsvInput::default();
        assert!(reads_alike(&format, &lines, &csv));
        let hashes = LinesMessage { hashes: true, ..lines.clone() };
        assert!(!reads_alike(&format, &hashes, &csv));
        assert!(reads_alike(&format, &hashes, &CsvInput { comments: None, ..csv.clone() }));
        for other in [
            CsvInput { comments: Some(';'), ..csv.clone() },
            CsvInput { field_delimiter: ";".to_owned(), ..csv.clone() },
            CsvInput { record_delimiter: "\r\n".to_owned(), ..csv.clone() },
            CsvInput { quote: None, ..csv.clone() },
            CsvInput { quote: Some('\''), ..csv.clone() },
            CsvInput { quote_escape: Some('\\'), ..csv.clone() },
        ] {
            assert!(!reads_alike(&format, &lines, &other), "{other:?}");
        }
        for other in [
            FormatMessage { escape: Some(92), ..format.clone() },
            FormatMessage { comment: Some(35), ..format.clone() },
            FormatMessage { terminator: Some(10), ..format.clone() },
            FormatMessage { kind: 1, ..format.clone() },
        ] {
            assert!(!reads_alike(&other, &lines, &csv), "{other:?}");
        }
    }

    #[test]
    fn types_whose_order_may_differ_are_left_out() {
        for name in ["UInt64", "Float64", "Date32", "Timestamp(Nanosecond, None)", ""] {
            assert_eq!(Keys::of_type(name), None, "{name}");
        }
    }
}
