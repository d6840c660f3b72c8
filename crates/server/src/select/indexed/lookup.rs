//! From ranges of keys to records.

use std::ops::Range;

use sluicegate_index::layout::{Place, entries};
use sluicegate_index::span::Spans;

use super::condition::Lookup;
use super::indexes::Index;

/// The most records that an index may lead to: 16 bytes each are held twice.
const MAX_RECORDS: usize = 1_000_000;
/// The most bytes of a block: that of the longest key.
const MAX_BLOCK: u32 = 2 << 20;
/// The bytes of an object that are read in the time that it takes to begin reading elsewhere.
const SEEK_BYTES: u64 = 512;

/// How many bytes may be read in all, before it is better to read all records.
pub(super) struct Budget {
    left: u64,
    index_bytes: u64,
}

impl Budget {
    /// Half of what is otherwise read of the object.
    pub(super) fn instead_of(bytes: u64) -> Self {
        Self { left: bytes / 2, index_bytes: 0 }
    }

    /// Takes bytes of an index object, if there are as many left.
    pub(super) fn spend(&mut self, bytes: u64) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        self.index_bytes += bytes;
        Some(())
    }

    /// Takes ranges of the object, if there are as many bytes left.
    pub(super) fn spend_on_records(&mut self, ranges: &[Range<u64>]) -> Option<()> {
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start + SEEK_BYTES).sum();
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    /// Bytes of index objects that were taken.
    pub(super) fn index_bytes(&self) -> u64 {
        self.index_bytes
    }
}

/// The records that all of the look-ups lead to, in the order of the object. A look-up that is not
/// worth it is left out; none if all are.
pub(super) fn find(
    indexes: &[Index],
    lookups: Vec<Lookup>,
    budget: &mut Budget,
) -> Option<Vec<Place>> {
    let mut planned: Vec<(u64, Vec<usize>, &Index, Spans)> = Vec::new();
    for Lookup { index, spans } in lookups {
        let index = indexes.get(index)?;
        let blocks = index.top.blocks_with(&spans);
        let bytes = blocks.iter().map(|number| u64::from(index.top.blocks[*number].bytes)).sum();
        planned.push((bytes, blocks, index, spans));
    }
    planned.sort_by_key(|(bytes, ..)| *bytes);
    let mut found: Option<Vec<Place>> = None;
    for (bytes, blocks, index, spans) in planned {
        // What may be saved by looking on are the records that were found.
        let worth = found.as_ref().is_none_or(|found| bytes < weight(found));
        if !worth || budget.spend(bytes).is_none() {
            break;
        }
        let Some(more) = read_blocks(index, &blocks, &spans, budget.left) else { continue };
        found = Some(match found {
            Some(found) => in_both(&found, &more),
            None => more,
        });
    }
    found
}

fn weight(records: &[Place]) -> u64 {
    records
        .iter()
        .map(|record| record.bytes.saturating_add(SEEK_BYTES))
        .fold(0, u64::saturating_add)
}

/// The records with a key in some spans, which are in these blocks; none if they are too many, or
/// anything is wrong with the index object.
fn read_blocks(index: &Index, blocks: &[usize], spans: &Spans, most: u64) -> Option<Vec<Place>> {
    let places = index.top.places();
    let (mut found, mut bytes, mut sound) = (Vec::new(), 0_u64, true);
    for number in blocks {
        let known = &index.top.blocks[*number];
        if known.bytes > MAX_BLOCK {
            return None;
        }
        let block = index.read(places[*number].clone())?;
        let read = entries(&block, known, |key, place| {
            if spans.contains(key) && found.len() <= MAX_RECORDS {
                let end = place.first.checked_add(place.bytes);
                sound &= end.is_some_and(|end| end <= index.top.end());
                bytes = bytes.saturating_add(place.bytes);
                found.push(place);
            }
        });
        if let Err(error) = read {
            tracing::info!(%error, column = index.top.column, "an index is not used");
            return None;
        }
        if !sound || found.len() > MAX_RECORDS || bytes > most {
            return None;
        }
    }
    found.sort_unstable();
    index.is_unchanged().then_some(found)
}

/// The records that are in both lists, which are in order.
fn in_both(some: &[Place], others: &[Place]) -> Vec<Place> {
    let mut others = others.iter().peekable();
    let is_other = |place: &&Place| {
        while others.next_if(|other| other < place).is_some() {}
        others.peek() == Some(place)
    };
    some.iter().filter(is_other).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_both_lists() {
        let place = |first| Place { first, bytes: 2 };
        let all: Vec<Place> = (0..10).map(|number| place(2 * number)).collect();
        let some = [place(2), place(4), place(5), place(18)];
        assert_eq!(in_both(&all, &some), [place(2), place(4), place(18)]);
        assert_eq!(in_both(&some, &all), [place(2), place(4), place(18)]);
        assert!(in_both(&all, &[]).is_empty());
    }

    #[test]
    fn half_of_an_object_may_be_read() {
        let mut budget = Budget::instead_of(10_000);
        assert!(budget.spend(3000).is_some());
        assert!(budget.spend(3000).is_none());
        assert!(budget.spend_on_records(&[0..100, 200..300]).is_some());
        assert!(budget.spend_on_records(&[0..500, 600..1000]).is_none());
        assert_eq!(budget.index_bytes(), 3000);
    }
}
