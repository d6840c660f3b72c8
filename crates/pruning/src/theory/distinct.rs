//! DISTINCT: the pruning of a d × w cache, and the length of its fingerprints.
//!
//! * **Pruning** (section 4.2 theorem 1, appendix C theorem 6). In a random-order stream of D >
//!   d·ln(200·d) distinct values, at least 0.99·min(w·d/(D·e), 1) of the duplicates are pruned in
//!   expectation.
//! * **Fingerprints by entries** (appendix C theorem 1). m entries and w columns need ⌈log2(w·m/δ)⌉
//!   bits.
//! * **Fingerprints by distinct values** (section 5 theorem 3, appendix C theorems 2 and 3). D
//!   distinct values in d rows need ⌈log2(d·M²/δ)⌉ bits, where M is the load bound of [`max_load_bound`],
//!   for any number of entries and columns.
//!
//! Two functions go beyond the paper: [`expected_hit_ratio`] is the expectation that theorem 1 bounds, and
//! [`fingerprint_bits`] needs about log2(2e²) = 3.9 bits fewer than theorem 3, with a shorter proof.

use std::f64::consts::E;

use super::loads::max_load_bound;
use super::tail::poisson;

/// Returns the smallest number of distinct values to which [`pruned_duplicates_bound`] applies: d·ln(200·d),
/// exclusive.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::distinct;
/// assert_eq!(distinct::heavy_load(1000).floor(), 12_206.0);
/// ```
pub fn heavy_load(rows: u64) -> f64 {
    rows as f64 * (200.0 * rows as f64).ln()
}

/// Returns theorem 1's lower bound on the expected fraction of duplicates that are pruned, on a stream in random
/// order with `distinct` values, `rows` d and `columns` w. `None` if there are too few distinct values for the
/// theorem.
///
/// # Example
/// 15 000 distinct values, 1000 rows, 24 columns: 58 %.
/// ```
/// use sluicegate_pruning::theory::distinct;
/// let bound = distinct::pruned_duplicates_bound(15_000, 1000, 24).unwrap();
/// assert_eq!(format!("{bound:.4}"), "0.5827");
/// assert_eq!(distinct::pruned_duplicates_bound(12_206, 1000, 24), None);
/// ```
pub fn pruned_duplicates_bound(distinct: u64, rows: u64, columns: u64) -> Option<f64> {
    let cells = columns as f64 * rows as f64;
    (distinct as f64 > heavy_load(rows)).then(|| 0.99 * (cells / (distinct as f64 * E)).min(1.0))
}

/// Returns the fraction of duplicates that are pruned in expectation when all `distinct` values are equally frequent
/// and in random order: the mean of min(w/L, 1) over the load L of a value's row, L - 1 ~ Poisson((D-1)/d).
///
/// In steady state a row of L equally likely values and w cells holds any w of them with equal chance, whether it
/// evicts by LRU or FIFO. Skew only helps. Any number of distinct values.
///
/// # Example
/// Where theorem 1 promises 58 %, 99.8 % are to be expected.
/// ```
/// use sluicegate_pruning::theory::distinct;
/// let expected = distinct::expected_hit_ratio(15_000, 1000, 24);
/// assert!((expected - 0.998).abs() < 0.001, "{expected}");
/// ```
pub fn expected_hit_ratio(distinct: u64, rows: u64, columns: u64) -> f64 {
    let others = distinct.saturating_sub(1) as f64 / rows.max(1) as f64;
    if others == 0.0 {
        return if columns == 0 { 0.0 } else { 1.0 };
    }
    // E[1 / (1 + X)] = (1 - e^-mean) / mean for X ~ Poisson(mean); loads below w are cut to 1.
    let uncut = columns as f64 * -(-others).exp_m1() / others;
    let excess = |load: u64| poisson(others, load) * (columns as f64 / (load + 1) as f64 - 1.0);
    (uncut - (0..columns.saturating_sub(1)).map(excess).sum::<f64>()).clamp(0.0, 1.0)
}

/// Returns the fraction of `entries` that a switch without limits prunes: all but the first of each of `distinct`
/// values.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::distinct;
/// assert_eq!(distinct::optimal_pruned(1000, 10), 0.99);
/// ```
pub fn optimal_pruned(entries: u64, distinct: u64) -> f64 {
    if entries == 0 { 0.0 } else { 1.0 - distinct.min(entries) as f64 / entries as f64 }
}

/// Returns the fingerprint bits of appendix C theorem 1: with probability at least `1 - delta`, none of `entries` (m)
/// is taken for another value in a row of `columns` (w).
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::distinct;
/// assert_eq!(distinct::fingerprint_bits_by_entries(1_000_000_000, 24, 1e-4), 48);
/// ```
pub fn fingerprint_bits_by_entries(entries: u64, columns: u64, delta: f64) -> u32 {
    (columns as f64 * entries as f64 / delta).log2().ceil().max(1.0) as u32
}

/// Returns the fingerprint bits of section 5 theorem 3, before rounding up: log2(d·M²/δ).
///
/// # Example
/// 500 million distinct values with 1000 rows and δ = 0.01 % need 64 bits, rounded; 499 649 410 need no more.
/// ```
/// use sluicegate_pruning::theory::distinct;
/// let bits = |distinct| distinct::fingerprint_bits_real(distinct, 1000, 1e-4);
/// assert_eq!(format!("{:.4}", bits(499_649_410)), "64.0000");
/// assert!(bits(499_649_410) <= 64.0 && bits(499_649_411) > 64.0);
/// assert_eq!(format!("{:.3}", bits(500_000_000)), "64.002");
/// ```
pub fn fingerprint_bits_real(distinct: u64, rows: u64, delta: f64) -> f64 {
    let load = max_load_bound(distinct, rows, delta);
    (rows as f64 * load * load / delta).log2()
}

/// Returns the fingerprint bits of section 5 theorem 3: `distinct` values in `rows` are distinguished with
/// probability at least `1 - delta`, for any number of entries.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::distinct;
/// assert_eq!(distinct::fingerprint_bits_by_distinct(499_649_410, 1000, 1e-4), 64);
/// assert_eq!(distinct::fingerprint_bits_by_distinct(500_000_000, 1000, 1e-4), 65);
/// ```
pub fn fingerprint_bits_by_distinct(distinct: u64, rows: u64, delta: f64) -> u32 {
    fingerprint_bits_real(distinct, rows, delta).ceil().max(1.0) as u32
}

/// Returns the greatest number of distinct values that fingerprints of `bits` distinguish by theorem 3.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::distinct;
/// assert_eq!(distinct::max_distinct(64, 1000, 1e-4), 499_649_410);
/// ```
pub fn max_distinct(bits: u32, rows: u64, delta: f64) -> u64 {
    largest(|distinct| fingerprint_bits_real(distinct, rows, delta) <= f64::from(bits))
}

/// Returns the fingerprint bits that distinguish `distinct` values in `rows` with probability at least `1 - delta`,
/// from pairs instead of loads: ⌈log2(C(D,2)/(d·δ))⌉.
///
/// Two values collide only if they share a row (probability 1/d) and a fingerprint (2^-f); the union bound over the
/// C(D,2) pairs gives C(D,2)/(d·2^f) ≤ δ. No load bound is needed.
///
/// # Example
/// This takes 61 bits where theorem 3 requires 64, and 64 bits suffice for a billion more distinct values.
/// ```
/// use sluicegate_pruning::theory::distinct;
/// assert_eq!(distinct::fingerprint_bits(499_649_410, 1000, 1e-4), 61);
/// assert_eq!(distinct::fingerprint_bits(1_900_000_000, 1000, 1e-4), 64);
/// ```
pub fn fingerprint_bits(distinct: u64, rows: u64, delta: f64) -> u32 {
    let pairs = distinct as f64 * (distinct as f64 - 1.0) / 2.0;
    (pairs / (rows as f64 * delta)).log2().ceil().max(1.0) as u32
}

/// Returns an upper bound on the probability that fingerprints of `bits` confuse two of `distinct` values of the same
/// row.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::distinct;
/// assert!(distinct::confusion(499_649_410, 1000, 61) <= 1e-4);
/// assert!(distinct::confusion(499_649_410, 1000, 60) > 1e-4);
/// ```
pub fn confusion(distinct: u64, rows: u64, bits: u32) -> f64 {
    let pairs = distinct as f64 * (distinct as f64 - 1.0) / 2.0;
    (pairs / rows as f64 * (-f64::from(bits)).exp2()).min(1.0)
}

/// Returns the fingerprint bits if all values had to differ in every row: log2(D²/δ), before rounding up. Rows save
/// about log2 d of them.
///
/// # Example
/// 1000 rows save some 10 bits, less the price of theorem 3's load bound, log2 e² = 2.9 bits.
/// ```
/// use sluicegate_pruning::theory::distinct;
/// let all = distinct::fingerprint_bits_all_distinct(499_649_410, 1e-4);
/// let rows = distinct::fingerprint_bits_real(499_649_410, 1000, 1e-4);
/// assert_eq!(format!("{:.2}", all - rows), "7.08");
/// assert_eq!(format!("{:.2}", all - rows + std::f64::consts::E.powi(2).log2()), "9.97");
/// ```
pub fn fingerprint_bits_all_distinct(distinct: u64, delta: f64) -> f64 {
    2.0 * (distinct as f64).log2() - delta.log2()
}

/// Returns the largest number for which a property holds that, once lost, stays lost; 0 if it never holds.
fn largest(holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, u64::MAX >> 8);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::theory::confidence::is_consistent;

    /// Returns the share of duplicates that an LRU or FIFO cache of `rows` × `columns` hits, on uniform values.
    fn simulate(distinct: u64, rows: u64, columns: usize, entries: u64, lru: bool) -> f64 {
        let mut rng = Rng::new(11);
        let placement = Rng::new(12).next_u64();
        let mut matrix = vec![Vec::new(); rows as usize];
        let mut seen = vec![false; distinct as usize];
        let (mut duplicates, mut hits) = (0u64, 0u64);
        for _ in 0..entries {
            let value = rng.below(distinct);
            let row = &mut matrix[(crate::rng::mix64(value ^ placement) % rows) as usize];
            let found = row.iter().position(|&cached| cached == value);
            duplicates += u64::from(seen[value as usize]);
            hits += u64::from(found.is_some());
            seen[value as usize] = true;
            match found {
                Some(position) if lru => {
                    row.remove(position);
                    row.insert(0, value);
                }
                Some(_) => {}
                None => {
                    row.insert(0, value);
                    row.truncate(columns);
                }
            }
        }
        hits as f64 / duplicates as f64
    }

    #[test]
    fn expectation_is_met_and_bound_is_kept() {
        for lru in [true, false] {
            for (distinct, rows, columns) in [(1500, 100, 24), (1500, 100, 8), (400, 100, 2)] {
                let measured = simulate(distinct, rows, columns, 150_000, lru);
                let expected = expected_hit_ratio(distinct, rows, columns as u64);
                assert!(
                    (measured - expected).abs() < 0.03,
                    "{distinct} {rows} {columns}: {measured} {expected}"
                );
                if let Some(bound) = pruned_duplicates_bound(distinct, rows, columns as u64) {
                    assert!(
                        measured >= bound && expected >= bound,
                        "{measured} {expected} {bound}"
                    );
                }
            }
        }
    }

    #[test]
    fn closed_form_of_the_expectation_is_the_sum() {
        for (distinct, rows, columns) in
            [(1, 10, 1), (5, 10, 2), (15_000, 1000, 24), (90_000, 100, 50)]
        {
            let others = (distinct - 1) as f64 / rows as f64;
            let share = |load: u64| (columns as f64 / (load + 1) as f64).min(1.0);
            let sum = crate::theory::poisson_mean(others, share);
            let closed = expected_hit_ratio(distinct, rows, columns);
            assert!((closed - sum).abs() < 1e-11, "{distinct} {rows} {columns}: {closed} {sum}");
        }
    }

    #[test]
    fn pairs_never_need_more_bits_than_loads() {
        for rows in [1, 64, 1000, 4096, 65_536] {
            for distinct in [100, 10_000, 1_000_000, 500_000_000] {
                for delta in [0.1, 1e-4, 1e-9] {
                    let (pairs, loads) = (
                        fingerprint_bits(distinct, rows, delta),
                        fingerprint_bits_real(distinct, rows, delta),
                    );
                    assert!(
                        !loads.is_finite() || f64::from(pairs) <= loads.ceil(),
                        "{rows} {distinct} {delta}"
                    );
                    assert!(confusion(distinct, rows, pairs) <= delta * (1.0 + 1e-9));
                }
            }
        }
    }

    #[test]
    fn confusions_happen_as_often_as_the_pairs_say() {
        // 8-bit fingerprints, 16 rows, 24 values: 276 pairs / (16 * 256) = 6.7 %.
        let (distinct, rows, bits, trials) = (24u64, 16, 8, 20_000);
        let mut rng = Rng::new(3);
        let mut confused = 0;
        for _ in 0..trials {
            let mut seen = std::collections::BTreeSet::new();
            let distinct_cells =
                (0..distinct).all(|_| seen.insert((rng.below(rows), rng.below(1 << bits))));
            confused += u64::from(!distinct_cells);
        }
        let bound = confusion(distinct, rows, bits);
        assert!(is_consistent(confused, trials, bound, 0.999), "{confused} {bound}");
        assert!(confused as f64 > 0.9 * bound * trials as f64, "{confused} {bound}");
    }
}
