//! Calibration: the constants of a [`HardwareProfile`] from experiments.
//!
//! An experiment is something that was [`Asked`] of a store, or of this machine, and the seconds that
//! it took each time: by the clock, or of CPU time. Most ask one resource at a time, so that their times are sums of known amounts
//! (requests, bytes, rows × terms) times unknown constants; [`fit()`] finds these by least squares with
//! coefficients that are not negative, with relative errors.
//! Whole queries then tell what is left: how long planning takes, how many requests are under way at
//! once, and how much of the resources' times overlaps.
//!
//! Nothing here sends a request or reads a clock.

mod fit;
mod nnls;
mod regression;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::fit::{Fit, fit};
use crate::data;
use crate::{Bytes, Format, HardwareProfile, Phase, Requests, Scanned, Steps, Terms, predict};

/// What was asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// One GET of so many bytes, alone.
    Get(Bytes),
    /// GETs with so many under way at any time.
    Gets {
        /// How many.
        requests: Requests,
        /// How many at once.
        lanes: u32,
        /// The bytes of all.
        bytes: Bytes,
    },
    /// The CPU time of this process, in seconds, of GETs. Where the store is a part of it, it is that
    /// of both.
    Receive {
        /// How many.
        requests: Requests,
        /// The bytes of all.
        bytes: Bytes,
    },
    /// One statement, alone, whose answer is short.
    Select(Scanned),
    /// The same statement so often at once.
    Selects {
        /// How often.
        lanes: u32,
        /// One of them.
        each: Scanned,
    },
    /// An object in memory, parsed here by one core, while the others parse it, too.
    Parse {
        /// Its format.
        format: Format,
        /// Its bytes.
        bytes: Bytes,
        /// The values that are asked for.
        values: f64,
    },
    /// Rows in memory, aggregated here by one core, while the others do the same.
    Aggregate {
        /// What is evaluated for all rows together.
        here: Terms,
    },
    /// A whole query over so many objects of a few bytes each.
    Small {
        /// How many.
        objects: u64,
    },
    /// A whole query that asks for this.
    Query(Box<Phase>),
}

/// What was asked, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// What was asked.
    pub asked: Asked,
    /// Seconds, each time.
    pub seconds: Vec<f64>,
}

/// The relative scatter of repetitions above which a machine, or the way to the store, is noisy.
pub const NOISY_SCATTER: f64 = 0.1;

/// The load for each core before the first experiment above which a machine is noisy.
pub const NOISY_LOAD: f64 = 0.3;

impl Experiment {
    /// The median of the times; NaN if there are none.
    #[must_use]
    pub fn median(&self) -> f64 {
        median(self.seconds.clone())
    }

    /// How far a time typically lies from the median, relative to it: 1.4826 times the median of the
    /// distances, which is the standard deviation of times that are normally distributed.
    #[must_use]
    pub fn scatter(&self) -> f64 {
        let middle = self.median();
        let distances = self.seconds.iter().map(|seconds| (seconds - middle).abs()).collect();
        1.4826 * median(distances) / middle
    }

    /// The times without outliers: those within three times the scatter of the median.
    pub(crate) fn usual(&self) -> impl Iterator<Item = f64> {
        let (middle, scatter) = (self.median(), self.scatter());
        let usual = move |seconds: &f64| (seconds - middle).abs() <= 3.0 * scatter * middle;
        self.seconds.iter().copied().filter(usual)
    }

    /// How far the prediction for a whole query is from its median, relative to it; none for other
    /// experiments.
    #[must_use]
    pub fn error(&self, hardware: &HardwareProfile) -> Option<f64> {
        let Asked::Query(phase) = &self.asked else { return None };
        let predicted = predict(&Steps::Phase(phase.clone()), hardware).total().as_secs_f64();
        Some((predicted - self.median()).abs() / self.median())
    }
}

/// The typical relative scatter of repeated experiments: the median over those that were repeated.
#[must_use]
pub fn scatter(experiments: &[Experiment]) -> f64 {
    let repeated = experiments.iter().filter(|experiment| experiment.seconds.len() > 1);
    let all: Vec<f64> = repeated.map(Experiment::scatter).filter(|it| it.is_finite()).collect();
    if all.is_empty() { 0.0 } else { median(all) }
}

/// The middle number, the mean of the two of an even number; NaN of none.
#[must_use]
pub fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    let (low, high) = (all.get(all.len().saturating_sub(1) / 2), all.get(all.len() / 2));
    match (low, high) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}

/// How a profile's constants were measured, as its file says.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The store: its URL, or AWS and its region.
    pub endpoint: String,
    /// How often each experiment was repeated.
    pub rounds: u32,
    /// Processes that wanted to run before the first experiment, for each core; none if the machine
    /// does not say.
    pub load: Option<f64>,
    /// Why the constants are to be taken with care; empty if nothing was noticed.
    #[serde(default)]
    pub noise: Vec<String>,
    /// The constants that are assumed because nothing was measured that tells.
    #[serde(default)]
    pub assumed: Vec<String>,
    /// The constants that were measured, with the interval that holds the true value with a
    /// probability of 95 %.
    #[serde(default, deserialize_with = "data::intervals")]
    pub intervals: BTreeMap<String, [f64; 2]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(seconds: &[f64]) -> Experiment {
        Experiment { asked: Asked::Get(Bytes(1)), seconds: seconds.to_vec() }
    }

    #[test]
    fn outliers_move_neither_the_median_nor_the_scatter_much() {
        assert_eq!(experiment(&[1.0, 3.0, 2.0]).median(), 2.0);
        assert_eq!(experiment(&[1.0, 2.0]).median(), 1.5);
        assert!(experiment(&[]).median().is_nan());
        let quiet = experiment(&[1.0, 1.01, 0.99, 1.0, 50.0]);
        assert_eq!(quiet.median(), 1.0);
        assert!(quiet.scatter() < 0.02);
        assert_eq!(quiet.usual().collect::<Vec<_>>(), [1.0, 1.01, 0.99, 1.0]);
        assert_eq!(experiment(&[2.0, 2.0]).usual().count(), 2);
        assert!(experiment(&[1.0, 2.0, 0.5, 3.0]).scatter() > NOISY_SCATTER);
    }

    #[test]
    fn the_typical_scatter_is_that_of_what_was_repeated() {
        assert_eq!(scatter(&[]), 0.0);
        assert_eq!(scatter(&[experiment(&[1.0])]), 0.0);
        let noisy = experiment(&[1.0, 2.0, 0.5, 3.0]);
        assert_eq!(scatter(&[experiment(&[1.0]), noisy.clone()]), noisy.scatter());
    }
}
