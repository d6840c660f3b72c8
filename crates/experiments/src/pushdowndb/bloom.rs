//! The Bloom filters of §V, which a statement of S3 Select has as a text of zeros and ones.

use std::f64::consts::LN_2;

/// The longest statement of S3 Select.
pub(super) const LONGEST: f64 = 262_144.0;
/// What the authors' code reserves in a statement: 13 hash functions of 92 characters.
const RESERVED: f64 = 13.0 * 92.0;
/// A statement without its filter.
const STATEMENT: f64 = 150.0;

/// Returns the number of hash functions of a filter: log2 1/p.
pub(super) fn hashes(rate: f64) -> f64 {
    (1.0 / rate).log2().ceil()
}

/// Returns the number of bits of a filter: s·|ln p|/ln²2.
pub(super) fn bits(keys: f64, rate: f64) -> f64 {
    keys * -rate.ln() / (LN_2 * LN_2)
}

/// Returns the least false-positive rate of so many keys that fits into a statement, if it is above the wanted one. A
/// rate of 1 stands for no filter.
pub(super) fn affordable(keys: f64, wanted: f64) -> f64 {
    let per_key = (LONGEST - RESERVED - STATEMENT) / keys;
    let slices = (per_key * LN_2).round();
    let least = (1.0 - (-slices / per_key).exp()).powf(slices);
    wanted.max(least)
}

/// A hash function: `((a·x + b) mod n) mod m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash {
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) n: u64,
    pub(super) m: u64,
}

impl Hash {
    /// Returns true if `n` is a prime above `m` and `a` and `b` are below it.
    pub(super) fn is_universal(self) -> bool {
        let is_prime =
            (2..self.n).take_while(|it| it * it <= self.n).all(|it| !self.n.is_multiple_of(it));
        is_prime && self.n > self.m && (1..self.n).contains(&self.a) && self.b < self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_one_percent_has_seven_hashes_and_ten_bits_a_key() {
        assert_eq!(hashes(0.01), 7.0);
        assert_eq!(format!("{:.2}", bits(1.0, 0.01)), "9.59");
    }

    #[test]
    fn a_hash_function_has_a_prime() {
        let hash = Hash { a: 69, b: 92, n: 97, m: 68 };
        assert!(hash.is_universal());
        assert!(!Hash { n: 96, ..hash }.is_universal());
    }
}
