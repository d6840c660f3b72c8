//! The option for the time that stores may be silent.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use datafusion::common::config::{ConfigField, Visit};
use datafusion::common::{DataFusionError, Result, config_err};

/// The time that a store may be silent, before an answer begins and between its parts, until a query fails. After
/// half of it, the request is retried once. The range is [`IdleTimeout::LEAST`] to [`IdleTimeout::MOST`]; the default
/// is the setting of each endpoint
/// ([`ConnectOptions::idle_timeout`](sluicegate_client::ConnectOptions::idle_timeout)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IdleTimeout(Option<Duration>);

impl IdleTimeout {
    /// The shortest idle timeout that is accepted.
    pub const LEAST: Duration = Duration::from_millis(100);
    /// The longest idle timeout that is accepted.
    pub const MOST: Duration = Duration::from_secs(3600);

    /// Returns the time, or `None` if each endpoint's own setting applies.
    #[must_use]
    pub const fn get(self) -> Option<Duration> {
        self.0
    }
}

/// Parses a number with its unit: `500ms`, `30s`, `1.5min`, `1h`.
fn time(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    let time = Duration::try_from_secs_f64(number * seconds).ok()?;
    (IdleTimeout::LEAST..=IdleTimeout::MOST).contains(&time).then_some(time)
}

impl FromStr for IdleTimeout {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        match time(text) {
            _ if text.eq_ignore_ascii_case("auto") => Ok(Self(None)),
            Some(time) => Ok(Self(Some(time))),
            None => config_err!(
                "sluice.idle_timeout is '{text}', but must be 'auto' or a time from 100ms to 1h, such \
                 as '30s' or '2min'"
            ),
        }
    }
}

impl fmt::Display for IdleTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(time) if time.subsec_millis() == 0 => write!(f, "{}s", time.as_secs()),
            Some(time) => write!(f, "{}ms", time.as_millis()),
        }
    }
}

impl ConfigField for IdleTimeout {
    fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
        v.some(key, self, description);
    }

    fn set(&mut self, _key: &str, value: &str) -> Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_limits() {
        for (text, shown) in [
            ("auto", "auto"),
            ("30s", "30s"),
            ("2 min", "120s"),
            ("1.5s", "1500ms"),
            ("100ms", "100ms"),
            ("1h", "3600s"),
        ] {
            let read: IdleTimeout = text.parse().unwrap();
            assert_eq!(read.to_string(), shown);
            assert_eq!(shown.parse::<IdleTimeout>().unwrap(), read);
        }
        for wrong in ["", "30", "s", "0s", "99ms", "61min", "-1s", "nans", "infs", "1e99h", "1d"] {
            let said = wrong.parse::<IdleTimeout>().unwrap_err().to_string();
            assert!(said.contains("a time from 100ms to 1h"), "{wrong}: {said}");
        }
    }
}
