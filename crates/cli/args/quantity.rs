//! Quantities as arguments.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use sluicegate_costmodel::{BytesPerSecond, Dollars};
use sluicegate_engine::config::IdleTimeout;

/// The largest scale factor that TPC-H and TPC-DS define.
const MAX_SCALE: f64 = 100_000.0;

/// Parses a number with a unit of time: `us`, `ms`, `s`, `min` or `m`, `h`, `d`.
fn time(text: &str) -> Option<Duration> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text[..text.len() - unit.len()].parse().ok()?;
    let factor = match unit.trim() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * factor).ok()
}

/// Parses a bucket's name, without `s3://`.
pub(crate) fn bucket(text: &str) -> Result<String, String> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_inside = |c: char| c.is_ascii_alphanumeric();
    let is_name = (3..=63).contains(&text.len())
        && text.chars().all(is_known)
        && text.starts_with(is_inside)
        && text.ends_with(is_inside);
    match is_name {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`{text}` is not the name of a bucket: 3 to 63 letters, digits, `-`, `.` and `_`, without s3://"
        )),
    }
}

/// A delay; at most an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latency(pub(crate) Duration);

impl FromStr for Latency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match time(text.trim()) {
            Some(time) if time <= Duration::from_secs(3600) => Ok(Self(time)),
            Some(_) => Err(format!("`{text}` is more than an hour")),
            None => Err(format!("`{text}` is not a delay such as 10ms, 500us or 1.5s")),
        }
    }
}

/// The age at which something expires; `never` is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age(pub(crate) Option<Duration>);

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text.trim(), time(text.trim())) {
            ("never", _) => Ok(Self(None)),
            (_, Some(age)) => Ok(Self(Some(age))),
            _ => Err(format!("`{text}` is not an age such as 7d, 12h or 30min, or never")),
        }
    }
}

/// A time to wait, greater than zero; `unlimited` is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeout(pub(crate) Option<Duration>);

impl FromStr for Timeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text.trim(), time(text.trim())) {
            (word, _) if word.eq_ignore_ascii_case("unlimited") => Ok(Self(None)),
            (_, Some(time)) if !time.is_zero() => Ok(Self(Some(time))),
            _ => Err(format!("`{text}` is not a time such as 30s, 10min, 1h or unlimited")),
        }
    }
}

/// Parses the longest time to receive nothing from a store, 100 ms to 1 h.
pub(crate) fn idle_timeout(text: &str) -> Result<Duration, String> {
    let said = text.parse::<IdleTimeout>().ok().and_then(IdleTimeout::get);
    said.ok_or_else(|| format!("`{text}` is not a time from 100ms to 1h, such as 30s or 2min"))
}

/// An amount of dollars, with or without the sign: `0.05`, `$0.05`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Price(pub(crate) Dollars);

impl FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().trim_start_matches('$');
        match number.parse::<f64>() {
            Ok(dollars) if dollars.is_finite() && dollars >= 0.0 => Ok(Self(Dollars(dollars))),
            _ => Err(format!("`{text}` is not a sum of dollars such as 0.05")),
        }
    }
}

/// Parses a scale factor, which is greater than zero and at most [`MAX_SCALE`].
pub(crate) fn scale(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(scale) if scale.is_finite() && scale > MAX_SCALE => {
            Err(format!("`{text}` is more than {MAX_SCALE}, the largest scale factor of TPC"))
        }
        Ok(scale) if scale.is_finite() && scale > 0.0 => Ok(scale),
        _ => Err(format!("`{text}` is not a scale factor such as 0.1 or 10")),
    }
}

/// Parses a number of threads, at least 1.
pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a number of threads, 1 or more"))
}

/// Parses the largest number of rows that a table shows; 0 shows all.
pub(crate) fn max_rows(text: &str) -> Result<usize, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a number of rows, 0 or more"))
}

/// The URL of an object: `s3://bucket/key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectUrl {
    pub(crate) bucket: String,
    pub(crate) key: String,
}

impl FromStr for ObjectUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.strip_prefix("s3://").and_then(|rest| rest.split_once('/'));
        match parts {
            Some((bucket, key)) if !bucket.is_empty() && !key.is_empty() => {
                Ok(Self { bucket: bucket.to_owned(), key: key.to_owned() })
            }
            _ => Err(format!("`{text}` is not the URL of an object, s3://bucket/key")),
        }
    }
}

/// An address to listen on: `127.0.0.1:9000`, `localhost:9000`, `[::1]:0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) socket: SocketAddr,
    /// The host as the user wrote it, if it is a name and not an IP address.
    pub(crate) name: Option<String>,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut found = text
            .to_socket_addrs()
            .map_err(|_| format!("`{text}` is not an address such as 127.0.0.1:9000"))?;
        let socket = found.next().ok_or_else(|| format!("`{text}` has no address"))?;
        let host = text.rsplit_once(':').map(|(host, _)| host.trim_matches(['[', ']']));
        let name = host.filter(|host| host.parse::<IpAddr>().is_err()).map(str::to_owned);
        Ok(Self { socket, name })
    }
}

/// Converts a link's rate to whole bytes per second, as the server takes it; `None` is unlimited.
pub(crate) fn whole_rate(rate: BytesPerSecond) -> Option<u64> {
    // Rates read from text are positive.
    rate.0.is_finite().then(|| (rate.0 as u64).max(1))
}

/// Formats a link's rate in the usual unit: `1 Gbit/s`, `100 Mbit/s`.
pub(crate) fn link_words(rate: BytesPerSecond) -> String {
    let gbit = rate.as_gbit();
    if gbit.is_infinite() {
        "unlimited".to_owned()
    } else if gbit >= 1.0 {
        format!("{gbit} Gbit/s")
    } else {
        format!("{} Mbit/s", gbit * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_plain_names() {
        for good in ["scratch", "my-bucket.2026", "old_bucket", "Old"] {
            assert_eq!(bucket(good).as_deref(), Ok(good));
        }
        for bad in ["", "ab", "s3://scratch", "a/b", "-ab", "ab.", "a b c", "bücket"] {
            assert!(bucket(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn delays_are_read_from_text() {
        for (text, micros) in [
            ("10ms", Some(10_000)),
            ("500us", Some(500)),
            ("1.5 s", Some(1_500_000)),
            ("60m", Some(3_600_000_000)),
            ("61min", None),
            ("0s", Some(0)),
            ("10", None),
            ("ms", None),
            ("-1s", None),
            ("1.2.3s", None),
            ("99999s", None),
        ] {
            let read = text.parse::<Latency>().ok().map(|latency| latency.0.as_micros());
            assert_eq!(read, micros, "{text}");
        }
    }

    #[test]
    fn times_to_wait_are_read_from_text() {
        for (text, seconds) in [
            ("30s", Some(Some(30.0))),
            ("1.5 min", Some(Some(90.0))),
            ("2h", Some(Some(7200.0))),
            ("250ms", Some(Some(0.25))),
            ("unlimited", Some(None)),
            ("0s", None),
            ("30", None),
            ("1e30h", None),
            ("-1s", None),
        ] {
            let read = text.parse::<Timeout>().ok().map(|time| time.0.map(|t| t.as_secs_f64()));
            assert_eq!(read, seconds, "{text}");
        }
    }

    #[test]
    fn ages_are_read_from_text() {
        for (text, seconds) in [
            ("7d", Some(Some(604_800))),
            ("12h", Some(Some(43_200))),
            ("30m", Some(Some(1800))),
            ("30 min", Some(Some(1800))),
            ("0s", Some(Some(0))),
            ("never", Some(None)),
            ("7", None),
            ("-7d", None),
            ("unlimited", None),
            ("99999999999999999999d", None),
        ] {
            let read = text.parse::<Age>().ok().map(|age| age.0.map(|age| age.as_secs()));
            assert_eq!(read, seconds, "{text}");
        }
    }

    #[test]
    fn prices_are_read_from_text() {
        for (text, dollars) in [
            ("0.05", Some(0.05)),
            ("$1", Some(1.0)),
            ("0", Some(0.0)),
            ("-1", None),
            ("inf", None),
            ("x", None),
        ] {
            assert_eq!(text.parse::<Price>().ok().map(|price| price.0.0), dollars, "{text}");
        }
    }

    #[test]
    fn addresses_are_read_from_text() {
        assert_eq!("127.0.0.1:9000".parse::<Address>().unwrap().socket.port(), 9000);
        let address = "[::1]:0".parse::<Address>().unwrap();
        assert!(address.socket.is_ipv6() && address.name.is_none());
        let address = "localhost:0".parse::<Address>().unwrap();
        assert_eq!(address.name.as_deref(), Some("localhost"));
        assert!("9000".parse::<Address>().is_err());
        assert!("127.0.0.1".parse::<Address>().is_err());
    }

    #[test]
    fn links_are_named_as_they_are_sold() {
        for (text, words, rate) in [
            ("1gbit", "1 Gbit/s", Some(125_000_000)),
            ("100 Mbit", "100 Mbit/s", Some(12_500_000)),
            ("unlimited", "unlimited", None),
        ] {
            let read: BytesPerSecond = text.parse().unwrap();
            assert_eq!((link_words(read).as_str(), whole_rate(read)), (words, rate));
        }
    }
}
