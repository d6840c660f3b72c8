//! Balls into bins: the number of D distinct values that fall into the fullest of d rows.
//!
//! Cheetah, section 5, theorem 3 and appendix C, theorems 2 and 3. With L = ln(2d/δ), the load of the fullest row is
//! at most M with probability at least 1 - δ/2:
//!
//! | D, distinct values | M |
//! |---|---|
//! | D > d·L | e·D/d |
//! | d·ln(1/δ)/e ≤ D ≤ d·L | e·L |
//! | D below that | 1.3·L / ln((d/(D·e))·L) |
//!
//! The first two lines are Chernoff's bound at e times the mean. All values are numbers of entries.

use std::f64::consts::E;

use super::tail::ln_binomial_tail;

/// Returns M of the table above: a load that no row exceeds with probability at least `1 - delta / 2`.
///
/// `distinct` values D ≥ 1, `rows` d ≥ 1, `delta` δ in (0, 1).
///
/// # Example
/// The three regimes for 1000 rows.
/// ```
/// use sluicegate_pruning::theory::max_load_bound;
/// assert_eq!(max_load_bound(500_000_000, 1000, 1e-4).round(), 1_359_141.0);
/// assert_eq!(max_load_bound(10_000, 1000, 1e-4).round(), 46.0);
/// assert_eq!(max_load_bound(100, 1000, 1e-4).round(), 5.0);
/// ```
pub fn max_load_bound(distinct: u64, rows: u64, delta: f64) -> f64 {
    let (distinct, d) = (distinct as f64, rows as f64);
    let log = (2.0 * d / delta).ln();
    if distinct > d * log {
        E * distinct / d
    } else if distinct >= d * (1.0 / delta).ln() / E {
        E * log
    } else {
        1.3 * log / (d / (distinct * E) * log).ln()
    }
}

/// Returns the smallest load that no row exceeds with probability at least `1 - delta`, by the exact binomial tail of
/// one row and the union bound over rows: the least M with d·P[Bin(D, 1/d) > M] ≤ δ.
///
/// # Example
/// Theorem 1 of section 4 allows for rows of e·D/d = 40.8 values with probability 99 %; 34 are enough.
/// ```
/// use sluicegate_pruning::theory::max_load_exact;
/// assert_eq!(max_load_exact(15_000, 1000, 0.01), 34);
/// ```
pub fn max_load_exact(distinct: u64, rows: u64, delta: f64) -> u64 {
    let (mut low, mut high) = (0, distinct);
    while low < high {
        let middle = low + (high - low) / 2;
        if ln_overload(distinct, rows, middle) <= delta.ln() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Returns ln of (d·P[Bin(D, 1/d) > load]), an upper bound on the probability that some row gets more than `load` of
/// `balls`. It may exceed 0.
///
/// # Example
/// How loose e·D/d is at D = 15 000 and d = 1000: 2e-5 instead of the 1 % the theorem spends on it.
/// ```
/// use sluicegate_pruning::theory::ln_overload;
/// let probability = ln_overload(15_000, 1000, 40).exp();
/// assert!(1.5e-5 < probability && probability < 2.5e-5);
/// ```
pub fn ln_overload(balls: u64, rows: u64, load: u64) -> f64 {
    (rows as f64).ln() + ln_binomial_tail(balls, 1.0 / rows as f64, load)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paper_bound_is_never_below_the_exact_load() {
        for rows in [4, 64, 1000, 4096] {
            for distinct in [1, 10, 100, 1000, 5000, 20_000, 1_000_000] {
                for delta in [0.1, 1e-2, 1e-4, 1e-9] {
                    let paper = max_load_bound(distinct, rows, delta);
                    let exact = max_load_exact(distinct, rows, delta / 2.0);
                    assert!(
                        !paper.is_finite() || paper.floor() >= exact as f64 - 1.0,
                        "D = {distinct}, d = {rows}, delta = {delta}: {paper} < {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn exact_load_is_the_smallest() {
        let (balls, rows, delta) = (15_000, 1000, 0.01_f64);
        let load = max_load_exact(balls, rows, delta);
        assert!(ln_overload(balls, rows, load) <= delta.ln());
        assert!(ln_overload(balls, rows, load - 1) > delta.ln());
    }
}
