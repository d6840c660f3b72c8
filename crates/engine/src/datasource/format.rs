//! What a table's files look like to the store.

use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::physical_plan::{CsvSource, FileScanConfig, ParquetSource};
use sluicegate_s3select::request::{
    Compression, CsvInput, FileHeaderInfo, InputFormat, InputSerialization, JsonType,
};

use super::named::{NamedSource, TextLayout};
use super::predicate::ColumnStyle;

/// How the files of a table are to be read, as a Select request says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFormat {
    /// The request's input serialization, for the start of a file.
    pub input: InputSerialization,
    /// How columns are addressed.
    pub style: ColumnStyle,
}

impl TableFormat {
    /// The format of a scan that DataFusion would run itself; `None` if S3 Select cannot read
    /// such files the way DataFusion does.
    #[must_use]
    pub fn of(config: &FileScanConfig) -> Option<Self> {
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
        let named = source.downcast_ref::<NamedSource>();
        if named.is_some_and(|named| named.layout() == TextLayout::JsonLines) {
            return Some(Self {
                input: InputSerialization {
                    format: InputFormat::Json(JsonType::Lines),
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

    /// The name of the format, in lower case.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.input.format {
            InputFormat::Csv(_) => "csv",
            InputFormat::Json(_) => "json",
            InputFormat::Parquet => "parquet",
        }
    }

    /// Whether a file may be read in parts, each by a request of its own.
    #[must_use]
    pub fn is_splittable(&self) -> bool {
        // Parquet: the store picks row groups by their start, DataFusion by their middle. A part
        // that falls back to GET would then read another set of rows than the store did.
        let lines = match &self.input.format {
            InputFormat::Csv(csv) => !csv.allow_quoted_record_delimiter,
            InputFormat::Json(_) => true,
            InputFormat::Parquet => false,
        };
        lines && self.input.compression == Compression::None
    }

    /// The input serialization for a part of a file: only the first has the header, and only a
    /// whole file can have record delimiters in quotes.
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

fn csv_input(csv: &CsvSource) -> Option<CsvInput> {
    let character = |byte: u8| byte.is_ascii().then(|| char::from(byte));
    // Rows shorter than the table are errors to DataFusion, and missing values to a store.
    if csv.truncate_rows() {
        return None;
    }
    Some(CsvInput {
        header: if csv.has_header() { FileHeaderInfo::Ignore } else { FileHeaderInfo::None },
        field_delimiter: character(csv.delimiter())?.to_string(),
        record_delimiter: match csv.terminator() {
            Some(terminator) => character(terminator)?.to_string(),
            None => "\n".to_owned(),
        },
        quote: Some(character(csv.quote())?),
        quote_escape: match csv.escape() {
            Some(escape) => Some(character(escape)?),
            None => Some(character(csv.quote())?),
        },
        comments: match csv.comment() {
            Some(comment) => Some(character(comment)?),
            None => None,
        },
        allow_quoted_record_delimiter: csv.newlines_in_values(),
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
