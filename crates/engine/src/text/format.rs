//! The formats of indexed objects: they define the records and their places.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::physical_plan::{CsvSource, FileScanConfig, FileSource, ParquetSource};
use prost::Message;
use sluicegate_client::json_decoder::JsonDecoder;
use sluicegate_index::layout::{FormatMessage, PARQUET, VERSION};
use sluicegate_index::name::{Name, Tag};

use super::csv::records::Records;
use super::csv::text::{CsvDecoder, CsvText};
use super::json::records::JsonRecords;
use crate::context::choice::Reason;
use crate::text::json::rows;
use crate::text::located_errors::{LocatedSource, TextLayout};

/// The format of a table whose objects can be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// CSV, where a record is a range of bytes.
    Csv(CsvText),
    /// JSON objects one after the other, where a record is a range of bytes.
    JsonLines,
    /// Parquet, where a record is a row, by its number in the object.
    Parquet,
}

impl Format {
    /// Returns the format of a scan.
    ///
    /// # Errors
    ///
    /// The reason why its objects cannot be indexed.
    pub fn from_scan(config: &FileScanConfig) -> Result<Self, Reason> {
        let source = config.file_source();
        let named = source.downcast_ref::<LocatedSource>();
        let inner = named.map_or(source, LocatedSource::inner);
        if inner.is::<ParquetSource>() {
            return Ok(Self::Parquet);
        }
        if let Some(recoding) = named.and_then(LocatedSource::recoding) {
            return Err(Reason::new(format!(
                "its objects are decoded ({recoding}), so that no part can be read by itself"
            )));
        }
        if config.file_compression_type != FileCompressionType::UNCOMPRESSED {
            return Err("its objects are compressed, so that no part can be read by itself".into());
        }
        if let Some(csv) = inner.downcast_ref::<CsvSource>() {
            return Ok(Self::Csv(CsvText::from_csv(csv)));
        }
        match named.map(LocatedSource::layout) {
            Some(TextLayout::JsonLines | TextLayout::JsonRecords) => Ok(Self::JsonLines),
            Some(TextLayout::JsonArray) => {
                Err("each object is one JSON array, of which no part can be read by itself".into())
            }
            _ => Err("only objects of CSV, lines of JSON and Parquet can be indexed".into()),
        }
    }

    /// Returns the reader that finds the records of an object and parses one column, or `None` if records are not
    /// ranges of bytes.
    ///
    /// # Errors
    ///
    /// If the column's type cannot be parsed.
    pub fn reader(
        &self,
        schema: &SchemaRef,
        column: usize,
        batch_size: usize,
    ) -> Result<Option<TextReader>> {
        Ok(match self {
            Self::Csv(text) => Some(TextReader::Csv(
                Box::new(Records::new(text)),
                Box::new(text.decoder(schema, column, batch_size)?),
            )),
            Self::JsonLines => {
                let schema = Arc::new(schema.project(&[column])?);
                let decoder = Box::new(rows::decoder(schema, batch_size)?);
                Some(TextReader::Json(JsonRecords::default(), decoder))
            }
            Self::Parquet => None,
        })
    }

    /// Returns DataFusion's source for records without a header, and the bytes to put before the first record, or
    /// `None` if records are not ranges of bytes.
    #[must_use]
    pub fn source_of_records(&self, source: &Arc<dyn FileSource>) -> Option<RecordSource> {
        let source = source.downcast_ref::<LocatedSource>().map_or(source, LocatedSource::inner);
        match self {
            Self::Csv(text) => {
                let csv = CsvText::headless(source.downcast_ref()?);
                // A reader skips a byte order mark at the start of a file, and only there.
                let before = Bytes::copy_from_slice(&text.blank_record());
                Some((Arc::new(csv), before))
            }
            Self::JsonLines => {
                let before = Bytes::from_static(b"\n");
                Some((Arc::clone(source), before))
            }
            Self::Parquet => None,
        }
    }

    /// Returns the format as an index object stores it.
    #[must_use]
    pub fn message(&self) -> FormatMessage {
        match self {
            Self::Csv(text) => text.message(),
            Self::JsonLines => FormatMessage { kind: 1, ..FormatMessage::default() },
            Self::Parquet => FormatMessage { kind: PARQUET, ..FormatMessage::default() },
        }
    }

    /// Returns the position of a column where it decides which column is read; 0 for formats whose columns have
    /// names.
    #[must_use]
    pub fn position(&self, column: usize) -> u64 {
        match self {
            Self::Csv(_) => column as u64,
            Self::JsonLines | Self::Parquet => 0,
        }
    }

    /// Returns the part of an index object's name that stands for the format and for the position and the type of the
    /// column.
    #[must_use]
    pub fn tag(&self, column: usize, type_name: &str) -> Tag {
        self.tag_of_version(column, type_name, VERSION)
    }

    /// Returns true if the name belongs to an index object with a former version of the layout.
    #[must_use]
    pub fn is_former(&self, column: usize, type_name: &str, name: &Name) -> bool {
        let of = |version| self.tag_of_version(column, type_name, version);
        (1..VERSION).any(|version| name.is_of_format(of(version)))
    }

    /// Returns the tag in names for a version of the layout.
    #[must_use]
    pub fn tag_of_version(&self, column: usize, type_name: &str, version: u32) -> Tag {
        let mut bytes = self.message().encode_to_vec();
        bytes.extend(version.to_le_bytes());
        if version > 1 {
            bytes.extend(self.position(column).to_le_bytes());
        }
        bytes.extend(type_name.bytes());
        if *self != Self::Parquet && type_name.starts_with("Decimal") {
            // Former index objects have keys whose further digits were dropped.
            bytes.extend(b"rounded");
        }
        Tag::hash(&bytes)
    }
}

/// DataFusion's source of records that are ranges of bytes, and the bytes to put before the first record.
pub type RecordSource = (Arc<dyn FileSource>, Bytes);

/// Finds the records of a text and parses them as DataFusion's reader does.
#[derive(Debug)]
pub enum TextReader {
    #[doc(hidden)]
    Csv(Box<Records>, Box<CsvDecoder>),
    #[doc(hidden)]
    Json(JsonRecords, Box<JsonDecoder>),
}

impl TextReader {
    /// Finds records in the next bytes.
    ///
    /// # Errors
    ///
    /// If they do not fit the table.
    pub fn find(&mut self, bytes: &[u8], found: impl FnMut(std::ops::Range<u64>)) -> Result<()> {
        match self {
            Self::Csv(records, _) => records.feed(bytes, found),
            Self::Json(records, _) => {
                records.feed(bytes, found);
                Ok(())
            }
        }
    }

    /// Finds the last record, at the end of the object.
    ///
    /// # Errors
    ///
    /// Those of [`Self::find`].
    pub fn find_last(&mut self, found: impl FnMut(std::ops::Range<u64>)) -> Result<()> {
        match self {
            Self::Csv(records, _) => records.finish(found),
            Self::Json(..) => Ok(()),
        }
    }

    /// Parses bytes. Returns the number of bytes parsed, and true if [`Self::flush`] must be called before more.
    ///
    /// # Errors
    ///
    /// If they cannot be parsed.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<(usize, bool)> {
        match self {
            Self::Csv(_, decoder) => {
                let read = decoder.decode(bytes)?;
                Ok((read, decoder.capacity() == 0))
            }
            Self::Json(_, decoder) => {
                let read = decoder.decode(bytes)?;
                Ok((read, read < bytes.len()))
            }
        }
    }

    /// Returns the parsed rows.
    ///
    /// # Errors
    ///
    /// If a value does not fit the column's type.
    pub fn flush(&mut self) -> Result<Option<RecordBatch>> {
        Ok(match self {
            Self::Csv(_, decoder) => decoder.flush()?,
            Self::Json(_, decoder) => decoder.flush()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_versions_formats_and_places_apart() {
        let name = |tag| Name::new("k".to_owned(), Tag::hash(b"v"), tag);
        let json = Format::JsonLines;
        let former = name(json.tag_of_version(0, "Int64", VERSION - 1));
        assert!(json.is_former(0, "Int64", &former));
        assert!(!former.is_of_format(json.tag(0, "Int64")));
        let now = name(json.tag(0, "Int64"));
        assert!(now.is_of_format(json.tag(3, "Int64")) && !json.is_former(0, "Int64", &now));
        assert!(!now.is_of_format(json.tag(0, "Utf8")));
        assert!(!now.is_of_format(Format::Parquet.tag(0, "Int64")));
        let csv = Format::Csv(CsvText {
            columns: 2,
            header: false,
            delimiter: b',',
            quote: b'"',
            escape: None,
            comment: None,
            terminator: None,
            truncated_rows: false,
        });
        assert!(!name(csv.tag(0, "Int64")).is_of_format(csv.tag(1, "Int64")));
        assert!(csv.is_former(1, "Int64", &name(csv.tag_of_version(0, "Int64", 1))));
    }
}
