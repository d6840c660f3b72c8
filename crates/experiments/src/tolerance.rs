//! How near to a published number a found one must be.
//!
//! A claim that states a number is compared with it both ways. Models and times of this machine may differ by a quarter,
//! unless the rule of a claim names another share. Numbers that are equal to the printed digits need no tolerance.

/// The greatest relative difference of a model or a time from a published number.
pub(crate) const QUARTER: f64 = 0.25;

/// The least ratio that counts as much: much faster is at least twice as fast.
pub(crate) const MUCH: f64 = 2.0;

/// Returns true if a number differs from another by at most this share of it, both ways.
pub(crate) fn is_within(found: f64, published: f64, share: f64) -> bool {
    (found - published).abs() <= share * published.abs()
}

/// Returns true if a ratio is 1 within a quarter, both ways: times that count as the same.
pub(crate) fn is_same(ratio: f64) -> bool {
    is_within(ratio, 1.0, QUARTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_compared_both_ways() {
        let within = [3.9, 3.95, 5.28, 6.6, 6.61, f64::NAN, f64::INFINITY];
        let found = within.map(|it| is_within(it, 5.28, QUARTER));
        assert_eq!(found, [false, false, true, true, false, false, false]);
        assert!(is_within(-1.1, -1.0, 0.2) && !is_within(1.0, -1.0, 0.2));
        assert_eq!([0.74, 0.76, 1.24, 1.26].map(is_same), [false, true, true, false]);
    }
}
