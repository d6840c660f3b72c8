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
use futures::stream::BoxStream;
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

/// The lines of the index table of an object, which is read in the version that was listed.
struct Lines<'a> {
    bytes: BoxStream<'static, object_store::Result<Bytes>>,
    /// `None` after the last piece of the object.
    collector: Option<TextCollector<Rows>>,
    records: u64,
    with_value: u64,
    advance: &'a (dyn Fn(u64) + Send + Sync),
}

impl<'a> Lines<'a> {
    /// Begins to read an object. `advance` is called with the number of bytes of each piece.
    async fn of(
        column: &Column,
        data: &ObjectMeta,
        store: &Arc<dyn ObjectStore>,
        advance: &'a (dyn Fn(u64) + Send + Sync),
    ) -> Result<Self> {
        let data_type = column.schema.field(column.position).data_type();
        if !is_indexable(data_type) {
            return exec_err!(
                "an index table can be about whole numbers, decimals, doubles and dates, not about {data_type}"
            );
        }
        let options = GetOptions { if_match: data.e_tag.clone(), ..GetOptions::default() };
        let mut store = Arc::clone(store);
        if matches!(column.format, Format::JsonLines) {
            store = mended(store);
        }
        let bytes = store.get_opts(&data.location, options).await?.into_stream();
        let collector = Some(TextCollector::into_sink(column, Rows::default())?);
        Ok(Self { bytes, collector, records: 0, with_value: 0, advance })
    }

    /// Returns the next lines, about [`PIECE_BYTES`] of them; `None` after the last ones.
    async fn next(&mut self) -> Result<Option<String>> {
        let Some(mut collector) = self.collector.take() else { return Ok(None) };
        while let Some(piece) = self.bytes.next().await {
            let piece = piece?;
            collector.feed(&piece)?;
            (self.advance)(piece.len() as u64);
            tokio::task::yield_now().await;
            let rows = collector.sink();
            if rows.csv.len() >= PIECE_BYTES {
                let csv = std::mem::take(&mut rows.csv);
                self.collector = Some(collector);
                return Ok(Some(csv));
            }
        }
        let Rows { csv, records, with_value } = collector.end()?;
        (self.records, self.with_value) = (records, with_value);
        Ok(Some(csv))
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
    let mut lines = Lines::of(column, data, from, advance).await?;
    let mut upload = BufWriter::new(Arc::clone(to), path.clone());
    let mut bytes = 0;
    while let Some(csv) = lines.next().await? {
        bytes += csv.len() as u64;
        upload.put(Bytes::from(csv)).await?;
    }
    upload.shutdown().await?;
    Ok(CreateOutcome { records: lines.records, with_value: lines.with_value, bytes })
}

/// Compares a table with the object that it is about: a CSV has no checksums of its own.
///
/// # Errors
///
/// If a line differs, or if a store fails.
pub(crate) async fn verify(
    column: &Column,
    data: &ObjectMeta,
    (from, tables): (&Arc<dyn ObjectStore>, &Arc<dyn ObjectStore>),
    table: &ObjectMeta,
) -> Result<()> {
    let mut lines = Lines::of(column, data, from, &|_| {}).await?;
    let options = GetOptions { if_match: table.e_tag.clone(), ..GetOptions::default() };
    let mut pieces = tables.get_opts(&table.location, options).await?.into_stream();
    let (mut piece, mut line) = (Bytes::new(), 1);
    while let Some(csv) = lines.next().await? {
        let mut expected = csv.as_bytes();
        while !expected.is_empty() {
            if piece.is_empty() {
                piece = match pieces.next().await {
                    Some(piece) => piece?,
                    None => return exec_err!("it ends before line {line}"),
                };
            }
            let both = expected.len().min(piece.len());
            let (of_object, of_table) = (&expected[..both], piece.split_to(both));
            let differs = of_object.iter().zip(&of_table).position(|(one, other)| one != other);
            line += line_ends(&of_object[..differs.unwrap_or(both)]);
            if differs.is_some() {
                return exec_err!("line {line} is not as the object has it");
            }
            expected = &expected[both..];
        }
    }
    while piece.is_empty() {
        piece = match pieces.next().await {
            Some(piece) => piece?,
            None => return Ok(()),
        };
    }
    exec_err!("it goes on after line {}, the last one of the object", line - 1)
}

fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
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
