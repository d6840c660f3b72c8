//! The objective of a choice: time, dollars, or a weighted sum.

use std::fmt;
use std::str::FromStr;

use crate::Dollars;

/// The quantity that a choice minimises.
///
/// ```
/// use sluicegate_costmodel::{Dollars, Objective};
///
/// let objective: Objective = "12 dollars per hour".parse().unwrap();
/// assert_eq!(objective, Objective::Weighted { dollars_per_hour: Dollars(12.0) });
/// assert_eq!(objective.to_string(), "12 dollars per hour");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Objective {
    /// Seconds; dollars decide among times that are [alike](crate::ALIKE).
    #[default]
    Time,
    /// Dollars; seconds decide a tie.
    Dollars,
    /// The bill plus a price for the hours of waiting.
    Weighted {
        /// The price of an hour of waiting, in addition to the rent of the machine.
        dollars_per_hour: Dollars,
    },
}

impl Objective {
    /// The score of these seconds and dollars. Lower is better; the second number decides a tie.
    pub(crate) fn score(self, seconds: f64, dollars: f64) -> (f64, f64) {
        match self {
            Self::Time => (seconds, dollars),
            Self::Dollars => (dollars, seconds),
            Self::Weighted { dollars_per_hour } => {
                (dollars_per_hour.0 / 3600.0 * seconds + dollars, seconds)
            }
        }
    }
}

const PER_HOUR: &str = "dollars per hour";

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.write_str("time"),
            Self::Dollars => f.write_str("dollars"),
            Self::Weighted { dollars_per_hour } => write!(f, "{} {PER_HOUR}", dollars_per_hour.0),
        }
    }
}

/// Reports a text that is not an objective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an objective: it must be `time`, `dollars` or what an hour of waiting is worth, such as `12 dollars per hour`"
)]
pub struct ParseObjectiveError(String);

impl FromStr for Objective {
    type Err = ParseObjectiveError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = text.to_ascii_lowercase();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.as_str() {
            "time" => Ok(Self::Time),
            "dollars" => Ok(Self::Dollars),
            other => other
                .strip_suffix(PER_HOUR)
                .and_then(|amount| amount.trim_end().parse().ok())
                .filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
                .map(|amount| Self::Weighted { dollars_per_hour: Dollars(amount) })
                .ok_or_else(|| ParseObjectiveError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_objective_is_refused_by_name() {
        for text in [
            "",
            "fast",
            "12",
            "-1 dollars per hour",
            "inf dollars per hour",
            "NaN dollars per hour",
            "dollars per hour",
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not an objective")), "{error}");
        }
        assert_eq!(" Time ".parse(), Ok(Objective::Time));
        assert_eq!("DOLLARS".parse(), Ok(Objective::Dollars));
    }

    proptest! {
        #[test]
        fn an_objective_reads_as_it_is_written(amount in 0.0..1e9f64) {
            let objective = Objective::Weighted { dollars_per_hour: Dollars(amount) };
            prop_assert_eq!(objective.to_string().parse(), Ok(objective));
        }
    }
}
