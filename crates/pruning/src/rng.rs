//! The one source of random choices in this crate: SplitMix64, seeded, with the same output on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014) adds a Weyl
//! constant to a 64-bit counter and mixes it. It has period 2^64, passes the usual statistical test batteries, and
//! every seed is equally good. It is not cryptographic.

/// The Weyl increment: 2^64 divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes 64 bits so that every input bit flips every output bit with probability about one half; a
/// bijection.
///
/// # Example
/// ```
/// assert_eq!(sluicegate_pruning::rng::mix64(0x9e37_79b9_7f4a_7c15), 0xe220_a839_7b1d_cdaf);
/// ```
pub const fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A seeded stream of pseudo-random numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Starts the stream of this seed.
    ///
    /// # Example
    /// The first numbers of seed 0, as published with the algorithm.
    /// ```
    /// let mut rng = sluicegate_pruning::rng::Rng::new(0);
    /// assert_eq!(rng.next_u64(), 0xe220_a839_7b1d_cdaf);
    /// assert_eq!(rng.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    /// ```
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next number, uniform over all of `u64`.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix64(self.state)
    }

    /// Returns the next number in `0..bound`, exactly uniform (Lemire's multiply and reject), or 0 if `bound` is 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = self.next_u64() as u128 * bound as u128;
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns the next number in `[0, 1)`, a multiple of 2^-53.
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns true with probability `p`: never if `p <= 0`, always if `p >= 1`.
    pub const fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Puts the items in a uniformly random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }

    /// Returns a new stream that does not overlap this one in practice.
    pub const fn split(&mut self) -> Self {
        Self::new(mix64(self.next_u64() ^ GOLDEN_GAMMA))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut rng = Rng::new(7);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        // Five standard deviations of Bin(60 000, 1/6) are 456.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 456), "{counts:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn chance_keeps_its_ends() {
        let mut rng = Rng::new(7);
        assert!((0..1000).all(|_| !rng.chance(0.0) && rng.chance(1.0)));
    }

    #[test]
    fn shuffle_reaches_every_order_of_three() {
        let mut rng = Rng::new(1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut items = [1, 2, 3];
            rng.shuffle(&mut items);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 6);
    }
}
