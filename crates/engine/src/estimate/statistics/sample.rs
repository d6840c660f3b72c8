//! A sample of a table of text: the first records of a few of its objects.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::physical_plan::{FileScanConfig, JsonSource};
use futures::future::try_join_all;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use sluicegate_client::json_decoder::JsonDecoder;

use super::cache::Version;
use super::collect::Collector;
use super::{ObjectStatistics, Origin};
use crate::text::csv::text::{CsvDecoder, CsvText};
use crate::text::format::Format;
use crate::text::json::records::JsonRecords;
use crate::text::json::rows;
use crate::text::located_errors::{LocatedSource, TextLayout};

/// The maximum number of objects of a table that are sampled when it is planned, with one request each.
pub const OBJECTS: usize = 8;
/// Least and most bytes of a look at an object. In between, all looks together read the share `SHARE` of the table.
const SAMPLE_BYTES: (u64, u64) = (4 * 1024, 64 * 1024);
const SHARE: f64 = 0.01;
/// Number of records that are parsed at once.
const BATCH_ROWS: usize = 1024;

/// The format and columns of the records to sample.
#[derive(Debug, Clone)]
pub struct Sampling {
    text: Text,
    schema: SchemaRef,
}

#[derive(Debug, Clone)]
enum Text {
    Csv(CsvText),
    JsonLines,
    JsonRecords,
}

impl Sampling {
    /// Returns the sampling of a scan's objects; `None` if a part of an object cannot be parsed by itself.
    #[must_use]
    pub fn for_scan(config: &FileScanConfig) -> Option<Self> {
        let source = config.file_source();
        let schema = Arc::clone(source.table_schema().file_schema());
        if config.file_compression_type != FileCompressionType::UNCOMPRESSED {
            return None;
        }
        if let Ok(Format::Csv(csv)) = Format::from_scan(config) {
            return Some(Self { text: Text::Csv(csv), schema });
        }
        let named = source.downcast_ref::<LocatedSource>();
        let text = match named.map(LocatedSource::layout) {
            Some(TextLayout::JsonRecords) => Text::JsonRecords,
            _ => Text::JsonLines,
        };
        let source = named.map_or(source, LocatedSource::inner);
        source.is::<JsonSource>().then_some(Self { text, schema })
    }

    /// Looks at some of the objects, all at once.
    ///
    /// # Errors
    ///
    /// If an object cannot be read.
    pub async fn read_sample(
        &self,
        store: &Arc<dyn ObjectStore>,
        objects: Vec<(ObjectMeta, Version)>,
        table_bytes: u64,
    ) -> Result<Vec<ObjectStatistics>> {
        let looks = objects.len().max(1) as f64;
        let bytes =
            ((table_bytes as f64 * SHARE / looks) as u64).clamp(SAMPLE_BYTES.0, SAMPLE_BYTES.1);
        let mut looks = Vec::with_capacity(objects.len());
        for (object, version) in objects {
            looks.push(self.sample_object(Arc::clone(store), object, version, bytes));
        }
        Ok(try_join_all(looks).await?.into_iter().flatten().collect())
    }

    async fn sample_object(
        &self,
        store: Arc<dyn ObjectStore>,
        object: ObjectMeta,
        version: Version,
        bytes: u64,
    ) -> Result<Option<ObjectStatistics>> {
        let sample = store.get_range(&object.location, 0..object.size.min(bytes)).await?;
        Ok(self.object_statistics(&sample, version))
    }

    /// Computes statistics from the first bytes of an object; `None` if they contain no whole record.
    fn object_statistics(&self, sample: &[u8], version: Version) -> Option<ObjectStatistics> {
        let header = matches!(&self.text, Text::Csv(csv) if csv.header);
        let whole = sample.len() as u64 == version.size;
        let (body, record, end) = match &self.text {
            Text::JsonRecords => {
                let (end, record) = objects(sample)?;
                (end, record, end)
            }
            Text::Csv(_) | Text::JsonLines => {
                let (body, record) = records(sample, header, whole)?;
                (body, record, if whole { sample.len() } else { end(sample)? })
            }
        };
        let rows = match whole {
            true => (body as f64 / record).round(),
            // At least one row, because an unlucky estimate must not make a table empty.
            false => (version.size as f64 / record).ceil().max(1.0),
        };
        let positions: Vec<usize> = (0..self.schema.fields().len()).collect();
        let mut collector = Collector::new(&self.schema, &positions).ok()?;
        // A query reports records that cannot be read as the table's. Here they only end the sample.
        let parsed = self.parse(&sample[..end], &mut collector);
        let seen = collector.rows();
        let columns = match parsed {
            Ok(()) if seen > 0 => collector.finish(),
            _ => Vec::new(),
        };
        Some(ObjectStatistics {
            about: version.about,
            e_tag: version.e_tag,
            size: version.size,
            origin: Origin::Sample,
            taken: now(),
            rows: rows as u64,
            seen,
            columns,
        })
    }

    fn parse(&self, text: &[u8], into: &mut Collector) -> Result<()> {
        let mut decoder = match &self.text {
            Text::Csv(csv) => {
                let all = (0..self.schema.fields().len()).collect();
                Decoder::Csv(Box::new(csv.decoder_of(&self.schema, all, BATCH_ROWS)?))
            }
            Text::JsonLines | Text::JsonRecords => {
                let decoder = rows::decoder(Arc::clone(&self.schema), BATCH_ROWS)?;
                Decoder::Json(Box::new(decoder))
            }
        };
        let mut rest = text;
        loop {
            let read = decoder.decode(rest)?;
            rest = &rest[read..];
            if !rest.is_empty() && read > 0 && !decoder.is_full() {
                continue;
            }
            if rest.is_empty() {
                // Empty input marks the end for the reader.
                decoder.decode(&[])?;
            }
            match decoder.flush()? {
                Some(batch) => into.push(&batch)?,
                None => return Ok(()),
            }
        }
    }
}

enum Decoder {
    Csv(Box<CsvDecoder>),
    Json(Box<JsonDecoder>),
}

impl Decoder {
    fn decode(&mut self, text: &[u8]) -> Result<usize> {
        Ok(match self {
            Self::Csv(decoder) => decoder.decode(text)?,
            Self::Json(decoder) => decoder.decode(text)?,
        })
    }

    fn is_full(&self) -> bool {
        match self {
            Self::Csv(decoder) => decoder.capacity() == 0,
            Self::Json(decoder) => decoder.len() >= BATCH_ROWS,
        }
    }

    fn flush(&mut self) -> Result<Option<arrow::array::RecordBatch>> {
        Ok(match self {
            Self::Csv(decoder) => decoder.flush()?,
            Self::Json(decoder) => decoder.flush()?,
        })
    }
}

/// Returns the current time in seconds since 1970, UTC.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns the position after the last line.
fn end(sample: &[u8]) -> Option<usize> {
    Some(sample.iter().rposition(|byte| *byte == b'\n')? + 1)
}

/// Returns the bytes of the complete records of a sample, including delimiters, and the mean bytes of a record. The
/// end of the object also ends a record.
fn records(sample: &[u8], has_header: bool, whole: bool) -> Option<(usize, f64)> {
    let newline = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
    let body = if has_header { sample.get(newline(sample)? + 1..)? } else { sample };
    let open = whole && body.last().is_some_and(|byte| *byte != b'\n');
    let end = if open { body.len() } else { end(body)? };
    let lines = body.iter().take(end).filter(|byte| **byte == b'\n').count();
    let records = lines + usize::from(open);
    Some((end, end as f64 / records as f64))
}

/// Returns the bytes of the complete JSON objects of a sample, and the mean bytes of one.
fn objects(sample: &[u8]) -> Option<(usize, f64)> {
    let (mut end, mut count) = (0, 0_u64);
    JsonRecords::default().feed(sample, |object| {
        end = object.end;
        count += 1;
    });
    (count > 0).then(|| (end as usize, end as f64 / count as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sample: &str, has_header: bool, whole: bool, expected: Option<(usize, f64)>) {
        assert_eq!(records(sample.as_bytes(), has_header, whole), expected, "{sample:?}");
    }

    #[test]
    fn a_record_is_as_long_as_the_complete_ones_on_average() {
        check("a,b\n1,22\n3,4444\n5", false, false, Some((16, 16.0 / 3.0)));
        check("a,b\n1,22\n3,4444\n5", true, false, Some((12, 6.0)));
        check("a,b\n1,22\n3,4444\n5", true, true, Some((13, 13.0 / 3.0)));
        check("a,b\n", true, false, None);
        check("no line ends", false, false, None);
        check("no line ends", false, true, Some((12, 12.0)));
        check("", true, true, None);
    }

    #[test]
    fn objects_on_several_lines_are_counted_as_such() {
        assert_eq!(objects(b"{\"a\":\n[1]}\n{\"a\":2}\n{"), Some((18, 9.0)));
        assert_eq!(objects(b"{\"a\":\n"), None);
    }
}
