//! How much of an object a filter selects, before anything but the top of an index is read.

use super::layout::{BlockMessage, TopMessage};
use super::span::{Span, Spans};

/// What a filter selects of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selected {
    /// Records, roughly.
    pub records: f64,
    /// Bytes of the blocks of the index that tell which.
    pub index_bytes: u64,
}

/// What the records with keys in some spans amount to, by the top of an index.
#[must_use]
pub fn selected(top: &TopMessage, spans: &Spans) -> Selected {
    let blocks = top.blocks_with(spans);
    let index_bytes = blocks.iter().map(|number| u64::from(top.blocks[*number].bytes)).sum();
    let records = spans.spans().iter().map(|span| of_span(top, span)).sum();
    Selected { records, index_bytes }
}

fn of_span(top: &TopMessage, span: &Span) -> f64 {
    let blocks = top.blocks_with(&span.clone().into());
    let share = |number: &usize| {
        let block = &top.blocks[*number];
        let next = top.blocks.get(number + 1);
        f64::from(block.entries) * share(block, next, span)
    };
    if span.is_point() {
        // As many as a key of these blocks has on average. All but the first have it first.
        let per_key = |number: &usize| {
            let block = &top.blocks[*number];
            f64::from(block.entries) / f64::from(block.keys.max(1))
        };
        return blocks.iter().map(per_key).sum();
    }
    blocks.iter().map(share).sum()
}

/// The share of a block's entries in a span, if the keys are spread evenly.
fn share(block: &BlockMessage, next: Option<&BlockMessage>, span: &Span) -> f64 {
    let first = &block.first_key;
    let Some(next) = next.map(|next| &next.first_key) else {
        // Nothing says how far the last block's keys go.
        return if span.low <= *first { 1.0 } else { 0.5 };
    };
    let common = first.iter().zip(next).take_while(|(a, b)| a == b).count();
    let at = |key: &[u8]| {
        let mut bytes = [0_u8; 8];
        for (byte, known) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *byte = *known;
        }
        u64::from_be_bytes(bytes) as f64
    };
    let (from, to) = (at(first), at(next));
    let within = |key: &[u8]| match key {
        key if key <= first.as_slice() => 0.0,
        key if key >= next.as_slice() => 1.0,
        key if to > from => ((at(key) - from) / (to - from)).clamp(0.0, 1.0),
        _ => 0.5,
    };
    let high = span.high.as_deref().map_or(1.0, within);
    (high - within(&span.low)).max(0.0)
}

/// The ranged GETs that some records take: how many, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranges {
    /// GETs.
    pub requests: f64,
    /// What they return.
    pub bytes: f64,
}

/// The ranges of an object that hold some of its records, if these lie anywhere in it, and gaps of
/// up to `gap` bytes between them are read, too.
///
/// The distance of neighbours is then exponential, with the mean `size / records`: a share of
/// `exp(-gap / mean)` is further apart.
#[must_use]
pub fn ranges(size: u64, records: f64, record_bytes: f64, gap: u64) -> Ranges {
    let size = size as f64;
    if records <= 0.0 || size <= 0.0 {
        return Ranges { requests: 0.0, bytes: 0.0 };
    }
    let (mean, gap) = (size / records, gap as f64);
    let apart = (-gap / mean).exp();
    // The mean of a distance, as far as it is at most a gap.
    let bridged = mean * (1.0 - apart) - gap * apart;
    Ranges {
        requests: (records * apart).max(1.0),
        bytes: (records * record_bytes + records * bridged).min(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::key;
    use crate::index::layout::{Blocks, Place};
    use arrow::datatypes::DataType;

    fn top(keys: impl Iterator<Item = i64>) -> TopMessage {
        let mut blocks = Blocks::default();
        let mut entries = 0;
        for number in keys {
            let key = key::of_scalar(&number.into(), &DataType::Int64).unwrap().unwrap();
            blocks.push(&key, Place { first: 0, bytes: 100 });
            entries += 1;
        }
        blocks.end();
        TopMessage { entries, blocks: blocks.done(), ..TopMessage::default() }
    }

    fn spans(low: i64, high: i64) -> Spans {
        let key = |number: i64| key::of_scalar(&number.into(), &DataType::Int64).unwrap().unwrap();
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
        let mut key = key::of_scalar(&150_000_i64.into(), &DataType::Int64).unwrap().unwrap();
        let low = key.clone();
        key.push(0);
        let point = selected(&top, &Span { low, high: Some(key) }.into());
        assert!((1.0..=2.0).contains(&point.records), "{point:?}");
        assert!(point.index_bytes < 100_000);
        assert_eq!(selected(&top, &spans(7, 7)).records, 0.0);
    }

    #[test]
    fn ranges_are_few_or_long() {
        let size = 1_000_000_000;
        let point = ranges(size, 1.0, 100.0, 10_000);
        assert!((point.requests - 1.0).abs() < 1e-3 && point.bytes < 20_000.0, "{point:?}");
        // Every 10 000th byte: about one in three gaps is longer than that.
        let many = ranges(size, 100_000.0, 100.0, 10_000);
        assert!((0.36..0.38).contains(&(many.requests / 100_000.0)), "{many:?}");
        let all = ranges(size, 10_000_000.0, 100.0, 10_000);
        assert!(all.requests < 2.0 && all.bytes == size as f64, "{all:?}");
        assert_eq!(ranges(size, 0.0, 100.0, 1).requests, 0.0);
    }
}
