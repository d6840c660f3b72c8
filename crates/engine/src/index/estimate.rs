//! Estimates how much of an object a filter selects, from the top of an index only.

use sluicegate_index::layout::TopMessage;
use sluicegate_index::span::{Span, Spans};

use super::lookup::runs;
use super::read_plan::ReadPlan;
use super::scale::Scale;

/// The part of an object that a filter selects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectionEstimate {
    /// The approximate number of records.
    pub records: f64,
    /// Bytes of the index blocks that contain these records.
    pub index_bytes: u64,
    /// Requests for these blocks.
    pub index_requests: u64,
}

impl SelectionEstimate {
    /// Returns the part for a filter that is assumed to select this share of the records, 0 to 1. Their entries are
    /// assumed to be adjacent in the index.
    #[must_use]
    pub fn assumed(top: &TopMessage, share: f64) -> Self {
        let bytes: f64 = top.blocks.iter().map(|block| f64::from(block.bytes)).sum();
        let block = bytes / top.blocks.len().max(1) as f64;
        Self {
            records: top.records as f64 * share,
            index_bytes: (bytes * share).max(block).ceil() as u64,
            index_requests: u64::from(bytes > 0.0),
        }
    }

    /// Scales the part to an object of another size, `share` times as large, with the same distribution of values.
    #[must_use]
    pub fn of_share(self, share: f64) -> Self {
        // Finding out that there are no records takes at least one block, unless the top shows it.
        let of_blocks = if self.records < 1.0 { 1.0 } else { share };
        let index_bytes = (self.index_bytes as f64 * of_blocks) as u64;
        Self { records: self.records * share, index_bytes, ..self }
    }
}

/// Estimates the records with keys in some spans, by the top of an index.
#[must_use]
pub fn selected(top: &TopMessage, spans: &Spans) -> SelectionEstimate {
    let blocks = top.blocks_with(spans);
    let index_bytes = blocks.iter().map(|number| u64::from(top.blocks[*number].bytes)).sum();
    let index_requests = runs(&blocks, &top.places()).len() as u64;
    let records = spans.spans().iter().map(|span| of_span(top, span)).sum();
    SelectionEstimate { records, index_bytes, index_requests }
}

fn of_span(top: &TopMessage, span: &Span) -> f64 {
    let blocks = top.blocks_with(&span.clone().into());
    let entries = |number: &usize| f64::from(top.blocks[*number].entries);
    if span.is_point() {
        // The average number of records per key of these blocks. In all blocks but the first, the key is the first
        // one.
        let keys = |number: &usize| f64::from(top.blocks[*number].keys.max(1));
        return blocks.iter().map(|number| entries(number) / keys(number)).sum();
    }
    blocks.iter().map(|number| entries(number) * share(top, *number, span)).sum()
}

/// Returns the share of a block's entries in a span, if the keys are spread evenly.
fn share(top: &TopMessage, number: usize, span: &Span) -> f64 {
    let first = top.blocks[number].first_key.as_slice();
    let next = top.blocks.get(number + 1).map(|next| next.first_key.as_slice());
    // Values end before NULLs begin.
    let values_end = top.absent.as_ref().map(|absent| absent.low.as_slice());
    let values_end = values_end.filter(|end| *end > first);
    let Some(end) = next.into_iter().chain(values_end).min() else {
        // The end of the last block's keys is unknown.
        return if span.low.as_slice() <= first { 1.0 } else { 0.5 };
    };
    let scale = Scale::between(&top.column_type, first, end);
    let (from, to) = (scale.at(first), scale.at(end));
    let within = |key: &[u8]| match key {
        key if key <= first => 0.0,
        key if key >= end => 1.0,
        key if to > from => ((scale.at(key) - from) / (to - from)).clamp(0.0, 1.0),
        _ => 0.5,
    };
    let high = span.high.as_deref().map_or(1.0, within);
    (high - within(&span.low)).max(0.0)
}

/// The work of looking up some columns of an object together and reading the records found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CombinedLookup {
    /// The approximate number of records in the spans of all columns, if the columns are independent.
    pub records: f64,
    /// Bytes of blocks of the indexes.
    pub index_bytes: u64,
    /// Requests for these blocks, without those for tops.
    pub index_requests: f64,
    /// The requests for the records.
    pub ranges: Ranges,
}

impl CombinedLookup {
    /// Returns the total cost, in bytes.
    #[must_use]
    pub fn weight(&self, reading: &ReadPlan) -> f64 {
        let requests = self.index_requests + self.ranges.requests;
        reading.weight(requests, self.index_bytes as f64 + self.ranges.bytes)
    }
}

/// The properties of a data object that determine the cost of reading a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The bytes of the columns that are read.
    pub bytes: u64,
    /// The number of records.
    pub records: u64,
    /// For Parquet: the bytes of these columns that must be read for one row.
    pub row_bytes: Option<u64>,
    /// The number of Parquet columns that are read.
    pub columns: u64,
}

impl Shape {
    /// Creates the shape of an object of this many bytes, by the top of its index or of that of another object of the
    /// table. The scan reads `some` of `all` columns.
    #[must_use]
    pub fn new(bytes: u64, top: &TopMessage, (some, all): (usize, usize)) -> Self {
        let of_top = bytes as f64 / top.size.max(1) as f64;
        let records = (top.records as f64 * of_top).ceil() as u64;
        if top.row_bytes == 0 {
            return Self { bytes, records, row_bytes: None, columns: 1 };
        }
        let share = some.max(1) as f64 / all.max(some).max(1) as f64;
        let part = |bytes: u64| (bytes as f64 * share).ceil() as u64;
        let (bytes, row_bytes) = (part(bytes), Some(part(top.row_bytes)));
        Self { bytes, records, row_bytes, columns: some.max(1) as u64 }
    }

    /// Returns the requests and bytes for reading some records anywhere in the object.
    #[must_use]
    pub fn reading(&self, records: f64, reading: &ReadPlan) -> Ranges {
        let Some(row_bytes) = self.row_bytes else {
            let record_bytes = self.bytes as f64 / self.records.max(1) as f64;
            let one_by_one = ranges(self.bytes, records, record_bytes, reading.gap);
            let Ranges { requests: ranges, bytes } = one_by_one;
            let requests = reading.requests(ranges, bytes);
            return Ranges { requests, bytes: bytes + reading.overhead(ranges) };
        };
        // The expected number of pages, all of the same size, that contain one of the records.
        let row_bytes = (row_bytes as f64).clamp(1.0, self.bytes.max(1) as f64);
        let pages = self.bytes as f64 / row_bytes;
        let read = pages * (1.0 - (-records / pages).exp());
        // At least one page is read.
        let read = if records > 0.0 { read.max(1.0_f64.min(pages)) } else { 0.0 };
        Ranges { requests: read * self.columns.max(1) as f64, bytes: read * row_bytes }
    }

    /// Returns the work of looking up some columns together.
    #[must_use]
    pub fn looking_up<'a>(
        &self,
        selected: impl IntoIterator<Item = &'a SelectionEstimate>,
        reading: &ReadPlan,
    ) -> CombinedLookup {
        let all = self.records.max(1) as f64;
        let (mut records, mut index_bytes, mut index_requests) = (all, 0, 0.0);
        for one in selected {
            records *= (one.records / all).min(1.0);
            index_bytes += one.index_bytes;
            index_requests += one.index_requests as f64;
        }
        let ranges = self.reading(records, reading);
        CombinedLookup { records, index_bytes, index_requests, ranges }
    }

    /// Returns true if a cost exceeds that of reading the whole object.
    #[must_use]
    pub fn is_too_much(&self, weight: f64, reading: &ReadPlan) -> bool {
        let requests = if self.row_bytes.is_some() { self.columns.max(1) } else { 1 };
        weight > reading.weight(requests as f64, self.bytes as f64)
    }
}

/// Returns the numbers of those of several columns to look up together.
///
/// It starts with the column of the least cost. It then adds each column that lowers the cost, because reading its
/// blocks saves more than it takes.
#[must_use]
pub fn best_together(count: usize, weight: impl Fn(&[usize]) -> f64) -> Vec<usize> {
    let mut each: Vec<(f64, usize)> = (0..count).map(|one| (weight(&[one]), one)).collect();
    each.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((mut least, first)) = each.first().copied() else { return Vec::new() };
    let mut best = vec![first];
    for (_, one) in each.into_iter().skip(1) {
        best.push(one);
        let weight = weight(&best);
        if weight < least {
            least = weight;
        } else {
            best.pop();
        }
    }
    best
}

/// The ranged GETs for some records: their number and their bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranges {
    /// The number of GETs.
    pub requests: f64,
    /// The bytes that they return.
    pub bytes: f64,
}

/// Returns the ranges of an object that contain some of its records. The records are anywhere in the object, and gaps
/// of up to `gap` bytes between them are read, too.
///
/// The distances between neighbours are then exponentially distributed with the mean `size / records`: a share of
/// `exp(-gap / mean)` is longer than the gap.
#[must_use]
pub fn ranges(size: u64, records: f64, record_bytes: f64, gap: u64) -> Ranges {
    let size = size as f64;
    if records <= 0.0 || size <= 0.0 {
        return Ranges { requests: 0.0, bytes: 0.0 };
    }
    let (mean, gap) = (size / records, gap as f64);
    let apart = (-gap / mean).exp();
    // The mean contribution of distances of at most a gap.
    let bridged = mean * (1.0 - apart) - gap * apart;
    Ranges {
        requests: (records * apart).max(1.0),
        bytes: (records * record_bytes + records * bridged).min(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::key::{self, Constant};
    use arrow::datatypes::DataType;
    use sluicegate_index::layout::{AbsentMessage, Blocks, RecordLocation, beyond};

    fn key(number: i64) -> Vec<u8> {
        match key::of_scalar(&number.into(), &DataType::Int64) {
            Some(Constant::Key(key)) => key,
            other => panic!("{other:?}"),
        }
    }

    fn top(keys: impl Iterator<Item = i64>) -> TopMessage {
        let mut blocks = Blocks::default();
        let (mut entries, mut greatest) = (0, Vec::new());
        for number in keys {
            let key = key(number);
            blocks.push(&key, RecordLocation { first: 0, bytes: 100 });
            entries += 1;
            greatest = key;
        }
        blocks.end();
        let absent = beyond(&greatest).map(|low| AbsentMessage { low, high: None });
        let blocks = blocks.done();
        TopMessage {
            entries,
            blocks,
            absent,
            column_type: "Int64".to_owned(),
            ..Default::default()
        }
    }

    fn spans(low: i64, high: i64) -> Spans {
        Spans::from(Span { low: key(low), high: Some(key(high)) })
    }

    #[test]
    fn records_are_estimated_from_the_top() {
        let top = top(100_000..200_000);
        assert!(top.blocks.len() > 10);
        for (low, high) in [(100_000, 200_000), (150_000, 160_000), (123_456, 124_000)] {
            let estimated = selected(&top, &spans(low, high)).records;
            let exact = (high - low) as f64;
            assert!((estimated / exact - 1.0).abs() < 0.1, "{low} {high}: {estimated}");
        }
        let mut key = key(150_000);
        let low = key.clone();
        key.push(0);
        let point = selected(&top, &Span { low, high: Some(key) }.into());
        assert!((1.0..=2.0).contains(&point.records), "{point:?}");
        assert!(point.index_bytes < 100_000);
        assert_eq!(selected(&top, &spans(7, 7)).records, 0.0);
        // Beyond the last key.
        let nothing = SelectionEstimate { records: 0.0, index_bytes: 0, index_requests: 0 };
        assert_eq!(selected(&top, &spans(200_000, 1_000_000)), nothing);
        let last = selected(&top, &spans(199_900, 1_000_000));
        assert!((last.records / 100.0 - 1.0).abs() < 0.1 && last.index_requests == 1, "{last:?}");
    }

    #[test]
    fn an_assumed_share_takes_as_much_of_the_index() {
        let mut top = top(0..100_000);
        top.records = 100_000;
        let shares = [0.0, 1e-6, 0.01, 0.5, 1.0];
        let all = shares.map(|share| SelectionEstimate::assumed(&top, share));
        assert_eq!(all.map(|it| it.records.round() as u64), [0, 0, 1000, 50_000, 100_000]);
        assert!(all.is_sorted_by_key(|it| it.index_bytes) && all[0].index_bytes > 0, "{all:?}");
        // A filter that selects as many records by the top reads as many bytes.
        let half = selected(&top, &spans(0, 50_000));
        let ratio = all[3].index_bytes as f64 / half.index_bytes as f64;
        assert!((ratio - 1.0).abs() < 0.1 && half.index_requests == all[3].index_requests);
        let empty = SelectionEstimate::assumed(&TopMessage::default(), 1.0);
        assert_eq!(empty, SelectionEstimate { records: 0.0, index_bytes: 0, index_requests: 0 });
    }

    #[test]
    fn keys_of_other_lengths_are_as_near() {
        let top = top(-70_000..70_000);
        for middle in [-65_536, -256, 0, 256, 65_536] {
            let estimated = selected(&top, &spans(middle - 50, middle + 50)).records;
            assert!((estimated / 100.0 - 1.0).abs() < 0.1, "{middle}: {estimated}");
        }
    }

    #[test]
    fn blocks_that_lie_apart_take_a_request_each() {
        let top = top(0..100_000);
        let three = [10, 50_000, 90_000].map(|number| Span::point(key(number)));
        let selected = selected(&top, &Spans::sorted(three.to_vec()));
        assert_eq!(selected.index_requests, 3, "{selected:?}");
        assert_eq!(selected.of_share(0.5).index_requests, 3);
    }

    #[test]
    fn columns_are_looked_up_together_where_that_leaves_less_to_read() {
        let reading = &ReadPlan::new(10_000, 1);
        let text = Shape { bytes: 1_000_000_000, records: 10_000_000, row_bytes: None, columns: 4 };
        let selected =
            |records, index_bytes| SelectionEstimate { records, index_bytes, index_requests: 1 };
        let check = |shape: &Shape, all: &[SelectionEstimate], expected: &[usize]| {
            let weight = |some: &[usize]| {
                shape.looking_up(some.iter().map(|one| &all[*one]), reading).weight(reading)
            };
            assert_eq!(best_together(all.len(), weight), expected, "{all:?}");
        };
        // Each leads to many records, both together to few.
        check(&text, &[selected(1e4, 200_000), selected(2e4, 400_000)], &[0, 1]);
        // One leads to a few already, so looking into the other does not pay.
        check(&text, &[selected(1e6, 2_000_000), selected(1.0, 40_000)], &[1]);
        check(&text, &[], &[]);
        let both = [selected(1e4, 200_000), selected(2e4, 400_000)];
        assert!((text.looking_up(&both, reading).records - 20.0).abs() < 1e-6);
        let parquet = Shape { row_bytes: Some(1_000_000), ..text };
        check(&parquet, &[selected(300.0, 200_000), selected(400.0, 400_000)], &[0, 1]);
        check(&parquet, &[selected(1.0, 200_000), selected(400.0, 400_000)], &[0]);
    }

    #[test]
    fn of_parquet_whole_pages_are_read() {
        let shape = Shape {
            bytes: 100_000_000,
            records: 1_000_000,
            row_bytes: Some(1_000_000),
            columns: 4,
        };
        let reading = &ReadPlan::new(10_000, 1);
        let read = |records| shape.reading(records, reading);
        assert_eq!(read(0.0), Ranges { requests: 0.0, bytes: 0.0 });
        let one = read(1.0);
        assert!((one.bytes - 1e6).abs() < 1e4 && (one.requests - 4.0).abs() < 0.1, "{one:?}");
        let many = read(100.0);
        assert!((62e6..64e6).contains(&many.bytes), "{many:?}");
        assert!(read(1e6).bytes <= 100e6);
        assert!(shape.is_too_much(read(1e6).bytes + 50_000.0 + 1.0, reading));
    }

    #[test]
    fn several_ranges_in_a_request_are_fewer_requests_and_fewer_bytes() {
        let shape =
            Shape { bytes: 1_000_000_000, records: 10_000_000, row_bytes: None, columns: 1 };
        let (one, several) = (ReadPlan::new(10_000, 1), ReadPlan::new(10_000, 200));
        for records in [1.0, 100.0, 1e4, 1e5, 1e6] {
            let (single, together) =
                (shape.reading(records, &one), shape.reading(records, &several));
            let weights = [(one, single), (several, together)]
                .map(|(reading, it)| reading.weight(it.requests, it.bytes));
            // A single range costs the same in both ways.
            assert!(weights[1] <= weights[0] + 200.0, "{records}: {weights:?}");
        }
        let (single, together) = (shape.reading(1e5, &one), shape.reading(1e5, &several));
        assert!(together.requests * 50.0 < single.requests, "{together:?} {single:?}");
        assert!(together.bytes * 5.0 < single.bytes, "{together:?} {single:?}");
    }

    #[test]
    fn ranges_are_few_or_long() {
        let size = 1_000_000_000;
        let point = ranges(size, 1.0, 100.0, 10_000);
        assert!((point.requests - 1.0).abs() < 1e-3 && point.bytes < 20_000.0, "{point:?}");
        // Every 10,000th byte: about one in three gaps is longer than that.
        let many = ranges(size, 100_000.0, 100.0, 10_000);
        assert!((0.36..0.38).contains(&(many.requests / 100_000.0)), "{many:?}");
        let all = ranges(size, 10_000_000.0, 100.0, 10_000);
        assert!(all.requests < 2.0 && all.bytes == size as f64, "{all:?}");
        assert_eq!(ranges(size, 0.0, 100.0, 1).requests, 0.0);
    }
}
