//! Batches of entries, and the selections that pruning makes of them.

use thiserror::Error;

use crate::rng::mix64;

/// The columns of a batch differ in length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the columns of a batch differ in length")]
pub struct UnequalColumns;

/// Returns the identifier of a flow's first entry; later entries count up from it.
///
/// It differs from flow to flow and mixes ones and zeros irregularly, like TCP's initial sequence numbers. With small
/// identifiers the sums in a row's hash ([`Hashing`](super::hashing::Hashing)) have almost no carries. When all flows
/// began at 0, the greatest 5 of 4 flows lost one 20 times as often as the bound of the randomized TOP N.
#[must_use]
pub const fn first_id(flow: u16) -> u32 {
    // An arbitrary constant, so that flow 0 does not begin at 0.
    mix64(0x9E37_79B9_7F4A_7C15 ^ flow as u64) as u32
}

/// A batch of entries of one flow, column by column, like the packets at the switch.
#[derive(Debug, Clone, Copy)]
pub struct Entries<'a> {
    flow: u16,
    first_id: u32,
    columns: &'a [&'a [u32]],
    len: usize,
}

impl<'a> Entries<'a> {
    /// Creates a batch of flow `flow`. Its first entry has the identifier `first_id`; the others count up from it,
    /// wrapping. `columns` are the packets' values. The first batch of a flow begins at [`first_id`].
    ///
    /// # Errors
    ///
    /// If the columns differ in length.
    pub fn new(flow: u16, first_id: u32, columns: &'a [&'a [u32]]) -> Result<Self, UnequalColumns> {
        let len = columns.first().map_or(0, |column| column.len());
        if columns.iter().any(|column| column.len() != len) {
            return Err(UnequalColumns);
        }
        Ok(Self { flow, first_id, columns, len })
    }

    /// Returns the number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the flow that all entries belong to.
    #[must_use]
    pub const fn flow(&self) -> u16 {
        self.flow
    }

    /// Returns the identifier of the first entry.
    #[must_use]
    pub const fn first_id(&self) -> u32 {
        self.first_id
    }

    /// Returns the values, one slice for each column.
    #[must_use]
    pub const fn columns(&self) -> &'a [&'a [u32]] {
        self.columns
    }
}

/// The entries of a batch that are forwarded, one bit each. A selection can be reused from batch to batch; it
/// allocates only for a batch longer than all before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    words: Vec<u64>,
    len: usize,
}

impl Selection {
    /// Creates an empty selection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of entries, forwarded or not.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the selection covers no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if entry `position` is forwarded; false beyond the end.
    #[must_use]
    pub fn get(&self, position: usize) -> bool {
        position < self.len && self.words[position / 64] >> (position % 64) & 1 == 1
    }

    /// Returns the number of forwarded entries.
    #[must_use]
    pub fn forwarded(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the bits, 64 entries to a word, the first in the lowest bit. Bits beyond the end are 0.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Iterates over the positions of the forwarded entries, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(number, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.checked_sub(1)?;
                Some(64 * number + bit)
            })
        })
    }

    /// Overwrites the selection with one that forwards entry `i` iff `forward(i)`, called in order.
    #[inline]
    pub fn fill(&mut self, len: usize, forward: impl FnMut(usize) -> bool) {
        self.clear();
        self.extend(len, forward);
    }

    /// Removes all entries.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.words.clear();
    }

    /// Appends entries; `forward` is called for each in order. The length before must be a multiple of 64.
    #[inline]
    pub(crate) fn extend(&mut self, len: usize, mut forward: impl FnMut(usize) -> bool) {
        self.extend_words(len, |start, count| {
            (0..count).fold(0, |word, bit| word | u64::from(forward(start + bit)) << bit)
        });
    }

    /// Appends entries in groups of up to 64. `forward` takes the position of a group and its size, and returns the
    /// group's bits. The length before must be a multiple of 64.
    #[inline]
    pub(crate) fn extend_words(
        &mut self,
        len: usize,
        mut forward: impl FnMut(usize, usize) -> u64,
    ) {
        debug_assert!(self.len.is_multiple_of(64), "the last word is full");
        self.len += len;
        self.words.extend((0..len).step_by(64).map(|start| forward(start, 64.min(len - start))));
    }

    /// Overwrites the selection with the AND of the bits of `self` and `other`, which have the same length.
    pub fn intersect(&mut self, other: &Self) {
        self.words.resize(other.words.len(), 0);
        self.len = other.len;
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection_keeps_what_it_is_told() {
        for len in [0, 1, 63, 64, 65, 200] {
            let mut selection = Selection::new();
            selection.fill(len, |i| i % 3 == 0);
            let expected: Vec<usize> = (0..len).filter(|i| i % 3 == 0).collect();
            assert_eq!(selection.iter().collect::<Vec<_>>(), expected);
            assert_eq!(selection.forwarded(), expected.len());
            assert!((0..len + 70).all(|i| selection.get(i) == (i < len && i % 3 == 0)));
        }
    }

    #[test]
    fn columns_are_of_one_length() {
        assert!(Entries::new(0, 0, &[&[1, 2], &[3]]).is_err());
        assert_eq!(Entries::new(0, 0, &[&[1, 2], &[3, 4]]).unwrap().len(), 2);
    }
}
