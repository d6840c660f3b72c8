//! Look-ups of key ranges in indexes, which lead to records.

use sluicegate_index::layout::{RecordLocation, entries};
use sluicegate_index::ranges::coalesced;
use sluicegate_index::span::Spans;
use sluicegate_index::statement::budget::{Budget, LookupCost, MAX_RECORDS};
use sluicegate_index::statement::condition::KeyLookup;

use super::indexes::Index;

/// The maximum size of a block in bytes, which is that of the longest key.
const MAX_BLOCK: u32 = 2 << 20;
/// The number of records after which their distribution is examined for the first time. It is examined again whenever
/// the number has doubled.
const FIRST_READ_BYTES: usize = 4096;

/// A look-up with the blocks that it has to read, according to the index's top.
struct PlannedLookup<'a> {
    index: &'a Index,
    spans: Spans,
    blocks: Vec<usize>,
    /// The number of entries in these blocks, and their bytes.
    size: (u64, u64),
}

/// Returns the wanted records that all look-ups have in common, in the order of the object. Look-ups that cost more
/// than they save are left out. `None` if no look-up succeeded.
pub(super) fn find(
    indexes: &[Index],
    lookups: Vec<KeyLookup>,
    is_wanted: &dyn Fn(&RecordLocation) -> bool,
    budget: &mut Budget,
) -> Option<Vec<RecordLocation>> {
    let mut planned = Vec::new();
    for KeyLookup { index, spans } in lookups {
        let index = indexes.get(index)?;
        let blocks = index.top.blocks_with(&spans);
        let known = blocks.iter().map(|number| &index.top.blocks[*number]);
        let size = known.fold((0, 0), |(entries, bytes), block| {
            (entries + u64::from(block.entries), bytes + u64::from(block.bytes))
        });
        planned.push(PlannedLookup { index, spans, blocks, size });
    }
    planned.sort_by_key(|it| it.size.1);
    let mut found: Option<Vec<RecordLocation>> = None;
    for lookup in planned {
        let is_worth_it = found.as_ref().is_none_or(|found| amount(found).may_pay(lookup.size));
        if !is_worth_it || budget.spend(lookup.size.1).is_none() {
            break;
        }
        let Some(more) = read_blocks(&lookup, is_wanted, budget) else { continue };
        found = Some(match found {
            Some(found) => in_both(&found, &more),
            None => more,
        });
    }
    found
}

/// Counts the records, which must be in order, and the ranges and bytes that they cover.
fn amount(records: &[RecordLocation]) -> LookupCost {
    let ranges = coalesced(records, 0);
    let bytes = ranges.iter().map(|range| range.end - range.start).sum();
    LookupCost { records: records.len() as u64, places: ranges.len() as u64, bytes }
}

/// Returns the wanted records that a look-up leads to. `None` if there are too many, or the index object has a fault.
fn read_blocks(
    PlannedLookup { index, spans, blocks, .. }: &PlannedLookup<'_>,
    is_wanted: &dyn Fn(&RecordLocation) -> bool,
    budget: &Budget,
) -> Option<Vec<RecordLocation>> {
    let places = index.top.places();
    let (mut found, mut sound, mut next_look) = (Vec::new(), true, FIRST_READ_BYTES);
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
                found.extend(is_wanted(&place).then_some(place));
            }
        });
        if let Err(error) = read {
            tracing::info!(%error, column = index.top.column, "an index is not used");
            return None;
        }
        if !sound || found.len() > MAX_RECORDS {
            return None;
        }
        if found.len() >= next_look {
            next_look = 2 * found.len();
            found.sort_unstable();
            if !budget.allows(amount(&found)) {
                return None;
            }
        }
    }
    found.sort_unstable();
    index.is_unchanged().then_some(found)
}

/// Returns the records that are in both lists, which must be in order.
fn in_both(some: &[RecordLocation], others: &[RecordLocation]) -> Vec<RecordLocation> {
    let mut others = others.iter().peekable();
    let is_other = |place: &&RecordLocation| {
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
        let place = |first| RecordLocation { first, bytes: 2 };
        let all: Vec<RecordLocation> = (0..10).map(|number| place(2 * number)).collect();
        let some = [place(2), place(4), place(5), place(18)];
        assert_eq!(in_both(&all, &some), [place(2), place(4), place(18)]);
        assert_eq!(in_both(&some, &all), [place(2), place(4), place(18)]);
        assert!(in_both(&all, &[]).is_empty());
    }
}
