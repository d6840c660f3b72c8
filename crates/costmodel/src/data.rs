//! Reads the TOML of price books and hardware profiles and reports errors with their line and key.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use crate::{BytesPerSecond, Dollars};

/// A data file that cannot be used, with the line and, if there is one, the key of the error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {message}", .key.as_ref().map(|key| format!(", `{key}`")).unwrap_or_default())]
pub struct DataError {
    /// The line of the error, counted from 1.
    pub line: usize,
    /// The key on that line with its table, such as `requests.get`. `None` if the line has no key.
    pub key: Option<String>,
    /// The error, in words.
    pub message: String,
}

/// Parses a data file.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, DataError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let (line, key) = position(text, start);
        DataError { line, key, message: error.message().replace('\n', "; ") }
    })
}

/// The line number and key at a byte offset.
fn position(text: &str, offset: usize) -> (usize, Option<String>) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count();
    let key = text
        .lines()
        .nth(line)
        .and_then(|line| line.split_once('='))
        .map(|(key, _)| key.trim())
        .filter(|key| !key.is_empty() && !key.starts_with('#'));
    let table = text
        .lines()
        .take(line)
        .filter_map(|line| line.trim().strip_prefix('[')?.split_once(']'))
        .last()
        .map(|(table, _)| table.trim());
    let key = key.map(|key| table.map_or_else(|| key.to_owned(), |table| format!("{table}.{key}")));
    (line + 1, key)
}

/// Parses a data file that is part of this crate.
#[expect(clippy::expect_used, reason = "the text is compiled in, and a test reads each one")]
pub(crate) fn embedded<T: DeserializeOwned>(text: &'static str) -> T {
    parse(text).expect("embedded data is well-formed")
}

/// The largest accepted price. Larger prices are mistakes, and with this limit sums and products stay finite.
const MOST_DOLLARS: f64 = 1e9;
/// The slowest accepted rate, in bytes or units of a resource per second.
const LEAST_RATE: f64 = 1.0;
/// The lowest accepted rate of requests, per second.
const LEAST_REQUESTS: f64 = 0.001;
/// The longest accepted time of a single action: an hour.
const MOST_SECONDS: f64 = 3600.0;
/// The largest accepted number of cores, or of requests in flight.
const MOST_AT_ONCE: u32 = 1_000_000;

/// The values that a constant may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// Dollars, from 0 to a billion.
    Price,
    /// Requests per second; infinity means no limit.
    Requests,
    /// Bytes, or units of a resource, per second; infinity means no limit.
    Rate,
    /// A whole number of things that exist at the same time.
    AtOnce,
    /// A number of cores that work at the same time. It need not be whole, because cores may slow each other down.
    Cores,
    /// The time of a single action.
    Seconds,
    /// A fraction, 0 to 1.
    Fraction,
}

impl Range {
    /// The smallest and the largest value.
    pub(crate) fn bounds(self) -> (f64, f64) {
        match self {
            Self::Price => (0.0, MOST_DOLLARS),
            Self::Requests => (LEAST_REQUESTS, f64::INFINITY),
            Self::Rate => (LEAST_RATE, f64::INFINITY),
            Self::AtOnce | Self::Cores => (1.0, f64::from(MOST_AT_ONCE)),
            Self::Seconds => (0.0, MOST_SECONDS),
            Self::Fraction => (0.0, 1.0),
        }
    }

    /// Returns the value, or an error message if it is out of bounds or not a number.
    pub(crate) fn check(self, value: f64) -> Result<f64, &'static str> {
        let (least, most) = self.bounds();
        if (least..=most).contains(&value) { Ok(value) } else { Err(self.expected()) }
    }

    /// The nearest allowed value; NaN is returned unchanged.
    pub(crate) fn clamp(self, value: f64) -> f64 {
        let (least, most) = self.bounds();
        value.clamp(least, most)
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Price => "a price must be a number of dollars between 0 and 1e9",
            Self::Requests => "must be at least 0.001; `inf` is no limit",
            Self::Rate => "must be at least 1 byte per second; `inf` is no limit",
            Self::AtOnce | Self::Cores => "must be between 1 and 1000000",
            Self::Seconds => "must be a number of seconds between 0 and 3600",
            Self::Fraction => "must be between 0 and 1",
        }
    }

    fn read<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        self.check(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Deserializes a price.
pub(crate) fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Dollars, D::Error> {
    Range::Price.read(deserializer).map(Dollars)
}

/// Deserializes a text for display and rejects control characters, which a terminal would interpret.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        Some(c) => {
            Err(D::Error::custom(format!("has the control character {}", c.escape_unicode())))
        }
        None => Ok(text),
    }
}

/// Deserializes a number of requests per second.
pub(crate) fn requests_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Range::Requests.read(deserializer)
}

/// Deserializes units per second by resource name.
pub(crate) fn capacities<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, f64>, D::Error> {
    let capacities = BTreeMap::<String, f64>::deserialize(deserializer)?;
    let names = crate::switch::ALL.map(crate::Resource::name);
    if let Some(unknown) = capacities.keys().find(|name| !names.contains(&name.as_str())) {
        let names = names.join(", ");
        return Err(D::Error::custom(format!("`{unknown}` is no resource: there are {names}")));
    }
    match capacities.iter().find(|(_, capacity)| Range::Rate.check(**capacity).is_err()) {
        Some((name, _)) => Err(D::Error::custom(format!("`{name}` must be at least 1 per second"))),
        None => Ok(capacities),
    }
}

/// Deserializes a data rate.
pub(crate) fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BytesPerSecond, D::Error> {
    Range::Rate.read(deserializer).map(BytesPerSecond)
}

/// Deserializes an optional data rate.
pub(crate) fn some_rate<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BytesPerSecond>, D::Error> {
    rate(deserializer).map(Some)
}

/// Deserializes a whole number of things that exist at the same time.
pub(crate) fn at_once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroU32, D::Error> {
    match NonZeroU32::deserialize(deserializer)? {
        number if number.get() <= MOST_AT_ONCE => Ok(number),
        _ => Err(D::Error::custom(Range::AtOnce.expected())),
    }
}

/// Deserializes an optional number of things that exist at the same time.
pub(crate) fn some_at_once<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<NonZeroU32>, D::Error> {
    at_once(deserializer).map(Some)
}

/// Deserializes a number of cores.
pub(crate) fn cores<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Range::Cores.read(deserializer)
}

/// Deserializes the time of a single action.
pub(crate) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Range::Seconds.read(deserializer).map(Duration::from_secs_f64)
}

/// Deserializes an optional time.
pub(crate) fn some_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// Deserializes a fraction.
pub(crate) fn fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Range::Fraction.read(deserializer)
}

/// Deserializes an optional fraction.
pub(crate) fn some_fraction<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<f64>, D::Error> {
    fraction(deserializer).map(Some)
}

/// The lower and the upper bound of a constant.
#[derive(Deserialize)]
#[serde(try_from = "[f64; 2]")]
struct Bounds([f64; 2]);

impl TryFrom<[f64; 2]> for Bounds {
    type Error = &'static str;

    fn try_from([low, high]: [f64; 2]) -> Result<Self, Self::Error> {
        let ordered = 0.0 <= low && low <= high;
        if ordered {
            Ok(Self([low, high]))
        } else {
            Err("must be [low, high] with 0 <= low <= high")
        }
    }
}

/// Deserializes intervals of constants by key. Bounds are at least 0, the lower bound comes first, and infinity means
/// no bound.
pub(crate) fn intervals<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, [f64; 2]>, D::Error> {
    let bounds = BTreeMap::<String, Bounds>::deserialize(deserializer)?;
    Ok(bounds.into_iter().map(|(key, Bounds(interval))| (key, interval)).collect())
}
