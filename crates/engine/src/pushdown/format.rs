//! The format of a table's files, as S3 Select requests describe it.

use std::collections::BTreeSet;

use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::physical_plan::{CsvSource, FileScanConfig, FileSource, ParquetSource};
use sluicegate_costmodel::Format;
use sluicegate_s3select::request::{
    Compression, CsvInput, FileHeaderInfo, InputFormat, InputSerialization, JsonType,
};

use super::predicate::ColumnStyle;
use crate::text::located_errors::{LocatedSource, TextLayout};

/// The format options of a Select request for the files of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFormat {
    /// The request's input serialization, for the start of a file.
    pub input: InputSerialization,
    /// The way in which statements refer to columns.
    pub style: ColumnStyle,
}

impl TableFormat {
    /// Returns the format of a scan that DataFusion planned, or `None` if S3 Select cannot read such files exactly as
    /// DataFusion does.
    #[must_use]
    pub fn from_scan(config: &FileScanConfig) -> Option<Self> {
        let source = config.file_source();
        if let Some(csv) = source.downcast_ref::<CsvSource>() {
            return Some(Self {
                input: InputSerialization {
                    format: InputFormat::Csv(csv_input(csv)?),
                    compression: compression(config.file_compression_type)?,
                },
                style: ColumnStyle::Positional,
            });
        }
        let layout = source.downcast_ref::<LocatedSource>().map(LocatedSource::layout);
        let json = match layout {
            Some(TextLayout::JsonLines) => Some(JsonType::Lines),
            Some(TextLayout::JsonRecords) => Some(JsonType::Document),
            Some(TextLayout::JsonArray | TextLayout::Csv) | None => None,
        };
        if let Some(json) = json {
            return Some(Self {
                input: InputSerialization {
                    format: InputFormat::Json(json),
                    compression: compression(config.file_compression_type)?,
                },
                style: ColumnStyle::Member,
            });
        }
        if source.is::<ParquetSource>() {
            return Some(Self {
                input: InputSerialization {
                    format: InputFormat::Parquet,
                    compression: Compression::None,
                },
                style: ColumnStyle::Named,
            });
        }
        None
    }

    /// Returns the format in the terms of the cost model.
    #[must_use]
    pub fn stored(&self) -> Format {
        match self.input.format {
            InputFormat::Csv(_) => Format::Csv,
            InputFormat::Json(_) => Format::Json,
            InputFormat::Parquet => Format::Parquet,
        }
    }

    /// Returns the name of the format, in lower case.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.input.format {
            InputFormat::Csv(_) => "csv",
            InputFormat::Json(_) => "json",
            InputFormat::Parquet => "parquet",
        }
    }

    /// Returns true if a file can be read in ranges, with one request for each.
    #[must_use]
    pub fn is_splittable(&self) -> bool {
        // For Parquet, the store picks row groups by their start, DataFusion by their middle. A range that falls back
        // to GET would then read other rows than the store did.
        let lines = match &self.input.format {
            InputFormat::Csv(csv) => !csv.allow_quoted_record_delimiter,
            InputFormat::Json(JsonType::Lines) => true,
            InputFormat::Json(JsonType::Document) | InputFormat::Parquet => false,
        };
        lines && self.input.compression == Compression::None
    }

    /// Returns the input serialization for a range that starts at `start`. Only the first range has the header, and
    /// only a whole file can have record delimiters in quotes.
    #[must_use]
    pub fn input_at(&self, start: u64, whole: bool) -> InputSerialization {
        let mut input = self.input.clone();
        if let InputFormat::Csv(csv) = &mut input.format {
            if start > 0 {
                csv.header = FileHeaderInfo::None;
            }
            csv.allow_quoted_record_delimiter |= whole;
        }
        input
    }
}

/// Returns the CSV options of a request, or `None` where DataFusion's reader and a store read some text differently:
///
/// * With `truncated_rows`, DataFusion fills short rows with NULL and refuses long ones; stores have no such option.
///   Without it DataFusion refuses both, so the request sets strict fields.
/// * By default, DataFusion ends a line at `\n`, `\r\n` or a lone `\r`. To a store a lone `\r` is a character, so the
///   request sets strict lines. If the declared terminator is `\n`, a `\r` before it is a character to DataFusion,
///   and a store may drop it.
/// * With an escape character, DataFusion still reads a doubled quote as a quote.
/// * DataFusion ends a comment at `\n` whatever ends a record, and reads a comment at the end of a file without `\n`
///   as a record of one empty field.
fn csv_input(csv: &CsvSource) -> Option<CsvInput> {
    let character =
        |byte: u8| (byte == b'\t' || matches!(byte, b' '..=b'~')).then(|| char::from(byte));
    if csv.truncate_rows() || csv.escape().is_some_and(|escape| escape != csv.quote()) {
        return None;
    }
    let record_delimiter = match csv.terminator() {
        None => '\n',
        Some(b'\n') => return None,
        Some(b'\r') => '\r',
        Some(terminator) => character(terminator)?,
    };
    let columns = csv.table_schema().file_schema().fields().len();
    let one_column = columns < 2;
    let comments = match csv.comment() {
        None => None,
        Some(_) if csv.terminator().is_some() || one_column => return None,
        Some(comment) => Some(character(comment)?),
    };
    let (field_delimiter, quote) = (character(csv.delimiter())?, character(csv.quote())?);
    let mut special = vec![record_delimiter, field_delimiter, quote];
    special.extend(comments);
    let distinct = special.iter().collect::<BTreeSet<_>>().len() == special.len();
    distinct.then(|| CsvInput {
        header: if csv.has_header() { FileHeaderInfo::Ignore } else { FileHeaderInfo::None },
        field_delimiter: field_delimiter.to_string(),
        record_delimiter: record_delimiter.to_string(),
        quote: Some(quote),
        quote_escape: Some(quote),
        comments,
        allow_quoted_record_delimiter: csv.newlines_in_values(),
        strict_lines: csv.terminator().is_none(),
        strict_fields: Some(columns),
    })
}

fn compression(compression: FileCompressionType) -> Option<Compression> {
    if compression == FileCompressionType::UNCOMPRESSED {
        Some(Compression::None)
    } else if compression == FileCompressionType::GZIP {
        Some(Compression::Gzip)
    } else if compression == FileCompressionType::BZIP2 {
        Some(Compression::Bzip2)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::common::config::CsvOptions;
    use datafusion::datasource::object_store::ObjectStoreUrl;
    use datafusion::datasource::physical_plan::FileScanConfigBuilder;

    use super::*;

    fn format(columns: usize, change: impl FnOnce(&mut CsvOptions)) -> Option<TableFormat> {
        let fields = (0..columns).map(|n| Field::new(format!("c{n}"), DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let mut options = CsvOptions::default();
        change(&mut options);
        let source = Arc::new(CsvSource::new(schema).with_csv_options(options));
        let url = ObjectStoreUrl::parse("s3://bucket").unwrap();
        TableFormat::from_scan(&FileScanConfigBuilder::new(url, source).build())
    }

    fn csv(change: impl FnOnce(&mut CsvOptions)) -> Option<CsvInput> {
        match format(2, change)?.input.format {
            InputFormat::Csv(csv) => Some(csv),
            _ => None,
        }
    }

    #[test]
    fn lines_are_strict_unless_the_table_has_its_own_terminator() {
        let lines = csv(|_| ()).unwrap();
        assert_eq!((lines.record_delimiter.as_str(), lines.strict_lines), ("\n", true));
        let own = csv(|options| options.terminator = Some(b';')).unwrap();
        assert_eq!((own.record_delimiter.as_str(), own.strict_lines), (";", false));
    }

    #[test]
    fn records_have_the_fields_of_the_table() {
        assert_eq!(csv(|_| ()).unwrap().strict_fields, Some(2));
    }

    #[test]
    fn what_the_readers_read_differently_is_not_asked_for() {
        let refused = |change: fn(&mut CsvOptions)| assert_eq!(csv(change), None);
        refused(|options| options.terminator = Some(b'\n'));
        refused(|options| options.escape = Some(b'\\'));
        refused(|options| options.truncated_rows = Some(true));
        refused(|options| options.delimiter = b'\n');
        refused(|options| options.delimiter = 1);
        refused(|options| options.delimiter = b'"');
        refused(|options| options.quote = b'\r');
        refused(|options| options.quote = 0xe9);
        refused(|options| options.comment = Some(b','));
        refused(|options| (options.comment, options.terminator) = (Some(b'#'), Some(b';')));
        assert!(csv(|options| options.escape = Some(b'"')).is_some());
        assert!(csv(|options| options.delimiter = b'\t').is_some());
        let comment = |options: &mut CsvOptions| options.comment = Some(b'#');
        assert_eq!(csv(comment).unwrap().comments, Some('#'));
        assert_eq!(format(1, comment), None);
    }

    #[test]
    fn only_the_first_part_has_the_header_and_only_a_whole_file_quoted_breaks() {
        let format = format(2, |options| options.has_header = Some(true)).unwrap();
        let at = |start, whole| match format.input_at(start, whole).format {
            InputFormat::Csv(csv) => (csv.header, csv.allow_quoted_record_delimiter),
            other => panic!("{other:?}"),
        };
        assert_eq!(at(0, true), (FileHeaderInfo::Ignore, true));
        assert_eq!(at(0, false), (FileHeaderInfo::Ignore, false));
        assert_eq!(at(9, false), (FileHeaderInfo::None, false));
        assert!(format.is_splittable());
        assert_eq!(format.name(), "csv");
    }
}
