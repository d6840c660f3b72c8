//! Quantities whose unit is their type, so that a byte count cannot be added to a price.
//!
//! Counts saturate. A sum beyond 2^64 means corrupt input, and a panic in the cost model would fail the query.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

/// Defines a count with a unit: the code that bytes, rows and requests share.
macro_rules! count {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl $name {
            /// Zero of this unit.
            pub const ZERO: Self = Self(0);

            /// The count as a float, for arithmetic with rates. It is exact up to 2^53.
            #[must_use]
            pub fn as_f64(self) -> f64 {
                self.0 as f64
            }

            /// The nearest count to a float. Negative numbers and NaN become zero; too large ones become the largest
            /// count.
            #[must_use]
            pub fn from_f64(count: f64) -> Self {
                Self(count.round() as u64)
            }
        }

        impl From<u64> for $name {
            fn from(count: u64) -> Self {
                Self(count)
            }
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, rhs: Self) -> Self {
                Self(self.0.saturating_add(rhs.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, rhs: Self) {
                *self = *self + rhs;
            }
        }

        /// Saturates at zero, because there is no negative amount of work.
        impl Sub for $name {
            type Output = Self;

            fn sub(self, rhs: Self) -> Self {
                Self(self.0.saturating_sub(rhs.0))
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;

            fn mul(self, rhs: u64) -> Self {
                Self(self.0.saturating_mul(rhs))
            }
        }

        /// Multiplies by a factor and rounds to the nearest count.
        impl Mul<f64> for $name {
            type Output = Self;

            fn mul(self, rhs: f64) -> Self {
                Self::from_f64(self.as_f64() * rhs)
            }
        }

        /// Returns the ratio of two counts; NaN for 0/0.
        impl Div for $name {
            type Output = f64;

            fn div(self, rhs: Self) -> f64 {
                self.as_f64() / rhs.as_f64()
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, Add::add)
            }
        }
    };
}

count! {
    /// A number of bytes, always exact.
    ///
    /// Shown in binary units with three significant digits, and exactly below 1 KiB: `512 B`,
    /// `7.24 GiB`. Read from text like `64MiB`, `1.5 GB` or `4096`; not from `64Mb`, which may be bits.
    Bytes
}
count! {
    /// A number of rows. Shown with thousands separators: `59,986,052`.
    Rows
}
count! {
    /// A number of requests sent, retries included. Shown with thousands separators.
    Requests
}

/// The bytes in a GB of a price. AWS bills in binary units, and only this size reproduces the cents that PushdownDB
/// published.
pub(crate) const BYTES_PER_BILLED_GB: f64 = 1_073_741_824.0;

impl Requests {
    /// Formats the number with its noun: `1 request`, `2,000 requests`.
    #[must_use]
    pub fn in_words(self) -> String {
        format!("{self} {}", if self.0 == 1 { "request" } else { "requests" })
    }
}

impl Bytes {
    /// This many KiB (2^10 bytes).
    #[must_use]
    pub const fn kib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 10))
    }

    /// This many MiB (2^20 bytes).
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 20))
    }

    /// This many GiB (2^30 bytes).
    #[must_use]
    pub const fn gib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 30))
    }

    /// The count in GiB, which is what stores bill as GB.
    #[must_use]
    pub fn as_gib(self) -> f64 {
        self.as_f64() / BYTES_PER_BILLED_GB
    }
}

const BINARY_UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Formats `bytes` with three significant digits in the largest binary unit that leaves at least one digit before the
/// point. Numbers that are too long even in that unit become a power of ten. Rates use this function as well.
pub(crate) fn binary(bytes: f64) -> (String, &'static str) {
    let mut value = bytes / 1024.0;
    let mut unit = 0;
    // 1023.5 KiB would round to "1024 KiB".
    while value >= 1023.5 && unit + 1 < BINARY_UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value >= 1e6 {
        return (format!("{value:.2e}"), BINARY_UNITS[unit]);
    }
    let decimals = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    (format!("{value:.decimals$}"), BINARY_UNITS[unit])
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let (number, unit) = binary(self.as_f64());
        f.pad(&format!("{number} {unit}"))
    }
}

fn with_separators(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_separators(self.0))
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_separators(self.0))
    }
}

/// An amount in United States dollars.
///
/// Shown with at least two decimals and, below a dollar, with three significant digits, so that a small amount never
/// reads as zero: `$1.53`, `$0.0132`, `$0.00012`.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Dollars(pub f64);

impl Dollars {
    /// Zero dollars.
    pub const ZERO: Self = Self(0.0);

    /// The amount in cents, the unit of PushdownDB's tables.
    #[must_use]
    pub fn cents(self) -> f64 {
        self.0 * 100.0
    }
}

impl Add for Dollars {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Dollars {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

/// Returns the difference, which is negative for a loss.
impl Sub for Dollars {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul<f64> for Dollars {
    type Output = Self;

    fn mul(self, rhs: f64) -> Self {
        Self(self.0 * rhs)
    }
}

impl Div<f64> for Dollars {
    type Output = Self;

    fn div(self, rhs: f64) -> Self {
        Self(self.0 / rhs)
    }
}

/// Returns the ratio of two amounts; NaN for 0/0.
impl Div for Dollars {
    type Output = f64;

    fn div(self, rhs: Self) -> f64 {
        self.0 / rhs.0
    }
}

impl Sum for Dollars {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0.0 { "-" } else { "" };
        let amount = self.0.abs();
        if amount == 0.0 || !amount.is_finite() {
            return f.pad(&format!("{sign}${amount}"));
        }
        if !(1e-12..1e15).contains(&amount) {
            return f.pad(&format!("{sign}${amount:.2e}"));
        }
        // The first significant digit of 0.0132 is its second decimal; two more follow it.
        let first = (-amount.log10().floor()).max(0.0) as usize;
        let decimals = if first == 0 { 2 } else { first + 2 };
        let mut text = format!("{amount:.decimals$}");
        let point = text.find('.').unwrap_or(text.len());
        while text.ends_with('0') && text.len() > point + 3 {
            text.pop();
        }
        f.pad(&format!("{sign}${text}"))
    }
}

/// Reports a text that is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct ParseQuantityError {
    text: String,
    expected: String,
}

impl ParseQuantityError {
    pub(crate) fn new(text: &str, expected: impl Into<String>) -> Self {
        Self { text: text.trim().chars().take(80).collect(), expected: expected.into() }
    }
}

/// Splits `1.5 GiB` into 1.5 and `GiB`. Returns `None` if the text does not start with a finite number ≥ 0.
pub(crate) fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

/// The possible meanings of a unit of bytes.
pub(crate) enum ByteUnit {
    /// A unit of this many bytes.
    Bytes(f64),
    /// A unit with a lower-case b, which may stand for bits or for bytes. Holds the prefix for the error message:
    /// `G`, `Gi`.
    BitsOrBytes(String),
    /// A text that is not a unit of bytes.
    Other,
}

/// Parses a unit such as `B`, `kB` or `MiB`. Letters other than the `B` may be of either case.
pub(crate) fn byte_unit(unit: &str) -> ByteUnit {
    let capitals = unit.to_ascii_uppercase();
    let factor = match capitals.as_str() {
        "B" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KIB" => 1024.0,
        "MIB" => 1_048_576.0,
        "GIB" => 1_073_741_824.0,
        "TIB" => 1_099_511_627_776.0,
        _ => return ByteUnit::Other,
    };
    if unit.ends_with('b') {
        return ByteUnit::BitsOrBytes(capitals.trim_end_matches('B').replace('I', "i"));
    }
    ByteUnit::Bytes(factor)
}

/// Formats a number with as many digits as it needs, and as a power of ten if it would fill a line otherwise.
pub(crate) fn digits(number: f64) -> String {
    if number.abs() < 1e16 { number.to_string() } else { format!("{number:e}") }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseQuantityError::new(text, "a number of bytes such as 4096 or 64MiB");
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let factor = match (unit, byte_unit(unit)) {
            ("", _) => 1.0,
            ("k" | "K", _) => 1024.0,
            ("m" | "M", _) => 1_048_576.0,
            ("g" | "G", _) => 1_073_741_824.0,
            ("t" | "T", _) => 1_099_511_627_776.0,
            (_, ByteUnit::Bytes(factor)) => factor,
            (_, ByteUnit::BitsOrBytes(prefix)) => {
                let expected = format!(
                    "a number of bytes: a lower-case b may be bits; write {number}{prefix}B"
                );
                return Err(ParseQuantityError::new(text, expected));
            }
            (_, ByteUnit::Other) => return Err(error()),
        };
        Ok(Self::from_f64(number * factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn shows(value: impl fmt::Display, expected: &str) {
        assert_eq!(value.to_string(), expected);
    }

    #[test]
    fn bytes_are_shown_exactly_or_with_three_digits() {
        shows(Bytes(0), "0 B");
        shows(Bytes(1023), "1023 B");
        shows(Bytes(1024), "1.00 KiB");
        shows(Bytes(10_234), "9.99 KiB");
        shows(Bytes(10_239), "10.0 KiB");
        shows(Bytes(102_399), "100 KiB");
        shows(Bytes(1_048_575), "1.00 MiB");
        shows(Bytes(7_775_727_688), "7.24 GiB");
        shows(Bytes(u64::MAX), "16.0 EiB");
        assert_eq!(format!("{:>10}", Bytes(5)), "       5 B");
    }

    #[test]
    fn counts_are_shown_with_separators() {
        shows(Rows(0), "0");
        shows(Rows(999), "999");
        shows(Rows(59_986_052), "59,986,052");
        shows(Requests(1_000), "1,000");
        shows(Requests(1).in_words(), "1 request");
        shows(Requests(0).in_words(), "0 requests");
        shows(Requests(2_000).in_words(), "2,000 requests");
    }

    #[test]
    fn small_dollar_amounts_keep_their_digits() {
        shows(Dollars(0.0), "$0");
        shows(Dollars(1.0), "$1.00");
        shows(Dollars(1234.567), "$1234.57");
        shows(Dollars(0.9999), "$1.00");
        shows(Dollars(0.999), "$0.999");
        shows(Dollars(0.5), "$0.50");
        shows(Dollars(0.0132), "$0.0132");
        shows(Dollars(0.000_12), "$0.00012");
        shows(Dollars(4e-7), "$0.0000004");
        shows(Dollars(-0.25), "-$0.25");
        shows(Dollars(1.234e-15), "$1.23e-15");
        shows(Dollars(f64::NAN), "$NaN");
    }

    #[test]
    fn bytes_are_read_from_text() {
        for (text, bytes) in
            [("4096", 4096), ("64MiB", 64 << 20), ("1.5 GB", 1_500_000_000), (" 2 k ", 2048)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for (text, bytes) in [
            ("2kB", 2e3),
            ("2KB", 2e3),
            ("2gB", 2e9),
            ("2 TB", 2e12),
            ("2mIB", 2.0 * 1_048_576.0),
            ("2TiB", 2.0 * 1_099_511_627_776.0),
            ("3 B", 3.0),
            ("2G", 2.0 * 1_073_741_824.0),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes as u64)), "{text}");
        }
        for text in ["", "MiB", "-1", "1 parsec", "1e999", "1.2.3 MB", "∞", "1 /s", "1GB/s"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_lower_case_b_is_not_taken_for_bytes() {
        for (text, way_out) in [
            ("8Gb", "8GB"),
            ("100 mb", "100MB"),
            ("64Mib", "64MiB"),
            ("64kib", "64KiB"),
            ("512b", "512B"),
            ("1_000tb", "1000TB"),
        ] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            let expected = format!(
                "`{text}` is not a number of bytes: a lower-case b may be bits; write {way_out}"
            );
            assert_eq!(error, expected);
            assert!(way_out.parse::<Bytes>().is_ok());
        }
    }

    #[test]
    fn large_numbers_do_not_fill_a_line() {
        shows(digits(1e308), "1e308");
        shows(digits(-4.5), "-4.5");
        shows(digits(1e15), "1000000000000000");
        shows(Dollars(1e308), "$1.00e308");
        assert_eq!(binary(1e308), ("8.67e289".to_owned(), "EiB"));
    }

    #[test]
    fn counts_saturate() {
        assert_eq!(Bytes(u64::MAX) + Bytes(1), Bytes(u64::MAX));
        assert_eq!(Bytes(1) - Bytes(2), Bytes(0));
        assert_eq!(Rows(u64::MAX) * 2, Rows(u64::MAX));
        assert_eq!(Rows::from_f64(f64::NAN), Rows(0));
        assert_eq!(Rows::from_f64(-1.0), Rows(0));
        assert_eq!([Rows(1), Rows(2)].into_iter().sum::<Rows>(), Rows(3));
    }

    proptest! {
        #[test]
        fn shown_bytes_are_within_half_a_percent(bytes in 0u64..1 << 49) {
            let shown: Bytes = Bytes(bytes).to_string().parse().unwrap();
            prop_assert!((shown.as_f64() - bytes as f64).abs() <= 0.005_001 * bytes as f64);
        }

        #[test]
        fn shown_dollars_are_within_half_a_percent(exponent in -11.9f64..9.0) {
            let dollars = 10f64.powf(exponent);
            let shown: f64 = Dollars(dollars).to_string()[1..].parse().unwrap();
            prop_assert!((shown - dollars).abs() <= 0.005_001 * dollars, "{shown} {dollars}");
        }
    }
}
