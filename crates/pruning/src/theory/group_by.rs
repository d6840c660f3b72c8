//! GROUP BY MAX or MIN: the pruning of w direct-mapped tables of d (key, value) pairs.
//!
//! The paper gives no theorem. A key that is alone in its cell of one of the w tables is never evicted there, and
//! each of its entries is pruned unless it sets a new maximum. In random order the i-th entry of a key does so with
//! probability 1/i. With K keys, the chance of being alone somewhere is p = 1 - (1 - (1-1/d)^(K-1))^w. Of n entries
//! of a key, at most p·H_n + (1-p)·n are therefore forwarded in expectation, and H_n if the tables have no limit.

use super::tail::harmonic;

/// Returns the chance that one of `keys` (K) keys has a cell of its own in at least one of `tables` (w) of `rows` (d)
/// cells.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::group_by::alone;
/// assert!(alone(1000, 4096, 8) > 0.999_99);
/// assert_eq!(alone(1, 16, 1), 1.0);
/// ```
pub fn alone(keys: u64, rows: u64, tables: u64) -> f64 {
    let free = (keys.saturating_sub(1) as f64 * (-1.0 / rows as f64).ln_1p()).exp();
    1.0 - (1.0 - free).powf(tables as f64)
}

/// Returns a lower bound on the fraction of entries that is pruned, in expectation and in random order, with `keys`
/// equally frequent keys among `entries` entries.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::group_by::{optimal_pruned, pruned_bound};
/// let (bound, optimal) = (pruned_bound(1_000_000, 1000, 4096, 8), optimal_pruned(1_000_000, 1000));
/// assert_eq!(format!("{bound:.4} {optimal:.4}"), "0.9925 0.9925");
/// ```
pub fn pruned_bound(entries: u64, keys: u64, rows: u64, tables: u64) -> f64 {
    alone(keys, rows, tables) * optimal_pruned(entries, keys)
}

/// Returns the fraction of entries that a switch without limits prunes, in expectation and in random order: all but
/// the H_n new maxima of each key.
pub fn optimal_pruned(entries: u64, keys: u64) -> f64 {
    if entries == 0 || keys == 0 {
        return 0.0;
    }
    let each = (entries as f64 / keys as f64).max(1.0);
    1.0 - harmonic(each) / each
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, mix64};

    fn simulate(entries: u64, keys: u64, rows: u64, tables: u64) -> f64 {
        let mut rng = Rng::new(21);
        let seeds: Vec<u64> = (0..tables).map(|_| rng.next_u64()).collect();
        let mut cells = vec![vec![None; rows as usize]; tables as usize];
        let mut pruned = 0;
        for _ in 0..entries {
            let (key, value) = (rng.below(keys), rng.next_u64());
            for (table, seed) in cells.iter_mut().zip(&seeds) {
                let cell = &mut table[(mix64(key ^ seed) % rows) as usize];
                if matches!(cell, Some((kept, max)) if *kept == key && *max > value) {
                    pruned += 1;
                    break;
                }
                *cell = Some((key, value));
            }
        }
        pruned as f64 / entries as f64
    }

    #[test]
    fn bound_is_kept_and_optimum_not_beaten() {
        for (keys, rows, tables) in [(50, 64, 1), (50, 64, 4), (200, 64, 8), (10, 1024, 2)] {
            let measured = simulate(100_000, keys, rows, tables);
            let (bound, optimal) =
                (pruned_bound(100_000, keys, rows, tables), optimal_pruned(100_000, keys));
            assert!(
                bound <= measured + 0.02 && measured <= optimal + 0.002,
                "{bound} {measured} {optimal}"
            );
        }
    }
}
