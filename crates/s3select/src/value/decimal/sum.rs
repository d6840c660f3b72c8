//! Sums of decimals that are rounded only once, at the end.

use super::wide::Wide;
use super::{Decimal, MAX_DIGITS, POWERS};

/// The exact sum of up to 2^64 decimals. It does not depend on their order, nor on how they were distributed among
/// sums that were merged.
#[derive(Debug, Clone, Default)]
pub struct DecimalSum {
    /// The sum of the addends that 38 digits hold exactly, which are nearly always all of them.
    near: Decimal,
    /// The sum of all other addends.
    far: Option<Box<WideSum>>,
}

/// A sum in steps of 10^-38.
#[derive(Debug, Clone, Default)]
struct WideSum {
    positive: Wide,
    negative: Wide,
    /// The largest number of places of an addend.
    scale: u8,
}

/// An unrounded sum: `magnitude · 10^-scale`, or its negative.
struct Total {
    negative: bool,
    magnitude: Wide,
    scale: u8,
}

impl WideSum {
    fn add(&mut self, decimal: Decimal) {
        let steps = decimal.magnitude_at(MAX_DIGITS as u8);
        let side = if decimal.unscaled < 0 { &mut self.negative } else { &mut self.positive };
        *side = side.plus(steps);
        self.scale = self.scale.max(decimal.scale);
    }
}

impl DecimalSum {
    /// Adds a decimal to the sum.
    #[inline]
    pub fn add(&mut self, decimal: Decimal) {
        match self.near.exact_sum(decimal) {
            Some(sum) => self.near = sum,
            None => self.spill(decimal),
        }
    }

    #[cold]
    fn spill(&mut self, decimal: Decimal) {
        self.far.get_or_insert_default().add(self.near);
        self.near = decimal;
    }

    /// Adds all addends of another sum.
    pub fn merge(&mut self, other: &Self) {
        self.add(other.near);
        if let Some(other) = &other.far {
            let far = self.far.get_or_insert_default();
            far.positive = far.positive.plus(other.positive);
            far.negative = far.negative.plus(other.negative);
            far.scale = far.scale.max(other.scale);
        }
    }

    fn exact(&self) -> Total {
        let mut far = self.far.as_deref().cloned().unwrap_or_default();
        far.add(self.near);
        let (mut magnitude, negative) = far.positive.difference(far.negative);
        // No addend has a digit beyond the scale, so all remainders are 0.
        for _ in far.scale..MAX_DIGITS as u8 {
            magnitude = magnitude.divide(10).0;
        }
        Total { negative, magnitude, scale: far.scale }
    }

    /// The sum, with as many places as the addend with the most, but rounded half to even to 38 digits. `None` if it
    /// has more than 38 digits before the point.
    #[must_use]
    pub fn total(&self) -> Option<Decimal> {
        if self.far.is_none() {
            return Some(self.near);
        }
        let Total { negative, magnitude, scale } = self.exact();
        magnitude.round(negative, u32::from(scale), false)
    }

    /// The sum divided by `count`, rounded once, with the places of [`Decimal::checked_div`]. `None` for a count of 0
    /// or a result that does not fit.
    #[must_use]
    pub fn average(&self, count: u64) -> Option<Decimal> {
        let Total { negative, magnitude, scale } = self.exact();
        if count == 0 {
            return None;
        }
        let (quotient, rest) = magnitude.divide(count);
        match quotient.to_digits() {
            Some(quotient) => {
                let (rest, divisor) = (u128::from(rest), u128::from(count));
                Decimal::long_division(negative, quotient, rest, divisor, i32::from(scale))
            }
            None => quotient.round(negative, u32::from(scale), rest != 0),
        }
    }
}

impl Decimal {
    /// The digits of the number without its sign, extended to `scale` places, which must not be fewer than it has.
    pub(super) fn magnitude_at(self, scale: u8) -> Wide {
        let factor = POWERS[usize::from(scale - self.scale)];
        Wide::from(self.unscaled.unsigned_abs()).times(factor.unsigned_abs())
    }
}
