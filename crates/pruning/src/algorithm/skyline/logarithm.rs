//! The scaled logarithm of a 32-bit number, as a switch computes it: a lookup and an addition.

/// The number of bits of the lookup table's index.
pub(super) const INDEX_BITS: u32 = 16;

/// Returns a power of two β such that the logarithms of `dimensions` 32-bit numbers, scaled by β, add up to less than
/// 2³².
#[must_use]
pub const fn scale_for(dimensions: u32) -> u32 {
    let mut scale = 1 << 27;
    while scale > (1 << 27) / dimensions.next_power_of_two() {
        scale /= 2;
    }
    scale
}

/// The function `L(a) = ⌊β·log₂ a⌋` for numbers below 2¹⁶, and `β·s + L(a >> s)` for greater ones, with `s` the shift
/// that leaves 16 bits. `L(0)` is 0, like `L(1)`.
#[derive(Debug, Clone)]
pub struct Logarithm {
    scale: u32,
    table: Vec<u32>,
}

impl Logarithm {
    /// Creates the table for the scale `scale`.
    #[must_use]
    pub fn new(scale: u32) -> Self {
        let table = (0..1_u32 << INDEX_BITS)
            .map(|a| (f64::from(a.max(1)).log2() * f64::from(scale)) as u32);
        Self { scale, table: table.collect() }
    }

    /// Returns the table of the numbers below 2¹⁶.
    #[must_use]
    pub fn table(&self) -> &[u32] {
        &self.table
    }

    /// Returns the scale β.
    #[must_use]
    pub const fn scale(&self) -> u32 {
        self.scale
    }

    /// Returns the scaled logarithm of `a`.
    #[inline]
    #[must_use]
    pub fn eval(&self, a: u32) -> u32 {
        let shift = (u32::BITS - a.leading_zeros()).saturating_sub(INDEX_BITS);
        self.scale * shift + self.table[(a >> shift) as usize & 0xFFFF]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_fit_32_bits() {
        for dimensions in 1..=4 {
            let greatest = u64::from(Logarithm::new(scale_for(dimensions)).eval(u32::MAX));
            assert!(greatest * u64::from(dimensions) < 1 << 32, "{dimensions}");
        }
    }

    proptest! {
        #[test]
        fn monotone_and_close(a: u32, b: u32) {
            let logarithm = Logarithm::new(scale_for(2));
            let (a, b) = (a.min(b).max(1), a.max(b).max(1));
            prop_assert!(logarithm.eval(a) <= logarithm.eval(b));
            let error = f64::from(a).log2() - f64::from(logarithm.eval(a)) / f64::from(logarithm.scale());
            prop_assert!((0.0..4.5e-5).contains(&error), "{error}");
        }
    }
}
