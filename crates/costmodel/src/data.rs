//! Price books and hardware profiles are TOML: reading it, and saying what is wrong with it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use crate::{BytesPerSecond, Dollars};

/// A data file that cannot be used. Names the line and, where there is one, the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {message}", .key.as_ref().map(|key| format!(", `{key}`")).unwrap_or_default())]
pub struct DataError {
    /// The line, counted from 1.
    pub line: usize,
    /// The key on that line with its table: `requests.get`. None if the line has no key.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// Reads a data file.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, DataError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let (line, key) = position(text, start);
        DataError { line, key, message: error.message().replace('\n', "; ") }
    })
}

/// Line number and key at a byte offset.
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

/// A data set that is part of this crate.
#[expect(clippy::expect_used, reason = "the text is compiled in, and a test reads each one")]
pub(crate) fn embedded<T: DeserializeOwned>(text: &'static str) -> T {
    parse(text).expect("embedded data is well-formed")
}

/// A price: finite and not negative.
pub(crate) fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Dollars, D::Error> {
    let dollars = f64::deserialize(deserializer)?;
    if dollars.is_finite() && dollars >= 0.0 {
        Ok(Dollars(dollars))
    } else {
        Err(D::Error::custom("a price must be a finite number of dollars, zero or more"))
    }
}

/// A number that divides: positive; `inf` is no limit.
pub(crate) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number > 0.0 { Ok(number) } else { Err(D::Error::custom("must be greater than zero")) }
}

/// Units per second by the names of resources: positive; `inf` is no limit.
pub(crate) fn capacities<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, f64>, D::Error> {
    let capacities = BTreeMap::<String, f64>::deserialize(deserializer)?;
    match capacities.iter().find(|(_, capacity)| **capacity <= 0.0 || capacity.is_nan()) {
        Some((name, _)) => Err(D::Error::custom(format!("`{name}` must be greater than zero"))),
        None => Ok(capacities),
    }
}

/// A data rate; `inf` is no limit.
pub(crate) fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BytesPerSecond, D::Error> {
    positive(deserializer).map(BytesPerSecond)
}

/// A number of seconds that a duration can hold.
pub(crate) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(deserializer)?)
        .map_err(|_| D::Error::custom("must be a number of seconds, zero or more"))
}

/// The same, where it may be left out.
pub(crate) fn some_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// A fraction between 0 and 1.
pub(crate) fn fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err(D::Error::custom("must be between 0 and 1"))
    }
}
