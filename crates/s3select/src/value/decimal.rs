//! Exact decimal numbers of up to 38 digits.

use std::cmp::Ordering;
use std::fmt;

/// The most digits a decimal has.
pub const MAX_DIGITS: u32 = 38;

/// 10^0 … 10^38.
const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// `unscaled · 10^-scale`, exactly: `12.50` has the unscaled value 1250 and the scale 2.
///
/// The scale is kept by every operation that is exact, and printed: `12.50` and `12.5` compare
/// equal but print differently. `==` compares the representation; use [`Decimal::compare`] for the
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    // Invariants: |unscaled| < 10^38, scale ≤ 38.
    unscaled: i128,
    scale: u8,
}

impl Decimal {
    /// Zero, with no digit behind the point.
    pub const ZERO: Self = Self { unscaled: 0, scale: 0 };

    /// The number `unscaled · 10^-scale`; `None` beyond 38 digits or 38 places. A negative scale
    /// stands for zeros before the point.
    #[must_use]
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

    /// How many digits are behind the point, 0 to 38.
    #[must_use]
    #[inline]
    pub fn scale(self) -> i8 {
        self.scale as i8
    }

    /// Reads `[sign] digits [. digits] [e exponent]` without surrounding space; `None` if it is
    /// anything else or does not fit.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (negative, digits) = split_sign(text);
        let mut unscaled: u64 = 0;
        let mut point = None;
        // 18 digits and a point fit 64 bits without a check; that is nearly every number there is.
        if digits.len() > 19 {
            return Self::parse_long(negative, digits);
        }
        for (at, &byte) in digits.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit <= 9 {
                unscaled = unscaled.wrapping_mul(10).wrapping_add(u64::from(digit));
            } else if byte == b'.' && point.is_none() {
                point = Some(at);
            } else {
                return Self::parse_long(negative, digits);
            }
        }
        if digits.len() == usize::from(point.is_some()) {
            return None;
        }
        let scale = point.map_or(0, |at| digits.len() - at - 1);
        let unscaled = i128::from(unscaled);
        Some(Self { unscaled: if negative { -unscaled } else { unscaled }, scale: scale as u8 })
    }

    #[cold]
    fn parse_long(negative: bool, text: &[u8]) -> Option<Self> {
        let mantissa_end = text.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(text.len());
        let (mantissa, exponent) = text.split_at(mantissa_end);
        let exponent = match exponent.get(1..) {
            Some(digits) => parse_exponent(digits)?,
            None => 0,
        };
        let mut unscaled: i128 = 0;
        let mut scale: i32 = 0;
        let mut any = false;
        let mut point = false;
        for &byte in mantissa {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    unscaled = unscaled.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
                    scale += i32::from(point);
                }
                b'.' if !point => point = true,
                _ => return None,
            }
        }
        if !any {
            return None;
        }
        let unscaled = if negative { -unscaled } else { unscaled };
        let scale = i8::try_from(scale - exponent).ok()?;
        if unscaled == 0 {
            return Self::new(0, scale.max(0));
        }
        Self::new(unscaled, scale)
    }

    /// The sum; `None` if it does not fit.
    #[must_use]
    #[inline]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.align(other)?;
        Self::checked(a.checked_add(b)?, scale)
    }

    /// The difference; `None` if it does not fit.
    #[must_use]
    #[inline]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.align(other)?;
        Self::checked(a.checked_sub(b)?, scale)
    }

    /// The product, whose scale is the sum of the scales; `None` if it does not fit.
    #[must_use]
    #[inline]
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        Self::checked(
            self.unscaled.checked_mul(other.unscaled)?,
            u32::from(self.scale) + u32::from(other.scale),
        )
    }

    /// The quotient: exact with the fewest places (but no fewer than the difference of the scales)
    /// if it has at most 38 digits, else rounded half to even at 38 digits. `None` for division by
    /// zero or a result that does not fit.
    #[must_use]
    pub fn checked_div(self, other: Self) -> Option<Self> {
        if other.unscaled == 0 {
            return None;
        }
        let divisor = other.unscaled.unsigned_abs();
        let mut quotient = self.unscaled.unsigned_abs() / divisor;
        let mut rest = self.unscaled.unsigned_abs() % divisor;
        let mut scale = i32::from(self.scale) - i32::from(other.scale);
        // Long division. The rest times ten may not fit, so its digit is found by adding it ten
        // times; rest and divisor are below 10^38, so one addition always fits.
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
        if scale < 0 {
            return None;
        }
        // This cannot give a 39th digit: a quotient of two such numbers that is not a power of ten
        // is farther from every power of ten than that.
        match (rest * 2).cmp(&divisor) {
            Ordering::Greater => quotient += 1,
            Ordering::Equal if rest != 0 => quotient += quotient % 2,
            _ => {}
        }
        let unscaled = i128::try_from(quotient).ok()?;
        let negative = (self.unscaled < 0) != (other.unscaled < 0);
        Self::checked(if negative { -unscaled } else { unscaled }, scale.unsigned_abs())
    }

    /// The rest of the division that truncates toward zero, with the sign of `self`; `None` for
    /// division by zero or numbers too far apart.
    #[must_use]
    pub fn checked_rem(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.align(other)?;
        Self::checked(a.checked_rem(b)?, scale)
    }

    /// `-self`.
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
            // One side grew beyond 128 bits when its places were filled up, so it is the one
            // farther from zero.
            None if self.scale < other.scale => self.unscaled.cmp(&0),
            None => 0.cmp(&other.unscaled),
        }
    }

    /// The number with `scale` places, cut toward zero, if it then has at most `precision` digits.
    #[must_use]
    pub fn rescale(self, precision: u8, scale: i8) -> Option<Self> {
        let scale = u8::try_from(scale).ok().filter(|s| u32::from(*s) <= MAX_DIGITS)?;
        let unscaled = if scale >= self.scale {
            self.unscaled.checked_mul(POWERS[usize::from(scale - self.scale)])?
        } else {
            self.unscaled / POWERS[usize::from(self.scale - scale)]
        };
        let limit = *POWERS.get(usize::from(precision))?;
        (unscaled.unsigned_abs() < limit.unsigned_abs()).then_some(Self { unscaled, scale })
    }

    /// The whole part, if it fits 64 bits.
    #[must_use]
    pub fn to_i64(self) -> Option<i64> {
        i64::try_from(self.unscaled / POWERS[usize::from(self.scale)]).ok()
    }

    /// The nearest float.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        // Both sides of the division are exact here, so it rounds once.
        if self.unscaled.unsigned_abs() < 1 << 53 && self.scale <= 22 {
            return self.unscaled as f64 / POWERS[usize::from(self.scale)] as f64;
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The decimal with the digits that the float prints; `None` for NaN, infinities and numbers
    /// that do not fit.
    #[must_use]
    pub fn from_f64(float: f64) -> Option<Self> {
        Self::parse(format!("{float:e}").as_bytes())
    }

    /// Appends the number with all its places.
    pub fn write(self, out: &mut Vec<u8>) {
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(self.unscaled.unsigned_abs()).as_bytes();
        let scale = usize::from(self.scale);
        if self.unscaled < 0 {
            out.push(b'-');
        }
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

#[inline]
pub(super) fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

fn parse_exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || digits.len() > 4 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let exponent = digits.iter().fold(0, |n, digit| n * 10 + i32::from(digit - b'0'));
    Some(if negative { -exponent } else { exponent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text} is no decimal"))
    }

    #[track_caller]
    fn check(result: Option<Decimal>, expected: &str) {
        assert_eq!(result.map_or_else(|| "none".to_owned(), |d| d.to_string()), expected);
    }

    const NINES: &str = "99999999999999999999999999999999999999";

    #[test]
    fn parse_keeps_the_scale() {
        for text in ["0", "0.00", "-0.05", "12.50", "123456789012345678.9", NINES] {
            assert_eq!(d(text).to_string(), text);
        }
        for (text, printed) in [
            ("+7", "7"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1e3", "1000"),
            ("12.5E-1", "1.25"),
            ("0e99", "0"),
            ("-0", "0"),
            ("00012", "12"),
        ] {
            assert_eq!(d(text).to_string(), printed);
        }
    }

    #[test]
    fn parse_refuses_what_is_no_number() {
        let too_long = format!("{NINES}0");
        for text in ["", ".", "-", "+-1", "1.2.3", "1e", "1e99", "x", " 1", "1 ", "1_0", &too_long]
        {
            assert_eq!(Decimal::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn arithmetic_is_exact() {
        check(d("0.1").checked_add(d("0.2")), "0.3");
        check(d("1").checked_sub(d("0.05")), "0.95");
        check(d("33078.94").checked_mul(d("0.96")), "31755.7824");
        check(d(NINES).checked_add(d("1")), "none");
        check(d(NINES).checked_mul(d("10")), "none");
        check(d("-7.5").checked_rem(d("2")), "-1.5");
        check(d("1").checked_rem(d("0")), "none");
    }

    #[test]
    fn division_rounds_half_even_at_38_digits() {
        check(d("1").checked_div(d("4")), "0.25");
        check(d("10").checked_div(d("5")), "2");
        check(d("1").checked_div(d("3")), "0.33333333333333333333333333333333333333");
        check(d("2").checked_div(d("-3")), "-0.66666666666666666666666666666666666667");
        check(d("100").checked_div(d("3")), "33.333333333333333333333333333333333333");
        check(d("1.00").checked_div(d("1")), "1.00");
        check(d("1").checked_div(d("0.5")), "2");
        check(d("1").checked_div(d("0")), "none");
        check(d(NINES).checked_div(d("0.1")), "none");
        check(d(NINES).checked_div(d(NINES)), "1");
    }

    #[test]
    fn compare_looks_at_the_number() {
        assert_eq!(d("1.0").compare(d("1")), Ordering::Equal);
        let tiny = Decimal::new(1, 38).unwrap();
        assert_eq!(d(NINES).compare(tiny), Ordering::Greater);
        assert_eq!(d(NINES).negate().compare(tiny), Ordering::Less);
        assert_eq!(tiny.compare(d(NINES)), Ordering::Less);
        assert_eq!(tiny.compare(d(NINES).negate()), Ordering::Greater);
    }

    #[test]
    fn rescale_truncates_and_checks_digits() {
        check(d("1.999").rescale(3, 2), "1.99");
        check(d("-1.999").rescale(3, 2), "-1.99");
        check(d("10").rescale(3, 2), "none");
        check(d("9.9").rescale(3, 2), "9.90");
    }

    #[test]
    fn floats_convert_by_their_shortest_text() {
        check(Decimal::from_f64(0.1), "0.1");
        check(Decimal::from_f64(-2.5e10), "-25000000000");
        check(Decimal::from_f64(f64::NAN), "none");
        check(Decimal::from_f64(1e39), "none");
        assert_eq!(d("0.1").to_f64(), 0.1);
        assert_eq!(d(NINES).to_f64(), 1e38);
    }

    proptest! {
        #[test]
        fn print_then_parse(unscaled in -POWERS[38] + 1..POWERS[38], scale in 0i8..=38) {
            let decimal = Decimal::new(unscaled, scale).unwrap();
            prop_assert_eq!(d(&decimal.to_string()), decimal);
        }

        #[test]
        fn float_is_the_nearest(unscaled in any::<i64>(), scale in 0i8..=30) {
            let decimal = Decimal::new(i128::from(unscaled), scale).unwrap();
            prop_assert_eq!(decimal.to_f64(), decimal.to_string().parse::<f64>().unwrap());
        }

        #[test]
        fn division_undoes_multiplication(a in any::<i64>(), b in 1i64..) {
            let (a, b) = (Decimal::from(a), Decimal::from(b));
            let product = a.checked_mul(b).unwrap();
            prop_assert_eq!(product.checked_div(b).unwrap().compare(a), Ordering::Equal);
        }
    }
}
