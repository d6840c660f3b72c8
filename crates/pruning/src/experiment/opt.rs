//! OPT: the number of entries that a pruner without limits would forward.
//!
//! Such a pruner processes the same stream in the same order, once, with unlimited memory. It forwards an entry iff
//! the entries so far do not make it superfluous. No pruner of this crate forwards fewer in one pass; the figures
//! show each algorithm beside it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};
use std::hash::Hash;

/// DISTINCT: counts the first entry of each key.
pub fn distinct<K: Hash + Eq>(keys: impl IntoIterator<Item = K>) -> usize {
    keys.into_iter().collect::<HashSet<K>>().len()
}

/// TOP N: counts entries that are among the greatest `n` so far, ties by arrival.
pub fn top_n<V: Ord>(values: impl IntoIterator<Item = V>, n: usize) -> usize {
    let mut best: BinaryHeap<Reverse<V>> = BinaryHeap::new();
    let mut forwarded = 0;
    for value in values {
        let enters = best.len() < n || best.peek().is_some_and(|least| value > least.0);
        if enters && n > 0 {
            forwarded += 1;
            best.push(Reverse(value));
            if best.len() > n {
                best.pop();
            }
        }
    }
    forwarded
}

/// GROUP BY MAX: counts entries that are greater than all before them in their group. For MIN, complement the values.
pub fn group_by_max<K: Hash + Eq, V: Ord>(entries: impl IntoIterator<Item = (K, V)>) -> usize {
    let mut best: HashMap<K, V> = HashMap::new();
    let mut forwarded = 0;
    for (key, value) in entries {
        if best.get(&key).is_none_or(|old| value > *old) {
            forwarded += 1;
            best.insert(key, value);
        }
    }
    forwarded
}

/// JOIN: counts entries of one side whose key the other side has.
pub fn join<K: Hash + Eq>(entries: impl IntoIterator<Item = K>, other: &HashSet<K>) -> usize {
    entries.into_iter().filter(|key| other.contains(key)).count()
}

/// HAVING SUM above a threshold, first pass: counts for each qualifying key the entry that lifts its sum above the
/// threshold.
pub fn having_sum<K: Hash + Eq>(
    entries: impl IntoIterator<Item = (K, u64)>,
    threshold: u64,
) -> usize {
    let mut sums: HashMap<K, u64> = HashMap::new();
    let mut forwarded = 0;
    for (key, value) in entries {
        let sum = sums.entry(key).or_default();
        let below = *sum <= threshold;
        *sum = sum.saturating_add(value);
        forwarded += usize::from(below && *sum > threshold);
    }
    forwarded
}

/// HAVING SUM below a threshold: counts entries whose key has not reached it before.
pub fn having_below<K: Hash + Eq>(
    entries: impl IntoIterator<Item = (K, u64)>,
    threshold: u64,
) -> usize {
    let mut sums: HashMap<K, u64> = HashMap::new();
    let mut forwarded = 0;
    for (key, value) in entries {
        let sum = sums.entry(key).or_default();
        forwarded += usize::from(*sum < threshold);
        *sum = sum.saturating_add(value);
    }
    forwarded
}

/// SKYLINE of any number of dimensions, greater is better: counts points that no earlier point dominates. [`skyline`]
/// is faster for two.
pub fn skyline_of<V: Ord>(points: impl IntoIterator<Item = Vec<V>>) -> usize {
    let dominates = |p: &[V], q: &[V]| p != q && p.iter().zip(q).all(|(p, q)| p >= q);
    let mut best: Vec<Vec<V>> = Vec::new();
    let mut forwarded = 0;
    for point in points {
        if best.iter().any(|other| dominates(other, &point)) {
            continue;
        }
        forwarded += 1;
        best.retain(|other| !dominates(&point, other) && *other != point);
        best.push(point);
    }
    forwarded
}

/// SKYLINE of two dimensions, greater is better: counts points that no earlier point dominates.
pub fn skyline<V: Ord + Copy>(points: impl IntoIterator<Item = (V, V)>) -> usize {
    // The skyline so far: y falls as x rises, and equal points are stored once.
    let mut steps: BTreeMap<V, V> = BTreeMap::new();
    let mut forwarded = 0;
    for (x, y) in points {
        if let Some((&right, &height)) = steps.range(x..).next()
            && height >= y
            && (right, height) != (x, y)
        {
            continue;
        }
        forwarded += 1;
        let covered: BTreeSet<V> = steps
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
    forwarded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Ties;
    use crate::algorithm::{distinct as cache, group_by, skyline as points, top_n as maxima};
    use crate::experiment::conformance::{forwarded, stream};

    fn kept(program: &crate::switch::Program, packets: &[crate::switch::Packet]) -> usize {
        forwarded(program, packets).into_iter().filter(|keep| *keep).count()
    }

    #[test]
    fn by_hand() {
        assert_eq!(distinct([1, 2, 1, 3, 2]), 3);
        assert_eq!(top_n([5, 1, 6, 5, 7, 6], 2), 4);
        assert_eq!(top_n([5], 0), 0);
        assert_eq!(group_by_max([(1, 5), (1, 5), (2, 1), (1, 6)]), 3);
        assert_eq!(having_sum([(1, 3), (1, 3), (1, 3), (2, 5)], 5), 1);
        assert_eq!(having_below([(1, 3), (1, 3), (1, 3), (2, 5), (2, 1)], 5), 3);
        assert_eq!(join([1, 2, 3, 3], &HashSet::from([3, 4])), 2);
        assert_eq!(skyline([(5, 5), (5, 5), (4, 6), (4, 5), (6, 4), (6, 3), (7, 7), (6, 6)]), 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn skyline_is_the_quadratic_one(list in prop::collection::vec((0..9_u32, 0..9_u32), 0..40)) {
            let dominates = |p: (u32, u32), q: (u32, u32)| p.0 >= q.0 && p.1 >= q.1 && p != q;
            let expected =
                (0..list.len()).filter(|&i| !list[..i].iter().any(|p| dominates(*p, list[i]))).count();
            prop_assert_eq!(skyline_of(list.iter().map(|&(x, y)| vec![x, y])), expected);
            prop_assert_eq!(skyline(list), expected);
        }

        #[test]
        fn skyline_of_any_dimensions(
            list in prop::collection::vec(prop::collection::vec(0..5_u32, 4), 0..40), d in 1..=4_usize,
        ) {
            let list: Vec<Vec<u32>> = list.into_iter().map(|p| p[..d].to_vec()).collect();
            let dominates = |p: &[u32], q: &[u32]| p != q && p.iter().zip(q).all(|(p, q)| p >= q);
            let expected =
                (0..list.len()).filter(|&i| !list[..i].iter().any(|p| dominates(p, &list[i]))).count();
            prop_assert_eq!(skyline_of(list), expected);
        }

        #[test]
        fn no_program_forwards_less(packets in stream(2, 200)) {
            let first = |packets: &[crate::switch::Packet]| -> Vec<crate::switch::Packet> {
                packets.iter().map(|p| crate::switch::Packet::new(p.fid, p.id, [p.values[0]])).collect()
            };
            let singles = first(&packets);
            let lru = cache::Config::new(8, 2, cache::Width::Bits32, cache::Policy::Lru).unwrap();
            prop_assert!(distinct(singles.iter().map(|p| p.values[0])) <= kept(&lru.program(), &singles));
            let top = maxima::deterministic::Config::new(5, 3).unwrap();
            prop_assert!(top_n(singles.iter().map(|p| p.values[0]), 5) <= kept(&top.program(), &singles));
            let max = group_by::Config::new(8, 2, group_by::Extreme::Max, Ties::Prune, false).unwrap();
            let pairs = packets.iter().map(|p| (p.values[0], p.values[1]));
            prop_assert!(group_by_max(pairs.clone()) <= kept(&max.program(), &packets));
            let sky = points::Config::new(2, 3, points::Score::Sum, Ties::Prune).unwrap();
            prop_assert!(skyline(pairs) <= kept(&sky.program(), &packets));
        }
    }
}
