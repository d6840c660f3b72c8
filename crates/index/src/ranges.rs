//! Joins the positions of records into ranges to fetch.

use std::ops::Range;

use super::layout::RecordLocation;

/// Joins records, which must be in order, into ranges. Records at most `gap` bytes apart share a range.
#[must_use]
pub fn coalesced(records: &[RecordLocation], gap: u64) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for record in records {
        let end = record.first + record.bytes;
        match ranges.last_mut() {
            Some(last) if record.first <= last.end.saturating_add(gap) => {
                last.end = last.end.max(end);
            }
            _ => ranges.push(record.first..end),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_records_are_read_together() {
        let record = |first, bytes| RecordLocation { first, bytes };
        let records = [record(10, 5), record(15, 5), record(25, 5), record(50, 1)];
        assert_eq!(coalesced(&records, 0), [10..20, 25..30, 50..51]);
        assert_eq!(coalesced(&records, 5), [10..30, 50..51]);
        assert_eq!(coalesced(&records, u64::MAX).first(), Some(&(10..51)));
        assert!(coalesced(&[], 3).is_empty());
    }
}
