//! HAVING: overestimates of a Count-Min sketch, and the keys that it forwards in vain.
//!
//! The sketch has d rows of w counters. The estimate g(k) of a key is the least of its d counters, f(k) ≤ g(k).
//! Pruning only while g(k) ≤ c loses no key with f(k) > c; every other key that reaches the master is a false
//! candidate.
//!
//! Cormode and Muthukrishnan (J. Algorithms 55, 2005): P[g(k) > f(k) + ε·F] ≤ δ for w = ⌈e/ε⌉ and d = ⌈ln(1/δ)⌉,
//! where F is the sum over all keys. The proof uses Markov's inequality per row and independence between rows.

use std::f64::consts::E;

/// Returns the counters per row for an error of at most `epsilon`·F: ⌈e/ε⌉.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::count_min::{counters, rows};
/// assert_eq!((counters(0.01), rows(0.05)), (272, 3));
/// ```
pub fn counters(epsilon: f64) -> u64 {
    (E / epsilon).ceil() as u64
}

/// Returns the rows that keep the error with probability `1 - delta`: ⌈ln(1/δ)⌉.
pub fn rows(delta: f64) -> u64 {
    (1.0 / delta).ln().ceil().max(1.0) as u64
}

/// Returns the guarantee that a sketch of `counters` w and `rows` d gives: (ε, δ) = (e/w, e^-d).
///
/// # Example
/// The default of table 2, 3 rows of 1024: off by more than 0.27 % of the total for at most 5 % of the keys.
/// ```
/// use sluicegate_pruning::theory::count_min::guarantee;
/// let (epsilon, delta) = guarantee(1024, 3);
/// assert_eq!(format!("{epsilon:.5} {delta:.4}"), "0.00265 0.0498");
/// ```
pub fn guarantee(counters: u64, rows: u64) -> (f64, f64) {
    (E / counters as f64, (-(rows as f64)).exp())
}

/// Returns an upper bound on the probability that a key is overestimated by `excess` or more: (F'/(w·excess))^d with
/// F' the sum of all *other* keys, by Markov's inequality in every row, and at most 1.
///
/// A key with f(k) = c - excess + 1 ≤ c becomes a false candidate with at most this probability.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::count_min::overestimate;
/// assert!((overestimate(1000.0, 10.0, 1000, 3) - 0.001).abs() < 1e-12);
/// assert_eq!(overestimate(1000.0, 1.0, 1000, 3), 1.0);
/// ```
pub fn overestimate(others: f64, excess: f64, counters: u64, rows: u64) -> f64 {
    if others <= 0.0 {
        return 0.0;
    }
    if excess <= 0.0 {
        return 1.0;
    }
    (others / (counters as f64 * excess)).min(1.0).powf(rows as f64)
}

/// Returns the probability that a key shares its counter with another key in every row, and so is not counted
/// exactly: (1 - (1 - 1/w)^(K-1))^d for `keys` K distinct keys.
///
/// # Example
/// 25 language codes and 3 rows of 1024 or 512: not one key is expected to be off, which is why the sketch looks
/// perfect.
/// ```
/// use sluicegate_pruning::theory::count_min::collision;
/// assert!(25.0 * collision(25, 1024, 3) < 4e-4);
/// assert!(25.0 * collision(25, 512, 3) < 3e-3);
/// ```
pub fn collision(keys: u64, counters: u64, rows: u64) -> f64 {
    let alone = (keys.saturating_sub(1) as f64 * (-1.0 / counters as f64).ln_1p()).exp();
    (1.0 - alone).powf(rows as f64)
}

/// Returns the fraction of `entries` that a switch without limits prunes in the first pass: all but one entry of each
/// of the `candidates`, the keys above the threshold.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::count_min::optimal_pruned;
/// assert_eq!(optimal_pruned(1000, 20), 0.98);
/// ```
pub fn optimal_pruned(entries: u64, candidates: u64) -> f64 {
    if entries == 0 { 0.0 } else { 1.0 - candidates.min(entries) as f64 / entries as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Returns the share of keys that a random sketch gets wrong by at least `excess`.
    fn measure(keys: u64, counters: u64, rows: u64, excess: u64) -> f64 {
        let mut rng = Rng::new(9);
        let (runs, mut wrong) = (40, 0u64);
        for _ in 0..runs {
            let weights: Vec<u64> = (0..keys).map(|_| rng.below(20)).collect();
            let places: Vec<Vec<u64>> =
                weights.iter().map(|_| (0..rows).map(|_| rng.below(counters)).collect()).collect();
            let mut sketch = vec![vec![0; counters as usize]; rows as usize];
            for (weight, place) in weights.iter().zip(&places) {
                for (row, &counter) in place.iter().enumerate() {
                    sketch[row][counter as usize] += weight;
                }
            }
            for (weight, place) in weights.iter().zip(&places) {
                let estimate = place
                    .iter()
                    .enumerate()
                    .map(|(row, &at)| sketch[row][at as usize])
                    .min()
                    .unwrap();
                assert!(estimate >= *weight, "never below the truth");
                wrong += u64::from(estimate - weight >= excess);
            }
        }
        wrong as f64 / (runs * keys) as f64
    }

    #[test]
    fn markov_bounds_what_is_measured() {
        for (keys, counters, rows, excess) in
            [(200, 64, 2, 60), (200, 64, 3, 90), (500, 64, 1, 150)]
        {
            let others = 9.5 * (keys - 1) as f64;
            let bound = overestimate(others, excess as f64, counters, rows);
            let measured = measure(keys, counters, rows, excess);
            assert!(bound < 1.0 && measured <= bound * 1.1, "{measured} {bound}");
        }
    }

    #[test]
    fn collisions_are_measured() {
        // Weights may be 0, so a collision shows in 19 of 20 cases at least.
        let (measured, expected) = (measure(100, 64, 2, 1), collision(100, 64, 2));
        assert!((measured - expected).abs() < 0.05, "{measured} {expected}");
    }
}
