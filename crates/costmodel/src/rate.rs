//! Data rates.

use std::fmt;
use std::ops::{Div, Mul};
use std::str::FromStr;
use std::time::Duration;

use crate::quantity::{ByteUnit, Bytes, ParseQuantityError, binary, byte_unit, number_and_unit};

/// A data rate in bytes per second. It is positive; [`BytesPerSecond::UNLIMITED`] takes no time at all.
///
/// Shown in binary units (`119 MiB/s`). Parsed from text like `1Gbit`, `125 MB/s` or `unlimited`. `1Gb/s` and `1Gbps`
/// are refused, because they may mean bits or bytes.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct BytesPerSecond(pub f64);

impl BytesPerSecond {
    /// No limit: any number of bytes takes no time.
    pub const UNLIMITED: Self = Self(f64::INFINITY);

    /// A link of this many Gbit/s (10^9 bits), as network hardware is sold.
    #[must_use]
    pub const fn gbit(per_second: f64) -> Self {
        Self(per_second * 125e6)
    }

    /// The rate in Gbit/s (10^9 bits).
    #[must_use]
    pub fn as_gbit(self) -> f64 {
        self.0 / 125e6
    }
}

/// A duration from seconds, without failure: negative numbers and NaN become zero, too large ones the longest
/// duration.
pub(crate) fn seconds(seconds: f64) -> Duration {
    if seconds.is_nan() || seconds <= 0.0 {
        Duration::ZERO
    } else {
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// Returns the time that this number of bytes takes at this rate.
impl Div<BytesPerSecond> for Bytes {
    type Output = Duration;

    fn div(self, rate: BytesPerSecond) -> Duration {
        seconds(self.as_f64() / rate.0)
    }
}

/// Returns the rate at which this number of bytes passed in this time.
impl Div<Duration> for Bytes {
    type Output = BytesPerSecond;

    fn div(self, time: Duration) -> BytesPerSecond {
        BytesPerSecond(self.as_f64() / time.as_secs_f64())
    }
}

/// Returns the bytes that pass in this time.
impl Mul<Duration> for BytesPerSecond {
    type Output = Bytes;

    fn mul(self, time: Duration) -> Bytes {
        Bytes::from_f64(self.0 * time.as_secs_f64())
    }
}

/// Multiplies the rate, for several lanes or for a fraction of one.
impl Mul<f64> for BytesPerSecond {
    type Output = Self;

    fn mul(self, rhs: f64) -> Self {
        Self(self.0 * rhs)
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_infinite() {
            f.pad("unlimited")
        } else if self.0 < 1024.0 {
            f.pad(&format!("{:.0} B/s", self.0))
        } else {
            let (number, unit) = binary(self.0);
            f.pad(&format!("{number} {unit}/s"))
        }
    }
}

impl FromStr for BytesPerSecond {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().eq_ignore_ascii_case("unlimited") {
            return Ok(Self::UNLIMITED);
        }
        let error = || ParseQuantityError::new(text, "a rate such as 1Gbit, 125MB/s or unlimited");
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let lower = unit.to_ascii_lowercase();
        let (per, unit) = ["/s", "ps"]
            .into_iter()
            .find(|per| lower.ends_with(per))
            .map_or(("", unit), |per| (per, &unit[..unit.len() - per.len()]));
        // With "ps", any spelling is ambiguous: MBps may mean bytes or bits.
        let unit = if per == "ps" { unit.replace('B', "b") } else { unit.to_owned() };
        let factor = match (unit.to_ascii_lowercase().as_str(), byte_unit(&unit)) {
            ("bit", _) => 0.125,
            ("kbit", _) => 125.0,
            ("mbit", _) => 125e3,
            ("gbit", _) => 125e6,
            ("tbit", _) => 125e9,
            (_, ByteUnit::Bytes(factor)) => factor,
            (_, ByteUnit::BitsOrBytes(prefix)) => {
                let decimal = prefix.trim_end_matches('i');
                let expected = format!(
                    "a rate: it may be bits or bytes; write {number}{decimal}bit/s or {number}{prefix}B/s"
                );
                return Err(ParseQuantityError::new(text, expected));
            }
            (_, ByteUnit::Other) => return Err(error()),
        };
        let rate = number * factor;
        if rate > 0.0 && rate.is_finite() { Ok(Self(rate)) } else { Err(error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_from_text() {
        for (text, rate) in [
            ("1Gbit", 125e6),
            ("1 gbit/s", 125e6),
            ("1gbps", f64::NAN),
            ("200 mbit/s", 25e6),
            ("125 MB/s", 125e6),
            ("2MiB/s", 2_097_152.0),
            ("Unlimited", f64::INFINITY),
            ("0 MB/s", f64::NAN),
            ("fast", f64::NAN),
            ("100", f64::NAN),
        ] {
            let read = text.parse::<BytesPerSecond>().map(|r| r.0);
            assert_eq!(read.ok(), (!rate.is_nan()).then_some(rate), "{text}");
        }
    }

    #[test]
    fn what_may_be_bits_or_bytes_is_refused_with_the_way_out() {
        for (text, bits, bytes) in [
            ("1Gb/s", "1Gbit/s", "1GB/s"),
            ("8Gb", "8Gbit/s", "8GB/s"),
            ("100mb/s", "100Mbit/s", "100MB/s"),
            ("100 Mb/S", "100Mbit/s", "100MB/s"),
            ("2kib/s", "2Kbit/s", "2KiB/s"),
            ("5 b/s", "5bit/s", "5B/s"),
            ("1Tb", "1Tbit/s", "1TB/s"),
            ("1Gbps", "1Gbit/s", "1GB/s"),
            ("1MBps", "1Mbit/s", "1MB/s"),
        ] {
            let error = text.parse::<BytesPerSecond>().unwrap_err().to_string();
            let expected =
                format!("`{text}` is not a rate: it may be bits or bytes; write {bits} or {bytes}");
            assert_eq!(error, expected);
            assert!(bits.parse::<BytesPerSecond>().is_ok(), "{bits}");
            assert!(bytes.parse::<BytesPerSecond>().is_ok(), "{bytes}");
        }
    }

    /// The spellings come from help texts, from documents and from displayed values.
    #[test]
    fn every_documented_spelling_is_read() {
        for (text, rate) in [
            ("1gbit", 125e6),
            ("100mbit", 12.5e6),
            ("10Gbit", 1.25e9),
            ("0.1Gbit/s", 12.5e6),
            ("500 kbit/s", 62_500.0),
            ("8 bit/s", 1.0),
            ("50MB/s", 50e6),
            ("1GB/s", 1e9),
            ("2 kB/s", 2e3),
            ("119 MiB/s", 119.0 * 1_048_576.0),
            ("100 B/s", 100.0),
        ] {
            assert_eq!(text.parse::<BytesPerSecond>().map(|it| it.0), Ok(rate), "{text}");
        }
    }

    #[test]
    fn rates_bytes_and_time_agree() {
        let rate = BytesPerSecond::gbit(1.0);
        assert_eq!(Bytes(250_000_000) / rate, Duration::from_secs(2));
        assert_eq!(rate * Duration::from_secs(2), Bytes(250_000_000));
        assert_eq!((Bytes(250_000_000) / Duration::from_secs(2)).as_gbit(), 1.0);
    }

    #[test]
    fn extremes_are_durations_too() {
        assert_eq!(Bytes(1) / BytesPerSecond::UNLIMITED, Duration::ZERO);
        assert_eq!(Bytes(1) / BytesPerSecond(0.0), Duration::MAX);
        assert_eq!(Bytes(0) / BytesPerSecond(0.0), Duration::ZERO);
    }

    #[test]
    fn rates_are_shown_in_binary_units() {
        assert_eq!(BytesPerSecond::gbit(1.0).to_string(), "119 MiB/s");
        assert_eq!(BytesPerSecond(100.0).to_string(), "100 B/s");
        assert_eq!(BytesPerSecond::UNLIMITED.to_string(), "unlimited");
    }
}
