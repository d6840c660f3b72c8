//! The index table of PushdownDB: for each record the value, the first byte and the last byte, as CSV that S3 Select
//! reads (section IV-A).
//!
//! Unlike the index of this program, it is not sorted. A look-up scans all of it, and each record that it finds is
//! fetched by a request of its own. Records without a value are left out.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use bytes::Bytes;
use datafusion::common::{Result, exec_err};
use futures::StreamExt;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore};
use sluicegate_index::layout::RecordLocation;
use tokio::io::AsyncWriteExt;

use super::create::{Column, CreateOutcome, RecordSink, TextCollector};
use crate::text::format::Format;
use crate::text::json::surrogate_pairs::mended;

/// The name of the column with the indexed values.
pub(crate) const VALUE: &str = "value";
/// The columns with the places of a record's first and last byte.
const PLACES: [&str; 2] = ["first_byte", "last_byte"];
/// The greatest number of rows that are fetched by a request each.
pub(crate) const MOST_PLACES: usize = 1_000_000;
/// The bytes of a piece of an upload.
const PIECE_BYTES: usize = 1024 * 1024;

/// Returns true if values of this type can be in an index table: S3 Select compares them, and they are no text, which
/// may contain line ends.
#[must_use]
pub fn is_indexable(data_type: &DataType) -> bool {
    let is_small = data_type.is_integer() && *data_type != DataType::UInt64;
    let is_other =
        matches!(data_type, DataType::Decimal128(..) | DataType::Float64 | DataType::Date32);
    is_small || is_other
}

/// Returns the columns of the index table of a column of this type.
#[must_use]
pub fn schema(data_type: &DataType) -> SchemaRef {
    let place = |name: &str| Field::new(name, DataType::Int64, true);
    let value = Field::new(VALUE, data_type.clone(), true);
    Arc::new(Schema::new(vec![value, place(PLACES[0]), place(PLACES[1])]))
}

/// Writes the rows of an index table.
#[derive(Debug, Default)]
struct Rows {
    csv: String,
    records: u64,
    with_value: u64,
}

impl RecordSink for Rows {
    fn add(
        &mut self,
        values: &RecordBatch,
        mut places: impl Iterator<Item = RecordLocation>,
    ) -> Result<()> {
        let texts = cast(values.column(0), &DataType::Utf8)?;
        for value in texts.as_string::<i32>() {
            let Some(RecordLocation { first, bytes }) = places.next() else {
                return exec_err!("the records of the object are read in two different ways");
            };
            self.records += 1;
            if let Some(value) = value {
                self.with_value += 1;
                let last = first + bytes.max(1) - 1;
                // Writing to a string cannot fail.
                let _ = writeln!(self.csv, "{value},{first},{last}");
            }
        }
        Ok(())
    }
}

/// Reads a text from a store, in the version that was listed, and uploads its index table to `path` of a store whose
/// writes are staged. The caller commits or aborts them. `advance` is called with the number of bytes of each piece.
///
/// # Errors
///
/// If the object does not fit the table, its records are no ranges of bytes, or a store fails.
pub async fn upload_table(
    column: &Column,
    data: &ObjectMeta,
    (from, to): (&Arc<dyn ObjectStore>, &Arc<dyn ObjectStore>),
    path: &Path,
    advance: &(dyn Fn(u64) + Send + Sync),
) -> Result<CreateOutcome> {
    let data_type = column.schema.field(column.position).data_type();
    if !is_indexable(data_type) {
        return exec_err!(
            "an index table can be about whole numbers, decimals, doubles and dates, not about {data_type}"
        );
    }
    let options = GetOptions { if_match: data.e_tag.clone(), ..GetOptions::default() };
    let mut from = Arc::clone(from);
    if matches!(column.format, Format::JsonLines) {
        from = mended(from);
    }
    let mut bytes = from.get_opts(&data.location, options).await?.into_stream();
    let mut collector = TextCollector::into_sink(column, Rows::default())?;
    let mut upload = BufWriter::new(Arc::clone(to), path.clone());
    let mut written = 0;
    while let Some(piece) = bytes.next().await {
        let piece = piece?;
        collector.feed(&piece)?;
        advance(piece.len() as u64);
        let rows = collector.sink();
        if rows.csv.len() >= PIECE_BYTES {
            written += rows.csv.len() as u64;
            upload.put(Bytes::from(std::mem::take(&mut rows.csv))).await?;
        }
        tokio::task::yield_now().await;
    }
    let Rows { csv, records, with_value } = collector.end()?;
    written += csv.len() as u64;
    upload.put(Bytes::from(csv)).await?;
    upload.shutdown().await?;
    Ok(CreateOutcome { records, with_value, bytes: written })
}

/// Reads a table of an object of `size` bytes from its first line to its last.
///
/// # Errors
///
/// If a line has no place within the object, if two places overlap, or if the store fails.
pub(crate) async fn verify(
    store: &Arc<dyn ObjectStore>,
    table: &ObjectMeta,
    size: u64,
) -> Result<()> {
    let options = GetOptions { if_match: table.e_tag.clone(), ..GetOptions::default() };
    let mut pieces = store.get_opts(&table.location, options).await?.into_stream();
    let (mut rest, mut end) = (Vec::new(), 0);
    while let Some(piece) = pieces.next().await {
        rest.extend_from_slice(&piece?);
        let complete = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in rest[..complete].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            end = end_of(line, end, size)?;
        }
        rest.drain(..complete);
    }
    if rest.is_empty() { Ok(()) } else { exec_err!("its last line has no end") }
}

/// Returns the end of the place in a line, which must not begin before the end of the place before.
fn end_of(line: &[u8], before: u64, size: u64) -> Result<u64> {
    let fields = std::str::from_utf8(line).unwrap_or_default();
    let mut fields = fields.rsplitn(3, ',');
    let mut place = || fields.next()?.parse::<u64>().ok();
    match (place(), place()) {
        (Some(last), Some(first)) if before <= first && first <= last && last < size => {
            Ok(last + 1)
        }
        _ => exec_err!("it has a line that is no place of a record"),
    }
}

/// Sorts the places that one or more tables name, and leaves out those that are named twice.
///
/// # Errors
///
/// If two of them overlap, or if there are more than [`MOST_PLACES`].
pub(crate) fn sorted(mut places: Vec<RecordLocation>) -> Result<Vec<RecordLocation>> {
    if places.len() > MOST_PLACES {
        return exec_err!("more than {MOST_PLACES} rows pass, each of which is a request");
    }
    places.sort_unstable();
    places.dedup();
    match places.windows(2).any(|pair| pair[1].first < pair[0].first + pair[0].bytes) {
        false => Ok(places),
        true => exec_err!("its places overlap"),
    }
}

/// Returns the places in rows of an index table of an object of `size` bytes.
///
/// # Errors
///
/// If a place is not in the object.
pub(crate) fn places(rows: &RecordBatch, size: u64) -> Result<Vec<RecordLocation>> {
    let [first, last] = [0, 1].map(|column| rows.column(column).as_primitive_opt::<Int64Type>());
    let (Some(first), Some(last)) = (first, last) else {
        return exec_err!("its rows have no places");
    };
    let place = |(first, last): (Option<i64>, Option<i64>)| {
        let (first, last) = (u64::try_from(first?).ok()?, u64::try_from(last?).ok()?);
        let bytes = (last + 1).checked_sub(first).filter(|bytes| *bytes > 0 && last < size)?;
        Some(RecordLocation { first, bytes })
    };
    let places: Option<Vec<_>> = first.iter().zip(last).map(place).collect();
    match places {
        Some(places) => Ok(places),
        None => exec_err!("it leads to places outside of the object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array};

    fn rows(first: i64, last: i64) -> RecordBatch {
        let column = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        RecordBatch::try_from_iter([("first", column(first)), ("last", column(last))]).unwrap()
    }

    #[test]
    fn places_are_within_the_object() {
        let good = places(&rows(10, 19), 20).unwrap();
        assert_eq!(good, [RecordLocation { first: 10, bytes: 10 }]);
        for (first, last) in [(10, 20), (-1, 5), (5, 4), (6, 4)] {
            assert!(places(&rows(first, last), 20).is_err(), "{first}..{last}");
        }
    }

    #[test]
    fn a_line_has_a_place_after_the_one_before() {
        assert_eq!(end_of(b"1.5,10,19", 10, 20).unwrap(), 20);
        for line in ["1,9,19", "1,10,20", "1,19,10", "1,10", "1,x,19", ""] {
            assert!(end_of(line.as_bytes(), 10, 20).is_err(), "{line}");
        }
    }

    #[test]
    fn places_do_not_overlap() {
        let place = |first, bytes| RecordLocation { first, bytes };
        let found = sorted(vec![place(10, 5), place(0, 10), place(10, 5)]).unwrap();
        assert_eq!(found, [place(0, 10), place(10, 5)]);
        assert!(sorted(vec![place(0, 10), place(0, 5)]).is_err());
        assert!(sorted(vec![place(0, 10), place(9, 5)]).is_err());
        assert!(sorted(vec![place(0, 1); MOST_PLACES + 1]).is_err());
    }

    #[test]
    fn records_without_a_value_are_left_out() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(-1)]));
        let values = RecordBatch::try_from_iter([("x", values)]).unwrap();
        let places = [(0, 5), (5, 1), (6, 4)].map(|(first, bytes)| RecordLocation { first, bytes });
        let mut rows = Rows::default();
        rows.add(&values, places.into_iter()).unwrap();
        assert_eq!(rows.csv, "7,0,4\n-1,6,9\n");
        assert_eq!((rows.records, rows.with_value), (3, 2));
        assert!(rows.add(&values, [].into_iter()).is_err());
    }
}
