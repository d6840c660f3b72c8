//! Binomial and Poisson probabilities and tails, in logarithms, without cancellation.
//!
//! Point probabilities follow Loader ("Fast and accurate computation of binomial probabilities", 2000): the deviance
//! is computed apart from the Stirling error, so that no two large numbers are subtracted. Tails are summed on their
//! short side, term by term from the largest, relative to that term. A tail of 1e-300 is as accurate as one of 0.1.

use std::f64::consts::PI;

/// Returns ln of P\[X = k\], exactly `k` hits, for X ~ Bin(`n`, `p`): `n` trials of probability `p` in `[0, 1]`.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::ln_binomial;
/// assert!((ln_binomial(4, 0.5, 2).exp() - 6.0 / 16.0).abs() < 1e-15);
/// ```
pub fn ln_binomial(n: u64, p: f64, k: u64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    if p <= 0.0 {
        return if k == 0 { 0.0 } else { f64::NEG_INFINITY };
    }
    if p >= 1.0 {
        return if k == n { 0.0 } else { f64::NEG_INFINITY };
    }
    let trials = n as f64;
    if k == 0 {
        return trials * (-p).ln_1p();
    }
    if k == n {
        return trials * p.ln();
    }
    let (hits, misses) = (k as f64, (n - k) as f64);
    stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(hits, trials * p)
        - deviance(misses, trials * (1.0 - p))
        + 0.5 * (trials / (2.0 * PI * hits * misses)).ln()
}

/// Returns ln of P\[X > k\], more than `k` hits, for X ~ Bin(`n`, `p`).
///
/// # Example
/// The chance of more than 8 sixes in 10 throws: 51 / 6^10.
/// ```
/// use sluicegate_pruning::theory::ln_binomial_tail;
/// assert!((ln_binomial_tail(10, 1.0 / 6.0, 8) - (51.0 / 6f64.powi(10)).ln()).abs() < 1e-13);
/// ```
pub fn ln_binomial_tail(n: u64, p: f64, k: u64) -> f64 {
    if k >= n || p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return 0.0;
    }
    let odds = p / (1.0 - p);
    let up = |k: u64| (n - k) as f64 / (k + 1) as f64 * odds;
    if (k + 1) as f64 > n as f64 * p {
        ln_binomial(n, p, k + 1) + ln_series(k + 1, |k| (k < n).then(|| (up(k), k + 1)))
    } else {
        let below =
            ln_binomial(n, p, k) + ln_series(k, |k| (k > 0).then(|| (1.0 / up(k - 1), k - 1)));
        ln_one_minus_exp(below.min(0.0))
    }
}

/// Returns P\[X = k\] for X ~ Poisson(`mean`), `mean >= 0`.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::poisson;
/// assert!((poisson(2.0, 3) - 8.0 / 6.0 * (-2f64).exp()).abs() < 1e-15);
/// ```
pub fn poisson(mean: f64, k: u64) -> f64 {
    if mean <= 0.0 {
        return if k == 0 { 1.0 } else { 0.0 };
    }
    if k == 0 {
        return (-mean).exp();
    }
    let count = k as f64;
    (-stirling_error(k) - deviance(count, mean)).exp() / (2.0 * PI * count).sqrt()
}

/// Returns the mean of `f(X)` over X ~ Poisson(`mean`), summed outward from the mode until terms no longer count. `f`
/// must stay within `[0, 1]`.
pub fn poisson_mean(mean: f64, f: impl Fn(u64) -> f64) -> f64 {
    let mode = mean.max(0.0) as u64;
    let mut sum = 0.0;
    for k in (0..=mode).rev() {
        let weight = poisson(mean, k);
        sum += weight * f(k);
        if weight < 1e-18 {
            break;
        }
    }
    for k in mode + 1.. {
        let weight = poisson(mean, k);
        sum += weight * f(k);
        if weight < 1e-18 {
            break;
        }
    }
    sum
}

/// Returns the `n`-th harmonic number 1 + 1/2 + … + 1/n; also for a fractional `n >= 0` (expected loads).
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::harmonic;
/// assert!((harmonic(4.0) - 25.0 / 12.0).abs() < 1e-13);
/// ```
pub fn harmonic(n: f64) -> f64 {
    const EULER_MASCHERONI: f64 = 0.577_215_664_901_532_9;
    let (mut n, mut correction) = (n.max(0.0), 0.0);
    while n < 16.0 {
        n += 1.0;
        correction += 1.0 / n;
    }
    let square = 1.0 / (n * n);
    n.ln() + EULER_MASCHERONI + 0.5 / n
        - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0)))
        - correction
}

/// Returns ln(1 + r1 + r1·r2 + …), where `next(k)` returns the next ratio and index, until terms no longer count.
fn ln_series(start: u64, next: impl Fn(u64) -> Option<(f64, u64)>) -> f64 {
    let (mut sum, mut term, mut k) = (1.0, 1.0, start);
    while let Some((ratio, following)) = next(k) {
        term *= ratio;
        sum += term;
        k = following;
        if ratio < 1.0 && term * ratio / (1.0 - ratio) < sum * 1e-17 {
            break;
        }
    }
    f64::ln(sum)
}

/// Returns ln(1 - e^x) for x <= 0, accurate at both ends.
fn ln_one_minus_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// Returns ln n! minus Stirling's formula.
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n == 0 {
        return 0.0;
    }
    if n <= 15 {
        let factorial: f64 = (1..=n).map(|k| k as f64).product();
        return factorial.ln() - (0.5 * (2.0 * PI * x).ln() + x * x.ln() - x);
    }
    let square = 1.0 / (x * x);
    (1.0 / 12.0
        - square
            * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))))
        / x
}

/// Returns x·ln(x/mean) + mean - x, without cancellation if x is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() + mean - x;
    }
    let ratio = difference / (x + mean);
    let mut sum = difference * ratio;
    let mut power = 2.0 * x * ratio;
    for j in 1..1000 {
        power *= ratio * ratio;
        let next = sum + power / (2 * j + 1) as f64;
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tail by exact integer arithmetic: sum of C(n, j)·a^j·b^(n-j) over j > k, divided by (a + b)^n.
    fn exact_tail(n: u32, a: u128, b: u128, k: u32) -> f64 {
        let mut sum = 0u128;
        for j in k + 1..=n {
            let mut choose = 1u128;
            for i in 0..j as u128 {
                choose = choose * (n as u128 - i) / (i + 1);
            }
            sum += choose * a.pow(j) * b.pow(n - j);
        }
        sum as f64 / (a + b).pow(n) as f64
    }

    #[test]
    fn tails_agree_with_integer_arithmetic() {
        for n in [1u32, 2, 5, 20, 40] {
            for (a, b) in [(1u128, 1u128), (1, 2), (2, 1), (1, 6)] {
                for k in 0..n {
                    let exact = exact_tail(n, a, b, k).ln();
                    let found = ln_binomial_tail(n.into(), a as f64 / (a + b) as f64, k.into());
                    assert!(
                        (found - exact).abs() < 1e-12 * (1.0 + exact.abs()),
                        "{n} {a} {b} {k}: {found} {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn tails_hold_where_plain_sums_underflow() {
        // One term decides: P[Bin(n, p) > n - 1] = p^n.
        let found = ln_binomial_tail(5000, 1e-3, 4999);
        assert!((found - 5000.0 * 1e-3f64.ln()).abs() < 1e-8, "{found}");
        // And a tail next to one: P[X > 0] = 1 - (1 - p)^n.
        let found = ln_binomial_tail(1_000_000_000, 1e-9, 0);
        assert!((found - (1.0 - (-1.0f64).exp()).ln()).abs() < 1e-9, "{found}");
        // Half of a large symmetric binomial lies above its middle.
        let half = ln_binomial_tail(1_000_001, 0.5, 500_000);
        assert!((half - 0.5f64.ln()).abs() < 1e-10, "{half}");
    }

    #[test]
    fn tails_fall_with_k() {
        let mut last = 0.0;
        for k in 0..300 {
            let tail = ln_binomial_tail(300, 0.3, k);
            assert!(tail <= last + 1e-15, "k = {k}");
            last = tail;
        }
        assert_eq!(ln_binomial_tail(3, 0.5, 3), f64::NEG_INFINITY);
        assert_eq!(ln_binomial_tail(3, 1.0, 2), 0.0);
        assert_eq!(ln_binomial_tail(3, 0.0, 0), f64::NEG_INFINITY);
    }

    #[test]
    fn poisson_weights_sum_to_one() {
        for mean in [0.0, 0.01, 1.0, 17.5, 900.0, 1e5] {
            let sum = poisson_mean(mean, |_| 1.0);
            assert!((sum - 1.0).abs() < 1e-12, "{mean}: {sum}");
        }
    }

    #[test]
    fn harmonic_numbers_agree_with_their_sum() {
        let mut sum = 0.0;
        for n in 1..=1000 {
            sum += 1.0 / n as f64;
            assert!((harmonic(n as f64) - sum).abs() < 1e-12, "{n}");
        }
        assert!(harmonic(0.0).abs() < 1e-12);
    }
}
