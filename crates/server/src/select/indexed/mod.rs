//! Statements that read, instead of an object, the records that its indexes lead to.
//!
//! The engine puts indexes beside the objects of a bucket (`sluicegate-index`). If the WHERE of a
//! statement keeps only records of which an indexed column is within some ranges, the others need not be
//! read: the evaluator is given the header and the records that the indexes name, in the order of the
//! object, as if they were the object. It evaluates the whole statement over them, and its answer is
//! byte for byte the one without an index.
//!
//! | file | holds |
//! |---|---|
//! | [`indexes`] | the index objects of a version of an object, and which can be relied on |
//! | [`lookup`] | from ranges of keys, which [`statement`] finds in WHERE, to records |
//! | [`records`] | those records as an object |
//!
//! An index is used only if the answer is surely the same:
//!
//! * Its top says that it is about this very version of the object, that the object is read with the
//!   options of the request, and that each of its records is one line, so that DataFusion's reader,
//!   which made the index, and S3 Select agree about where records begin and end.
//! * Records of which the column is empty are always read: they are NULL there, and empty text here.
//! * What stands in WHERE before a condition that is looked up cannot fail in any record, and what
//!   stands behind it is evaluated only where that condition may hold ([`statement`]). So a
//!   statement that fails without an index fails with it. It is then evaluated anew over the whole object,
//!   so that its error is the same to the letter.
//!
//! Whatever else is the case (an index that is stale, damaged or of another program, too many records),
//! the object is read as if there were no index.
//!
//! [`statement`]: sluicegate_index::statement

mod indexes;
mod lookup;
mod records;

use std::ops::Range;
use std::sync::Arc;

use sluicegate_evaluator::{CsvColumns, ObjectSource};
use sluicegate_index::layout::Place;
use sluicegate_index::ranges::coalesced;
use sluicegate_index::statement::budget::{Budget, Found};
use sluicegate_index::statement::condition::Conditions;
use sluicegate_index::statement::input::csv_of;
use sluicegate_s3select::dialect;
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::request::{FileHeaderInfo, SelectRequest};

use self::indexes::Indexes;
use self::records::Records;
use super::answer::Snapshot;
use crate::store::Store;

/// What a statement reads instead of the object.
pub(super) struct Indexed {
    /// The header and records.
    pub(super) source: Arc<dyn ObjectSource>,
    /// The statement, as it is evaluated over them.
    pub(super) request: SelectRequest,
    /// Bytes of index objects that were read.
    pub(super) index_bytes: u64,
}

/// What a statement has to read of an object, if its indexes say so and that is worth it. Blocking.
pub(super) fn indexed(
    store: &Store,
    bucket: &str,
    key: &str,
    snapshot: &Arc<Snapshot>,
    request: &SelectRequest,
) -> Option<Indexed> {
    let csv = csv_of(&request.input, request.scan_range.is_some())?;
    let query = dialect::parse_with(&request.expression, request.extras).ok()?;
    let filter = query.filter.as_ref()?;
    let size = snapshot.len();
    let wanted = match request.scan_range {
        Some(range) => range.offsets(size).ok()?,
        None => 0..u64::MAX,
    };

    let indexes = Indexes::open(store, bucket, key, snapshot, csv)?;
    let first_line = 0..indexes.lines.first_bytes;
    let read = |ranges| -> Arc<dyn ObjectSource> {
        let object = Arc::clone(snapshot);
        Arc::new(Records::new(object, ranges, indexes.lines.returns))
    };
    let header = read(vec![first_line.clone()]);
    let columns = CsvColumns::open(&header, csv, &query.from).ok()?;
    let position = |path: &[PathStep]| columns.position(path);
    let usable = indexes.all.iter().map(|index| index.usable).collect();
    let lookups = Conditions::new(&position, usable).lookups(filter);

    let wanted_bytes = wanted.end.min(size).saturating_sub(wanted.start);
    let records = indexes.all.first()?.top.records.min(size);
    let wanted_records = records as f64 * wanted_bytes as f64 / size.max(1) as f64;
    let mut budget = Budget::instead_of(wanted_records as u64, wanted_bytes);
    budget.spend(indexes.bytes_read)?;
    // An entry may begin with the line feed of the line before.
    let line_of = |first: u64| first.saturating_add(u64::from(indexes.lines.returns && first > 0));
    let is_wanted = |place: &Place| wanted.contains(&line_of(place.first));
    let found = lookup::find(&indexes.all, lookups, &is_wanted, &mut budget)?;
    let mut ranges = coalesced(&found, 0);
    let is_header = csv.header != FileHeaderInfo::None;
    // What the table takes for a header is a record to a statement that does not.
    if is_header || (indexes.format.header && wanted.contains(&0)) {
        ranges = with_first(ranges, first_line);
    }
    let bytes = ranges.iter().map(|range| range.end - range.start).sum();
    let (records, places) = (found.len() as u64, ranges.len() as u64);
    budget.allows(Found { records, places, bytes }).then_some(())?;
    let request = SelectRequest { scan_range: None, ..request.clone() };
    Some(Indexed { source: read(ranges), request, index_bytes: budget.index_bytes() })
}

/// Ranges in their order, with one that starts at 0.
fn with_first(mut ranges: Vec<Range<u64>>, mut first: Range<u64>) -> Vec<Range<u64>> {
    let covered = ranges.partition_point(|range| range.start <= first.end);
    for range in ranges.drain(..covered) {
        first.end = first.end.max(range.end);
    }
    ranges.insert(0, first);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_read_once() {
        let check = |ranges: &[(u64, u64)], expected: &[(u64, u64)]| {
            let ranges = ranges.iter().map(|(start, end)| *start..*end).collect();
            let found: Vec<_> =
                with_first(ranges, 0..10).into_iter().map(|it| (it.start, it.end)).collect();
            assert_eq!(found, expected);
        };
        check(&[], &[(0, 10)]);
        check(&[(20, 25), (30, 35)], &[(0, 10), (20, 25), (30, 35)]);
        // Where lines end with two bytes, an entry begins with the last of the line before.
        check(&[(9, 25), (30, 35)], &[(0, 25), (30, 35)]);
        check(&[(10, 25)], &[(0, 25)]);
        check(&[(0, 10), (11, 12)], &[(0, 10), (11, 12)]);
    }
}
