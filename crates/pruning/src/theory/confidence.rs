//! Judging a randomized algorithm by its failures over many seeds, at a stated confidence.
//!
//! A claim "fails with probability at most δ" is refuted by k failures in n independent runs when
//! so many are too unlikely under it: P[Bin(n, δ) ≥ k] < 1 - confidence. The same tail turned
//! around gives Clopper and Pearson's bound.

use super::tail::ln_binomial_tail;

/// False when `failures` in `trials` refute a failure probability of at most `bound` at this
/// `confidence` (such as 0.999: a true claim is then refuted once in a thousand tests).
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::confidence::is_consistent;
/// assert!(is_consistent(0, 10_000, 1e-4, 0.999));
/// assert!(is_consistent(5, 10_000, 1e-4, 0.999));
/// assert!(!is_consistent(7, 10_000, 1e-4, 0.999));
/// ```
pub fn is_consistent(failures: u64, trials: u64, bound: f64, confidence: f64) -> bool {
    failures == 0 || ln_binomial_tail(trials, bound, failures - 1).exp() >= 1.0 - confidence
}

/// The largest failure probability that `failures` in `trials` do not refute, by Clopper and
/// Pearson; one-sided.
///
/// # Example
/// No failure in 3000 runs leaves about 0.1 % open at 95 %: the rule of three.
/// ```
/// use sluicegate_pruning::theory::confidence::upper_bound;
/// assert!((upper_bound(0, 3000, 0.95) - 0.000_998).abs() < 1e-6);
/// ```
pub fn upper_bound(failures: u64, trials: u64, confidence: f64) -> f64 {
    if failures >= trials {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let p = 0.5 * (low + high);
        // P[Bin(n, p) > k] falls short of the confidence: p is still possible.
        if ln_binomial_tail(trials, p, failures).exp() < confidence {
            low = p;
        } else {
            high = p;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_and_test_agree() {
        for (failures, trials) in [(0, 100), (3, 100), (50, 100), (7, 100_000)] {
            let bound = upper_bound(failures, trials, 0.99);
            assert!(bound > failures as f64 / trials as f64);
            assert!((ln_binomial_tail(trials, bound, failures).exp() - 0.99).abs() < 1e-9);
        }
        assert_eq!(upper_bound(10, 10, 0.99), 1.0);
    }
}
