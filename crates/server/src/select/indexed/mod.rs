//! Statements that read only the records that an object's indexes lead to.
//!
//! The engine stores indexes beside the objects of a bucket (`sluicegate-index`). If the WHERE of a statement
//! restricts an indexed column to some ranges, other records need not be read. The evaluator then gets the header and
//! the records that the indexes name, in the order of the object, as if they were the object. It evaluates the whole
//! statement over them, and the answer is byte for byte the one without an index.
//!
//! | file | holds |
//! |---|---|
//! | [`indexes`] | the index objects of a version of an object, and the checks that they can be trusted |
//! | [`lookup`] | the look-up of key ranges, which [`statement`] finds in WHERE |
//! | [`records`] | the found records as an object |
//!
//! An index is used only if the answer is certain to be the same:
//!
//! * Its top names this version of the object, and the input options of the request. Each record is one line, so that
//!   DataFusion's reader, which made the index, and S3 Select agree about where records begin and end.
//! * Records with an empty value in the column are always read. They are NULL in the index, and empty text in S3
//!   Select.
//! * The part of WHERE before a condition that is looked up cannot fail in any record. The part after it is evaluated
//!   only where the condition may hold ([`statement`]). A statement that fails without an index therefore fails with
//!   it. It is then evaluated again over the whole object, so that the error is exactly the same.
//!
//! In all other cases (a stale or damaged index, one of another program, too many records), the object is read as if
//! there were no index.
//!
//! [`statement`]: sluicegate_index::statement

mod indexes;
mod lookup;
mod records;

use std::ops::Range;
use std::sync::Arc;

use sluicegate_evaluator::{CsvColumns, ObjectSource};
use sluicegate_index::layout::RecordLocation;
use sluicegate_index::ranges::coalesced;
use sluicegate_index::statement::budget::{Budget, LookupCost};
use sluicegate_index::statement::condition::Conditions;
use sluicegate_index::statement::input::csv_of;
use sluicegate_s3select::dialect;
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::request::{FileHeaderInfo, SelectRequest};

use self::indexes::Indexes;
use self::records::Records;
use super::answer::Snapshot;
use crate::store::Store;

/// The input of a statement in place of the object.
pub(super) struct Indexed {
    /// The header and the records found.
    pub(super) source: Arc<dyn ObjectSource>,
    /// The statement to evaluate over them.
    pub(super) request: SelectRequest,
    /// The bytes that were read from index objects.
    pub(super) index_bytes: u64,
}

/// Finds the records that a statement has to read. `None` if the indexes cannot be used, or reading the object costs
/// less. Blocks the thread.
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
    // An entry may begin with the line feed of the previous line.
    let line_of = |first: u64| first.saturating_add(u64::from(indexes.lines.returns && first > 0));
    let is_wanted = |place: &RecordLocation| wanted.contains(&line_of(place.first));
    let found = lookup::find(&indexes.all, lookups, &is_wanted, &mut budget)?;
    let mut ranges = coalesced(&found, 0);
    let is_header = csv.header != FileHeaderInfo::None;
    // A line that the table treats as its header can be a record in a statement.
    if is_header || (indexes.format.header && wanted.contains(&0)) {
        ranges = with_first(ranges, first_line);
    }
    let bytes = ranges.iter().map(|range| range.end - range.start).sum();
    let (records, places) = (found.len() as u64, ranges.len() as u64);
    budget.allows(LookupCost { records, places, bytes }).then_some(())?;
    let request = SelectRequest { scan_range: None, ..request.clone() };
    Some(Indexed { source: read(ranges), request, index_bytes: budget.index_bytes() })
}

/// Adds a range that starts at 0 to sorted ranges.
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
        // If lines end with two bytes, an entry begins with the last byte of the previous line.
        check(&[(9, 25), (30, 35)], &[(0, 25), (30, 35)]);
        check(&[(10, 25)], &[(0, 25)]);
        check(&[(0, 10), (11, 12)], &[(0, 10), (11, 12)]);
    }
}
