//! Checks that the records of an index cover an object without gaps or duplicates.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use sluicegate_index::layout::RecordLocation;

/// Checks that records, added in any order, are adjacent: each begins where another one ends, from the first to the
/// last. It sums hashes of their beginnings and ends, which takes constant memory.
#[derive(Debug, Default)]
pub struct Cover {
    hash: RandomState,
    /// The sum of the hashes of all beginnings, minus those of all ends.
    sum: u64,
    bounds: Option<Range<u64>>,
}

impl Cover {
    /// Adds the place of a record.
    pub fn add(&mut self, place: RecordLocation) {
        let (first, end) = (place.first, place.first.saturating_add(place.bytes));
        self.sum = self.sum.wrapping_add(self.hash.hash_one(first));
        self.sum = self.sum.wrapping_sub(self.hash.hash_one(end));
        let bounds = self.bounds.get_or_insert(first..end);
        *bounds = bounds.start.min(first)..bounds.end.max(end);
    }

    /// Returns true if the records are adjacent.
    #[must_use]
    pub fn is_seamless(&self) -> bool {
        let Some(Range { start, end }) = &self.bounds else { return true };
        self.sum == self.hash.hash_one(start).wrapping_sub(self.hash.hash_one(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_seamless(places: &[(u64, u64)]) -> bool {
        let mut cover = Cover::default();
        places
            .iter()
            .for_each(|(first, bytes)| cover.add(RecordLocation { first: *first, bytes: *bytes }));
        cover.is_seamless()
    }

    #[test]
    fn records_follow_each_other_or_not() {
        for (places, expected) in [
            ([].as_slice(), true),
            (&[(7, 3)], true),
            (&[(10, 5), (7, 3), (15, 1)], true),
            (&[(7, 3), (11, 5)], false),
            (&[(7, 4), (10, 5)], false),
            (&[(7, 3), (7, 3)], false),
            (&[(7, 8), (10, 5)], false),
            (&[(u64::MAX, 5), (7, 3)], false),
        ] {
            assert_eq!(is_seamless(places), expected, "{places:?}");
        }
    }

    proptest! {
        /// The order does not matter. A record that is moved, left out or duplicated is detected.
        #[test]
        fn one_wrong_record_is_noticed(
            lengths in proptest::collection::vec(1u64..100, 3..40), at in any::<prop::sample::Index>(),
            moved in 1u64..50, seed in any::<u64>(),
        ) {
            let mut first = seed % 1000;
            let mut places = Vec::new();
            for length in lengths {
                places.push((first, length));
                first += length;
            }
            places.sort_by_key(|(first, _)| (first ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            prop_assert!(is_seamless(&places));
            let at = at.index(places.len());
            let mut wrong = places.clone();
            wrong[at].0 += moved;
            prop_assert!(!is_seamless(&wrong));
            let mut wrong = places.clone();
            wrong[at].1 += moved;
            prop_assert!(!is_seamless(&wrong) || wrong[at].0 + wrong[at].1 > first);
            let twice = places[at];
            let mut wrong = places;
            wrong.push(twice);
            prop_assert!(!is_seamless(&wrong));
        }
    }
}
