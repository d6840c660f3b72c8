//! Parses decimal numbers from text.

use super::{Decimal, MAX_DIGITS, POWERS};

impl Decimal {
    /// Parses `[sign] digits [. digits] [e exponent]` without surrounding whitespace. Returns `None` for any other
    /// text, or if the number has more digits or places than a decimal.
    #[must_use]
    #[inline]
    pub fn parse(text: &[u8]) -> Option<Self> {
        Self::parse_short(text).or_else(|| match read(text, MAX_DIGITS, Excess::Round)? {
            (decimal, DroppedDigits { count: 0, .. }) => Some(decimal),
            _ => None,
        })
    }

    /// Like [`Self::parse`], but drops trailing zeros after the point that do not fit a decimal.
    #[must_use]
    #[inline]
    pub fn parse_exact(text: &[u8]) -> Option<Self> {
        Self::parse_short(text).or_else(|| match read(text, MAX_DIGITS, Excess::Round)? {
            (decimal, DroppedDigits { only_zeros: true, .. }) => Some(decimal),
            _ => None,
        })
    }

    /// Like [`Self::parse`], but rounds half to even to 38 digits and 38 places. Returns `None` for more than 38
    /// digits before the point.
    #[must_use]
    #[inline]
    pub fn parse_rounded(text: &[u8]) -> Option<Self> {
        Self::parse_short(text)
            .or_else(|| read(text, MAX_DIGITS, Excess::Round).map(|(decimal, _)| decimal))
    }

    /// Like [`Self::parse`], but gives the number exactly `scale` places, 0 to 38, and rounds further digits half away
    /// from zero. Returns `None` if more than `precision` digits are left.
    #[must_use]
    #[inline]
    pub fn parse_to_scale(text: &[u8], precision: u8, scale: i8) -> Option<Self> {
        let decimal = Self::parse_short(text).or_else(|| {
            let places = u32::try_from(scale).ok()?;
            read(text, places, Excess::RoundPlaces).map(|(decimal, _)| decimal)
        });
        decimal?.rescale(precision, scale)
    }

    /// Fast path for numbers of up to 18 digits without an exponent, which nearly all numbers are.
    #[inline]
    fn parse_short(text: &[u8]) -> Option<Self> {
        let (negative, digits) = split_sign(text);
        // Digits and a point within this length fit 64 bits without a check.
        if digits.len() > 19 {
            return None;
        }
        let mut unscaled: u64 = 0;
        let mut point = None;
        for (at, &byte) in digits.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit <= 9 {
                unscaled = unscaled.wrapping_mul(10).wrapping_add(u64::from(digit));
            } else if byte == b'.' && point.is_none() {
                point = Some(at);
            } else {
                return None;
            }
        }
        if digits.len() == usize::from(point.is_some()) {
            return None;
        }
        let scale = point.map_or(0, |at| digits.len() - at - 1);
        let unscaled = i128::from(unscaled);
        Some(Self { unscaled: if negative { -unscaled } else { unscaled }, scale: scale as u8 })
    }
}

/// The treatment of digits that do not fit a decimal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Excess {
    /// Digits beyond the places, or beyond those of any decimal, are rounded half to even.
    Round,
    /// Digits beyond the places are rounded half away from zero.
    RoundPlaces,
}

/// The digits that were dropped because they did not fit.
struct DroppedDigits {
    count: i64,
    only_zeros: bool,
}

/// Parses a number of any length and keeps at most `places` places.
#[cold]
fn read(text: &[u8], places: u32, excess: Excess) -> Option<(Decimal, DroppedDigits)> {
    let (negative, text) = split_sign(text);
    let end = text.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(end);
    let exponent = match exponent.get(1..) {
        Some(digits) => parse_exponent(digits)?,
        None => 0,
    };
    let mut scale = -exponent;
    let (mut any, mut point) = (false, false);
    // The number of digits from the first one that is not 0.
    let mut significant: i64 = 0;
    for byte in mantissa {
        match byte {
            b'0'..=b'9' => {
                any = true;
                scale += i64::from(point);
                significant += i64::from(significant > 0 || *byte != b'0');
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if !any {
        return None;
    }
    let digits_allowed = i64::from(MAX_DIGITS);
    let mut drop = (scale - i64::from(places)).max(0);
    if significant == 0 {
        let scale = (scale - drop).max(0) as u8;
        let dropped = DroppedDigits { count: drop, only_zeros: true };
        return Some((Decimal { unscaled: 0, scale }, dropped));
    }
    if excess == Excess::Round {
        drop = drop.max(significant - digits_allowed);
    }
    let keep = significant - drop;
    if keep > digits_allowed {
        return None;
    }
    let mut unscaled: i128 = 0;
    let (mut first_lost, mut rest_lost) = (0, false);
    let digits = mantissa.iter().filter(|byte| **byte != b'.').map(|byte| byte - b'0');
    for (at, digit) in (0..).zip(digits.skip_while(|digit| *digit == 0)) {
        if at < keep {
            unscaled = unscaled * 10 + i128::from(digit);
        } else if at == keep {
            first_lost = digit;
        } else {
            rest_lost |= digit != 0;
        }
    }
    scale -= drop;
    let is_up = match excess {
        Excess::Round => first_lost > 5 || first_lost == 5 && (rest_lost || unscaled % 2 == 1),
        Excess::RoundPlaces => first_lost >= 5,
    };
    if is_up {
        unscaled += 1;
    }
    if unscaled == POWERS[38] {
        unscaled /= 10;
        scale -= 1;
    }
    let scale = i8::try_from(scale).ok()?;
    let dropped = DroppedDigits { count: drop, only_zeros: first_lost == 0 && !rest_lost };
    Some((Decimal::new(if negative { -unscaled } else { unscaled }, scale)?, dropped))
}

#[inline]
pub(in super::super) fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// Parses an exponent. Exponents beyond the length of any object are equivalent.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    const LARGEST: i64 = 1 << 60;
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let exponent = digits.iter().fold(0_i64, |n, digit| {
        n.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(LARGEST)
    });
    Some(if negative { -exponent } else { exponent })
}
