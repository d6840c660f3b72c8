//! The master's work on the entries that the switch forwards, to be timed on a machine.
//!
//! The rates in `crates/costmodel/testbeds/cheetah.toml` come from `benches/master`, and `sluice switch time 9 --measure`
//! times each operator for several fractions of unpruned entries, as in the paper's figure 9.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use crate::rng::Rng;

/// A key and a value.
pub type KeyAndValue = (u64, u64);

/// An operator that completes a query at the master.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// The operator's name in the testbed's file.
    pub name: &'static str,
    /// Completes the query over all entries, and returns the size of its result.
    pub complete: fn(&[KeyAndValue]) -> usize,
}

/// The operators of the paper's queries.
pub const OPERATORS: [Operator; 6] = [
    Operator { name: "filter", complete: filter },
    Operator { name: "distinct", complete: distinct },
    Operator { name: "top-n", complete: top_250 },
    Operator { name: "group-by", complete: group_by },
    Operator { name: "join", complete: join },
    Operator { name: "skyline", complete: skyline },
];

/// Returns random entries with about a million keys; the same for each call.
#[must_use]
pub fn entries(count: usize) -> Vec<KeyAndValue> {
    let mut rng = Rng::new(7);
    (0..count).map(|_| (rng.below(1 << 20), rng.next_u64() >> 40)).collect()
}

fn filter(entries: &[KeyAndValue]) -> usize {
    entries.iter().filter(|(_, value)| *value < 10).count()
}

fn distinct(entries: &[KeyAndValue]) -> usize {
    entries.iter().map(|(key, _)| *key).collect::<HashSet<_>>().len()
}

fn top_250(entries: &[KeyAndValue]) -> usize {
    let mut best = BinaryHeap::new();
    for &(_, value) in entries {
        if best.len() < 250 {
            best.push(Reverse(value));
        } else if best.peek().is_some_and(|least: &Reverse<u64>| value > least.0) {
            best.pop();
            best.push(Reverse(value));
        }
    }
    best.len()
}

fn group_by(entries: &[KeyAndValue]) -> usize {
    let mut groups: HashMap<u64, u64> = HashMap::new();
    for &(key, value) in entries {
        groups.entry(key).and_modify(|best| *best = value.max(*best)).or_insert(value);
    }
    groups.len()
}

/// Joins the entries; the first eighth is the build side.
fn join(entries: &[KeyAndValue]) -> usize {
    let (build, probe) = entries.split_at(entries.len() / 8);
    let built: HashMap<u64, u64> = build.iter().copied().collect();
    probe.iter().filter(|(key, _)| built.contains_key(key)).count()
}

/// Computes a skyline of points whose coordinates add up to about the same, so that many are on it.
fn skyline(entries: &[KeyAndValue]) -> usize {
    let mut steps: BTreeMap<u64, u64> = BTreeMap::new();
    for &(x, noise) in entries {
        let y = (1 << 20) - x + noise % 1024;
        if steps.range(x..).next().is_some_and(|(_, height)| *height >= y) {
            continue;
        }
        let covered: Vec<u64> = steps
            .range(..=x)
            .rev()
            .take_while(|(_, height)| **height <= y)
            .map(|(x, _)| *x)
            .collect();
        for x in covered {
            steps.remove(&x);
        }
        steps.insert(x, y);
    }
    steps.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_its_result() {
        let entries = [(1, 5), (2, 20), (1, 7), (1 << 20, 3)];
        let results = OPERATORS.map(|it| (it.name, (it.complete)(&entries)));
        let expected = [
            ("filter", 3),
            ("distinct", 3),
            ("top-n", 4),
            ("group-by", 3),
            // An eighth of four entries is none.
            ("join", 0),
            ("skyline", 2),
        ];
        assert_eq!(results, expected);
        assert_eq!(super::entries(50), super::entries(80)[..50]);
    }
}
