//! Statistics of objects of text, from their size and a look at their first records.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

/// How much of an object is read to learn the length of a record.
const SAMPLE_BYTES: u64 = 4096;
/// What gzip makes of tables, roughly.
const COMPRESSION_RATIO: f64 = 4.0;

/// Bytes and estimated rows of an object, both inexact: a record's length is taken from the
/// first 4 KiB. A compressed object is not looked into.
///
/// # Errors
///
/// If the object cannot be read.
pub async fn text_statistics(
    store: &Arc<dyn ObjectStore>,
    schema: &SchemaRef,
    object: &ObjectMeta,
    compressed: bool,
    has_header: bool,
) -> Result<Statistics> {
    let mut statistics = Statistics::new_unknown(schema);
    let size = object.size;
    let bytes = usize::try_from(size).unwrap_or(usize::MAX);
    statistics.total_byte_size = Precision::Inexact(bytes);
    if size == 0 {
        statistics.num_rows = Precision::Exact(0);
        return Ok(statistics);
    }
    let record = if compressed {
        default_record_bytes(schema) / COMPRESSION_RATIO
    } else {
        let sample = store.get_range(&object.location, 0..size.min(SAMPLE_BYTES)).await?;
        record_bytes(&sample, has_header).unwrap_or_else(|| default_record_bytes(schema))
    };
    // At least one, or an unlucky estimate would call a table empty.
    let rows = (size as f64 / record).ceil().max(1.0);
    statistics.num_rows = Precision::Inexact(rows as usize);
    Ok(statistics)
}

/// The mean length of the complete records of a sample, delimiters included.
fn record_bytes(sample: &[u8], has_header: bool) -> Option<f64> {
    let newline = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
    let body = if has_header { sample.get(newline(sample)? + 1..)? } else { sample };
    let end = body.iter().rposition(|byte| *byte == b'\n')? + 1;
    let records = body.iter().take(end).filter(|byte| **byte == b'\n').count();
    Some(end as f64 / records as f64)
}

/// A guess for records that were not seen.
fn default_record_bytes(schema: &SchemaRef) -> f64 {
    10.0 * schema.fields().len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sample: &str, has_header: bool, expected: Option<f64>) {
        assert_eq!(record_bytes(sample.as_bytes(), has_header), expected, "{sample:?}");
    }

    #[test]
    fn a_record_is_as_long_as_the_complete_ones_on_average() {
        check("a,b\n1,22\n3,4444\n5", false, Some(16.0 / 3.0));
        check("a,b\n1,22\n3,4444\n5", true, Some(6.0));
        check("a,b\n", true, None);
        check("no line ends", false, None);
        check("", true, None);
    }
}
