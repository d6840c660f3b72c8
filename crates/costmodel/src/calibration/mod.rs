//! Calibration: finds the constants of a [`HardwareProfile`] from experiments.
//!
//! An [`Experiment`] is a request to a store or to this machine ([`MeasuredOperation`]), with the seconds that it took each time,
//! by the clock or as CPU time. Most experiments use one resource at a time, so that their times are sums of known
//! amounts (requests, bytes, rows × terms) times unknown constants. [`fit()`] finds these constants by least squares
//! with coefficients that are not negative and with relative errors. Whole queries then give the rest: how long
//! planning takes, how many requests are in flight, and how much of the resources' times overlaps.
//!
//! Nothing here sends a request or reads a clock.

mod fit;
mod nnls;
mod regression;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::fit::{Fit, fit};
use crate::data;
use crate::{Bytes, Format, HardwareProfile, Phase, Requests, ScanWork, Steps, Terms, predict};

/// The request or computation of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum MeasuredOperation {
    /// One GET of this many bytes, alone.
    Get(Bytes),
    /// GETs with a fixed number of them in flight.
    Gets {
        /// The number of GETs.
        requests: Requests,
        /// The number of GETs in flight.
        lanes: u32,
        /// The bytes of all GETs together.
        bytes: Bytes,
    },
    /// GETs whose CPU time in this process is measured, in seconds. If the store is part of the process, its CPU time
    /// is included.
    Receive {
        /// The number of GETs.
        requests: Requests,
        /// The bytes of all GETs together.
        bytes: Bytes,
    },
    /// One statement, alone, with a short answer.
    Select(ScanWork),
    /// One statement, sent several times at once.
    Selects {
        /// The number of concurrent statements.
        lanes: u32,
        /// The store's part of one statement.
        each: ScanWork,
    },
    /// Parsing of an object in memory by one core, while the others do the same.
    Parse {
        /// The format of the object.
        format: Format,
        /// The bytes of the object, or of the column chunks that are needed.
        bytes: Bytes,
        /// The number of values that are needed.
        values: f64,
    },
    /// Decoding of an answer in Arrow that is in memory, by one core, while the others do the same.
    Decode {
        /// True if the answer is compressed.
        is_compressed: bool,
        /// The bytes of the answer.
        bytes: Bytes,
        /// The number of values in the answer.
        values: f64,
    },
    /// Aggregation of rows in memory by one core, while the others do the same.
    Aggregate {
        /// The terms that are evaluated, for all rows together.
        here: Terms,
    },
    /// A whole query over objects of a few bytes each.
    Small {
        /// The number of objects.
        objects: u64,
    },
    /// A whole query that consists of this phase.
    Query(Box<Phase>),
}

/// A request and the times that it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The request or computation that was timed.
    pub asked: MeasuredOperation,
    /// The measured time of each repetition, in seconds.
    pub seconds: Vec<f64>,
}

/// The relative scatter of repetitions above which a machine, or the network to the store, counts as noisy.
pub const NOISY_SCATTER: f64 = 0.1;

/// The load per core before the first experiment above which a machine counts as noisy.
pub const NOISY_LOAD: f64 = 0.3;

impl Experiment {
    /// The median of the times; NaN if there are none.
    #[must_use]
    pub fn median(&self) -> f64 {
        median(self.seconds.clone())
    }

    /// The typical relative distance of a time from the median: 1.4826 times the median of the distances, which is
    /// the standard deviation if times are normally distributed.
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

    /// The relative distance between the prediction for a whole query and its median time. `None` for other
    /// experiments.
    #[must_use]
    pub fn error(&self, hardware: &HardwareProfile) -> Option<f64> {
        let MeasuredOperation::Query(phase) = &self.asked else { return None };
        let predicted = predict(&Steps::Phase(phase.clone()), hardware).total().as_secs_f64();
        Some((predicted - self.median()).abs() / self.median())
    }
}

/// The typical relative scatter: the median over the experiments that were repeated.
#[must_use]
pub fn scatter(experiments: &[Experiment]) -> f64 {
    let repeated = experiments.iter().filter(|experiment| experiment.seconds.len() > 1);
    let all: Vec<f64> = repeated.map(Experiment::scatter).filter(|it| it.is_finite()).collect();
    if all.is_empty() { 0.0 } else { median(all) }
}

/// The median. For an even number it is the mean of the two in the middle; NaN for no numbers.
#[must_use]
pub fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    let (low, high) = (all.get(all.len().saturating_sub(1) / 2), all.get(all.len() / 2));
    match (low, high) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}

/// The record of a calibration in a profile's file: how its constants were measured.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The store: its URL, or AWS with its region.
    pub endpoint: String,
    /// The number of repetitions of each experiment.
    pub rounds: u32,
    /// The number of runnable processes per core before the first experiment; `None` if the machine does not report
    /// it.
    pub load: Option<f64>,
    /// Reasons to distrust the constants; empty if no noise was noticed.
    #[serde(default)]
    pub noise: Vec<String>,
    /// The constants that are assumed, because no measurement determines them.
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
        Experiment { asked: MeasuredOperation::Get(Bytes(1)), seconds: seconds.to_vec() }
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
