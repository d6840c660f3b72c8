//! Finds the action that a table runs for a packet.

use std::collections::HashMap;
use std::sync::Arc;

use super::decoded::Word;
use super::program::{Call, Entry, MatchKind, Table};

/// A table's entries, laid out for fast lookup; a logarithm table has 65,535 of them.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    lookup: Lookup,
    /// The fields to match on.
    keys: Box<[Word]>,
    /// The action of each call, or [`NOTHING`]: first the one of a miss, then that of each entry, or a single one if
    /// all entries have the same.
    actions: Box<[u32]>,
    /// Words of action data of each call.
    arity: usize,
    /// The data of all calls, padded. Tables with equal data share them, and so their place in the cache.
    pub(super) args: Arc<[u32]>,
}

/// The search method for the call of a packet.
#[derive(Debug, Clone)]
enum Lookup {
    /// No entries, so every packet misses.
    Miss,
    /// One key of any kind, with values and masks compared one after the other.
    Masked(Box<[(u32, u32)]>),
    /// Several keys, compared entry after entry.
    Scan(Box<[(u32, u32)]>),
    /// One exact key whose entries are consecutive values from `first` on, with one action.
    Dense { first: u32, count: u32 },
    /// One exact key with a map from value to entry.
    Sparse(HashMap<u32, u32>),
}

/// The number of the action of a call that runs nothing.
const NOTHING: u32 = u32::MAX;
/// Tables with fewer entries than this are searched one by one.
const FEW: usize = 8;

impl Matcher {
    pub(super) fn compile(table: &Table) -> Self {
        let exact = |number: usize| table.keys[number].kind == MatchKind::Exact;
        let pattern = |entry: &Entry, number: usize| {
            let pattern = entry.patterns[number];
            let mask = if exact(number) { u32::MAX } else { pattern.mask };
            (pattern.value & mask, mask)
        };
        let first = || table.entries.iter().map(|entry| pattern(entry, 0));
        let calls = || {
            let entries = table.entries.iter().map(|entry| Some(&entry.call));
            std::iter::once(table.default.as_ref()).chain(entries)
        };
        let arity = calls().flatten().map(|call| call.args.len()).max().unwrap_or(0);
        let data = calls().flat_map(|call| {
            let given = call.map_or(&[][..], |call| &call.args);
            given.iter().copied().chain(std::iter::repeat_n(0, arity - given.len()))
        });
        let action = |call: Option<&Call>| call.map_or(NOTHING, |call| call.action as u32);
        let mut actions: Vec<u32> = calls().map(action).collect();
        let keys: Box<[Word]> = table.keys.iter().map(|key| key.field.index() as Word).collect();
        let lookup = match (keys.len(), table.entries.len()) {
            (0, _) | (_, 0) => Lookup::Miss,
            (1, FEW..) if exact(0) => {
                let start = table.entries[0].patterns[0].value;
                let counts_on =
                    (u64::from(start)..).zip(first()).all(|(n, (v, _))| n == u64::from(v));
                if counts_on && actions[1..].iter().all(|action| *action == actions[1]) {
                    actions.truncate(2);
                    Lookup::Dense { first: start, count: table.entries.len() as u32 }
                } else {
                    let mut sparse = HashMap::new();
                    for (number, (value, _)) in (0..).zip(first()) {
                        // The first of equal entries wins.
                        sparse.entry(value).or_insert(number);
                    }
                    Lookup::Sparse(sparse)
                }
            }
            (1, _) => Lookup::Masked(first().collect()),
            (count, _) => {
                let patterns = |entry| (0..count).map(move |number| pattern(entry, number));
                Lookup::Scan(table.entries.iter().flat_map(patterns).collect())
            }
        };
        Self { lookup, keys, actions: actions.into(), arity, args: data.collect() }
    }

    /// Returns the action that runs, and its data.
    #[inline(always)]
    pub(super) fn choose(&self, words: &[u32]) -> (u32, &[u32]) {
        let key = || words[usize::from(self.keys[0])];
        let entry = match &self.lookup {
            Lookup::Miss => None,
            Lookup::Masked(patterns) => {
                let key = key();
                patterns.iter().position(|(value, mask)| key & mask == *value)
            }
            Lookup::Scan(patterns) => {
                let matches = |patterns: &[(u32, u32)]| {
                    let mut pairs = patterns.iter().zip(&self.keys);
                    pairs.all(|((value, mask), key)| words[usize::from(*key)] & mask == *value)
                };
                patterns.chunks_exact(self.keys.len()).position(matches)
            }
            Lookup::Dense { first, count } => {
                let entry = key().wrapping_sub(*first);
                (entry < *count).then_some(entry as usize)
            }
            Lookup::Sparse(entries) => entries.get(&key()).map(|entry| *entry as usize),
        };
        let call = entry.map_or(0, |entry| entry + 1);
        let action = self.actions[call.min(self.actions.len() - 1)];
        (action, &self.args[call * self.arity..(call + 1) * self.arity])
    }
}
