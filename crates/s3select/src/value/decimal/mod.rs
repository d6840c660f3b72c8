//! Decimal numbers with up to 38 digits.

mod exact;
mod parse;
mod sum;
mod wide;

use std::cmp::Ordering;
use std::fmt;

use super::digits::write_fixed;

pub(super) use self::parse::split_sign;
pub use self::sum::DecimalSum;
use self::wide::Wide;

/// The largest number of digits of a decimal.
pub const MAX_DIGITS: u32 = 38;

/// The powers 10^0 … 10^38.
const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// An exact decimal number `unscaled · 10^-scale`: `12.50` has the unscaled value 1250 and the scale 2.
///
/// Exact operations keep the scale, and it is printed: `12.50` and `12.5` compare equal but print differently. A
/// result of more than 38 digits or more than 38 places is rounded half to even. A result with more than 38 digits
/// before the point has no decimal. `==` compares the representation; use [`Decimal::compare`] for the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Decimal {
    // Invariants: |unscaled| < 10^38, scale ≤ 38.
    unscaled: i128,
    scale: u8,
}

impl Decimal {
    /// Zero, without digits after the point.
    pub const ZERO: Self = Self { unscaled: 0, scale: 0 };

    /// The number `unscaled · 10^-scale`; `None` beyond 38 digits or 38 places. A negative scale means zeros before
    /// the point.
    #[must_use]
    #[inline]
    pub fn new(unscaled: i128, scale: i8) -> Option<Self> {
        if scale >= 0 {
            return Self::checked(unscaled, u32::from(scale.unsigned_abs()));
        }
        let factor = POWERS.get(usize::from(scale.unsigned_abs()))?;
        Self::checked(unscaled.checked_mul(*factor)?, 0)
    }

    #[inline]
    fn checked(unscaled: i128, scale: u32) -> Option<Self> {
        let fits = unscaled.unsigned_abs() < POWERS[38].unsigned_abs() && scale <= MAX_DIGITS;
        fits.then_some(Self { unscaled, scale: scale as u8 })
    }

    /// The digits, without the point.
    #[must_use]
    #[inline]
    pub fn unscaled(self) -> i128 {
        self.unscaled
    }

    /// The number of digits after the point, 0 to 38.
    #[must_use]
    #[inline]
    pub fn scale(self) -> i8 {
        self.scale as i8
    }

    /// Builds a number from its parts; `None` if it does not fit.
    fn signed(negative: bool, digits: u128, scale: u32) -> Option<Self> {
        let digits = i128::try_from(digits).ok()?;
        Self::checked(if negative { -digits } else { digits }, scale)
    }

    /// The sum, rounded half to even to 38 digits; `None` if it has more than 38 before the point.
    #[must_use]
    #[inline]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.exact_sum(other).or_else(|| self.rounded_sum(other))
    }

    /// The difference, rounded like a sum; `None` if it does not fit.
    #[must_use]
    #[inline]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(other.negate())
    }

    /// The sum, if it has at most 38 digits.
    #[inline]
    fn exact_sum(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.align(other)?;
        Self::checked(a.checked_add(b)?, scale)
    }

    #[cold]
    fn rounded_sum(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.magnitude_at(scale), other.magnitude_at(scale));
        let negative = self.unscaled < 0;
        let (magnitude, turned) =
            if negative == (other.unscaled < 0) { (a.plus(b), false) } else { a.difference(b) };
        magnitude.round(negative != turned, u32::from(scale), false)
    }

    /// The product, whose scale is the sum of the scales, but rounded half to even to 38 digits and
    /// 38 places; `None` if it has more than 38 digits before the point.
    #[must_use]
    #[inline]
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        let scale = u32::from(self.scale) + u32::from(other.scale);
        let exact = self.unscaled.checked_mul(other.unscaled);
        exact
            .and_then(|product| Self::checked(product, scale))
            .or_else(|| self.rounded_product(other))
    }

    #[cold]
    fn rounded_product(self, other: Self) -> Option<Self> {
        let negative = (self.unscaled < 0) != (other.unscaled < 0);
        let product = Wide::from(self.unscaled.unsigned_abs()).times(other.unscaled.unsigned_abs());
        product.round(negative, u32::from(self.scale) + u32::from(other.scale), false)
    }

    /// The quotient: exact with the fewest places (but no fewer than the difference of the scales)
    /// if it has at most 38 digits, else rounded half to even at 38 digits. `None` for division by
    /// zero or a result that does not fit.
    #[must_use]
    pub fn checked_div(self, other: Self) -> Option<Self> {
        if other.unscaled == 0 {
            return None;
        }
        let negative = (self.unscaled < 0) != (other.unscaled < 0);
        let (dividend, divisor) = (self.unscaled.unsigned_abs(), other.unscaled.unsigned_abs());
        let scale = i32::from(self.scale) - i32::from(other.scale);
        Self::long_division(negative, dividend / divisor, dividend % divisor, divisor, scale)
    }

    /// Continues a division whose first digits, at most 38, and remainder are known.
    fn long_division(
        negative: bool,
        mut quotient: u128,
        mut rest: u128,
        divisor: u128,
        mut scale: i32,
    ) -> Option<Self> {
        // Ten times the remainder may not fit, so the next digit is found by adding the remainder ten times.
        // Remainder and divisor are below 10^38, so one addition always fits.
        while (rest != 0 || scale < 0) && scale < MAX_DIGITS as i32 {
            let Some(next) =
                quotient.checked_mul(10).filter(|q| *q < POWERS[38].unsigned_abs() - 9)
            else {
                break;
            };
            let (mut digit, mut sum) = (0, 0);
            for _ in 0..10 {
                sum += rest;
                if sum >= divisor {
                    sum -= divisor;
                    digit += 1;
                }
            }
            quotient = next + digit;
            rest = sum;
            scale += 1;
        }
        let mut scale = u32::try_from(scale).ok()?;
        match (rest * 2).cmp(&divisor) {
            Ordering::Greater => quotient += 1,
            Ordering::Equal if rest != 0 => quotient += quotient % 2,
            _ => {}
        }
        if quotient == POWERS[38].unsigned_abs() {
            quotient /= 10;
            scale = scale.checked_sub(1)?;
        }
        Self::signed(negative, quotient, scale)
    }

    /// The remainder of the division that truncates toward zero, with the sign of `self`; `None` for division by
    /// zero.
    #[must_use]
    pub fn checked_rem(self, other: Self) -> Option<Self> {
        if other.unscaled == 0 {
            return None;
        }
        match self.align(other) {
            Some((a, b, scale)) => Self::checked(a % b, scale),
            // With the places of `self`, the divisor is beyond 128 bits, so it is the larger number.
            None if self.scale > other.scale => Some(self),
            None => {
                let divisor = other.unscaled.unsigned_abs();
                let add = |a: u128, b: u128| (a + b) % divisor;
                let mut rest = self.unscaled.unsigned_abs() % divisor;
                for _ in self.scale..other.scale {
                    let twice = add(rest, rest);
                    let four_times = add(twice, twice);
                    rest = add(four_times, rest);
                    rest = add(rest, rest);
                }
                Self::signed(self.unscaled < 0, rest, u32::from(other.scale))
            }
        }
    }

    /// The number with the other sign.
    #[must_use]
    pub fn negate(self) -> Self {
        Self { unscaled: -self.unscaled, ..self }
    }

    #[inline]
    fn align(self, other: Self) -> Option<(i128, i128, u32)> {
        let (a, b) = (self.unscaled, other.unscaled);
        Some(match self.scale.cmp(&other.scale) {
            Ordering::Equal => (a, b, u32::from(self.scale)),
            Ordering::Less => {
                let factor = POWERS[usize::from(other.scale - self.scale)];
                (a.checked_mul(factor)?, b, u32::from(other.scale))
            }
            Ordering::Greater => {
                let factor = POWERS[usize::from(self.scale - other.scale)];
                (a, b.checked_mul(factor)?, u32::from(self.scale))
            }
        })
    }

    /// Compares the numbers: `1.0` equals `1`.
    #[must_use]
    #[inline]
    pub fn compare(self, other: Self) -> Ordering {
        match self.align(other) {
            Some((a, b, _)) => a.cmp(&b),
            // One side exceeded 128 bits when its places were filled up, so it is farther from zero.
            None if self.scale < other.scale => self.unscaled.cmp(&0),
            None => 0.cmp(&other.unscaled),
        }
    }

    /// The number with `scale` places, rounded half away from zero, if it then has at most `precision` digits.
    #[must_use]
    #[inline]
    pub fn rescale(self, precision: u8, scale: i8) -> Option<Self> {
        let scale = u8::try_from(scale).ok().filter(|s| u32::from(*s) <= MAX_DIGITS)?;
        let unscaled = match scale.cmp(&self.scale) {
            // Most numbers of a column have the places that the column declares.
            Ordering::Equal => self.unscaled,
            Ordering::Greater => {
                self.unscaled.checked_mul(POWERS[usize::from(scale - self.scale)])?
            }
            Ordering::Less => {
                let divisor = POWERS[usize::from(self.scale - scale)];
                let (whole, rest) = (self.unscaled / divisor, self.unscaled % divisor);
                whole + rest / (divisor / 2)
            }
        };
        let limit = *POWERS.get(usize::from(precision))?;
        (unscaled.unsigned_abs() < limit.unsigned_abs()).then_some(Self { unscaled, scale })
    }

    /// The digits without trailing zeros after the point, and the number of digits after it. Equal numbers give equal
    /// results.
    #[must_use]
    #[inline]
    pub fn without_zeros(self) -> (i128, u8) {
        let Self { mut unscaled, mut scale } = self;
        if let Ok(mut narrow) = i64::try_from(unscaled) {
            // A division of 64 bits takes a fraction of the time of 128 bits.
            while scale > 0 && narrow % 10 == 0 {
                narrow /= 10;
                scale -= 1;
            }
            return (i128::from(narrow), scale);
        }
        while scale > 0 && unscaled % 10 == 0 {
            unscaled /= 10;
            scale -= 1;
        }
        (unscaled, scale)
    }

    /// The integer part, if it fits 64 bits.
    #[must_use]
    pub fn to_i64(self) -> Option<i64> {
        i64::try_from(self.unscaled / POWERS[usize::from(self.scale)]).ok()
    }

    /// The float nearest to the number.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        // Both sides of the division are exact here, so it rounds once.
        if self.unscaled.unsigned_abs() < 1 << 53 && self.scale <= 22 {
            return self.unscaled as f64 / POWERS[usize::from(self.scale)] as f64;
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The decimal with the digits that the float prints; `None` for NaN, infinities and numbers
    /// that have more digits or places than a decimal.
    #[must_use]
    pub fn from_f64(float: f64) -> Option<Self> {
        Self::parse(format!("{float:e}").as_bytes())
    }

    /// Appends the number with all its places.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.unscaled < 0 {
            out.push(b'-');
        }
        let mut buffer = itoa::Buffer::new();
        let unscaled = self.unscaled.unsigned_abs();
        // Nearly all numbers fit 64 bits, which are written in a fraction of the time.
        let digits = match u64::try_from(unscaled) {
            Ok(short) if write_fixed(short, u32::from(self.scale), out) => return,
            Ok(short) => buffer.format(short),
            Err(_) => buffer.format(unscaled),
        };
        let digits = digits.as_bytes();
        let scale = usize::from(self.scale);
        if scale == 0 {
            out.extend_from_slice(digits);
        } else if let Some(whole) = digits.len().checked_sub(scale).filter(|n| *n > 0) {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        } else {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', scale - digits.len()));
            out.extend_from_slice(digits);
        }
    }
}

impl From<i64> for Decimal {
    fn from(int: i64) -> Self {
        Self { unscaled: i128::from(int), scale: 0 }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(42);
        self.write(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

#[cfg(test)]
mod tests;
