//! Unsigned integers of 384 bits, for the intermediate results of decimal arithmetic before rounding.
//!
//! In steps of 10^-38, decimals are below 10^76. A product of two is below 10^76 as well, and a sum of 2^64 of them
//! is below 2^317, so nothing here overflows.

use std::cmp::Ordering;

use super::{Decimal, MAX_DIGITS, POWERS};

const LIMBS: usize = 6;

/// An unsigned integer; the least significant limb comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Wide([u64; LIMBS]);

impl From<u128> for Wide {
    fn from(number: u128) -> Self {
        let mut limbs = [0; LIMBS];
        (limbs[0], limbs[1]) = (number as u64, (number >> 64) as u64);
        Self(limbs)
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Wide {
    pub(super) fn plus(mut self, other: Self) -> Self {
        let mut carry = 0;
        for (a, b) in self.0.iter_mut().zip(other.0) {
            let sum = u128::from(*a) + u128::from(b) + carry;
            (*a, carry) = (sum as u64, sum >> 64);
        }
        self
    }

    /// The absolute difference from `other`, and whether `other` is larger.
    pub(super) fn difference(self, other: Self) -> (Self, bool) {
        let less = self < other;
        let (mut larger, smaller) = if less { (other, self) } else { (self, other) };
        let mut borrow = false;
        for (a, b) in larger.0.iter_mut().zip(smaller.0) {
            let (difference, first) = a.overflowing_sub(b);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            (*a, borrow) = (difference, first || second);
        }
        (larger, less)
    }

    pub(super) fn times(self, factor: u128) -> Self {
        let low = self.times_limb(factor as u64);
        let mut high = self.times_limb((factor >> 64) as u64);
        high.0.rotate_right(1);
        high.0[0] = 0;
        low.plus(high)
    }

    fn times_limb(mut self, factor: u64) -> Self {
        let mut carry = 0;
        for limb in &mut self.0 {
            let product = u128::from(*limb) * u128::from(factor) + carry;
            (*limb, carry) = (product as u64, product >> 64);
        }
        self
    }

    /// The quotient and the remainder; the divisor must not be 0.
    pub(super) fn divide(mut self, divisor: u64) -> (Self, u64) {
        let mut rest = 0;
        for limb in self.0.iter_mut().rev() {
            let dividend = u128::from(rest) << 64 | u128::from(*limb);
            *limb = (dividend / u128::from(divisor)) as u64;
            rest = (dividend % u128::from(divisor)) as u64;
        }
        (self, rest)
    }

    /// The number as digits of a decimal, if it fits.
    pub(super) fn to_digits(self) -> Option<u128> {
        let [low, high, rest @ ..] = self.0;
        let digits = u128::from(high) << 64 | u128::from(low);
        (rest == [0; LIMBS - 2] && digits < POWERS[38].unsigned_abs()).then_some(digits)
    }

    fn count_digits(mut self) -> u32 {
        let mut count = 0;
        while self.0[1..] != [0; LIMBS - 1] {
            self = self.divide(10_u64.pow(19)).0;
            count += 19;
        }
        count + self.0[0].checked_ilog10().map_or(0, |log| log + 1)
    }

    /// The number without its last `count` digits, the first of the dropped digits, and whether any digit after that
    /// is not zero.
    fn drop_digits(mut self, count: u32) -> (Self, u64, bool) {
        let Some(mut left) = count.checked_sub(1) else { return (self, 0, false) };
        let mut any = false;
        while left > 0 {
            let step = left.min(19);
            let (quotient, rest) = self.divide(10_u64.pow(step));
            self = quotient;
            any |= rest != 0;
            left -= step;
        }
        let (quotient, digit) = self.divide(10);
        (quotient, digit, any)
    }

    /// The decimal `self · 10^-scale`, or its negative, rounded half to even to 38 digits and 38 places; `None` if it
    /// has more than 38 digits before the point.
    ///
    /// `more` is true if the exact number is slightly farther from zero, which is allowed only if it is rounded.
    pub(super) fn round(self, negative: bool, scale: u32, more: bool) -> Option<Decimal> {
        let excess = self.count_digits().max(scale).saturating_sub(MAX_DIGITS);
        let mut scale = scale.checked_sub(excess)?;
        let (kept, first, rest) = self.drop_digits(excess);
        let mut digits = kept.to_digits()?;
        if first > 5 || first == 5 && (rest || more || digits % 2 == 1) {
            digits += 1;
        }
        if digits == POWERS[38].unsigned_abs() {
            digits /= 10;
            scale = scale.checked_sub(1)?;
        }
        Decimal::signed(negative, digits, scale)
    }
}
