//! Tests of a randomized algorithm by its failures over many seeds, at a stated confidence.
//!
//! A claim "fails with probability at most δ" is refuted by k failures in n independent runs if so many are too
//! unlikely under it: P[Bin(n, δ) ≥ k] < 1 - confidence. The same tail, solved for the probability, gives Clopper and
//! Pearson's bound.

use super::tail::ln_binomial_tail;

/// Returns false if `failures` in `trials` refute a failure probability of at most `bound` at this `confidence`. At
/// 0.999, a true claim is refuted once in a thousand tests.
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

/// Returns the largest failure probability that `failures` in `trials` do not refute, by Clopper and Pearson;
/// one-sided.
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

/// Returns the quantile of Student's distribution with `degrees` degrees of freedom, at least 1, that leaves (1 -
/// confidence) / 2 on either side. It is the number of standard errors by which a mean may be off.
///
/// # Example
/// Five runs at 95 %, and so many that the distribution is the normal one.
/// ```
/// use sluicegate_pruning::theory::confidence::student_t;
/// assert_eq!(format!("{:.3}", student_t(0.95, 4)), "2.776");
/// assert_eq!(format!("{:.2}", student_t(0.95, 100_000)), "1.96");
/// ```
pub fn student_t(confidence: f64, degrees: u64) -> f64 {
    // The probability of at most t on either side rises with t.
    let (mut low, mut high) = (0.0, 1.0);
    while student_between(high, degrees) < confidence && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let t = 0.5 * (low + high);
        if student_between(t, degrees) < confidence {
            low = t;
        } else {
            high = t;
        }
    }
    high
}

/// Returns the probability that Student's variable lies between -t and t, by finite sums in the angle whose tangent
/// is t/√ν (Abramowitz and Stegun 26.7.3 and 26.7.4).
fn student_between(t: f64, degrees: u64) -> f64 {
    let degrees = degrees.max(1);
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    // The first term of either sum, then each from the one before.
    let (mut term, mut sum, mut power) = if odd { (cos, cos, 1) } else { (1.0, 1.0, 0) };
    while power + 2 < degrees && term > 0.0 {
        let k = (power + 1) as f64;
        term *= k / (k + 1.0) * cos * cos;
        sum += term;
        power += 2;
    }
    match (odd, degrees) {
        (true, 1) => angle * std::f64::consts::FRAC_2_PI,
        (true, _) => (angle + sin * sum) * std::f64::consts::FRAC_2_PI,
        (false, _) => sin * sum,
    }
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

    /// The values are those of the usual printed table.
    #[test]
    fn quantiles_of_student() {
        for (confidence, degrees, expected) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.95, 4, 2.776),
            (0.95, 9, 2.262),
            (0.95, 30, 2.042),
            (0.95, 120, 1.980),
            (0.99, 1, 63.657),
            (0.99, 10, 3.169),
            (0.99, 1000, 2.581),
            (0.5, 5, 0.727),
        ] {
            let found = student_t(confidence, degrees);
            assert!((found - expected).abs() < 6e-4, "{confidence} {degrees}: {found}");
        }
    }
}
