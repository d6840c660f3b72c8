//! The uncertainty of predictions: intervals, and the constants that cause them.
//!
//! A prediction is as good as its constants. [`Uncertainty`] holds an interval for each of them. [`intervals`] draws
//! all constants at once and predicts again. [`sensitivity`] changes one constant at a time and finds those whose
//! uncertainty matters.

mod intervals;
mod sensitivity;

use std::collections::BTreeMap;

pub(crate) use self::intervals::percentiles;
pub use self::intervals::{Interval, StrategyInterval, intervals};
pub use self::sensitivity::{Output, Sensitivity, sensitivity};
use crate::{HardwareProfile, Scenario};

/// The factor within which a constant that was not measured here lies of its value, with a probability of 95 %.
///
/// Published figures for the same store differ by about as much: 50 MiB/s per connection, 45 to 100; 130 MB/s per
/// Select, 90 to 130.
pub const PUBLISHED: f64 = 1.5;

/// The factor within which a constant that was measured here lies, if its interval is not known.
pub const CALIBRATED: f64 = 1.1;

/// The relative standard deviation of the model's own error, with the right constants: the median error of `max +
/// α·(sum − max)` on 104 pairs of query and link that it was not fitted to.
pub const MODEL_ERROR: f64 = 0.08;

/// The number of standard deviations on each side of a normal distribution's median that hold 95 % of it.
const SIGMAS_OF_95_PERCENT: f64 = 1.959_964;

/// The uncertainty of the constants and of the model itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncertainty {
    /// The interval that holds the true value with a probability of 95 %, for each constant by its key. Constants
    /// without an entry are exact.
    pub constants: BTreeMap<String, [f64; 2]>,
    /// The relative standard deviation of predictions with the right constants, 0 or more; see [`MODEL_ERROR`].
    pub model: f64,
}

impl Uncertainty {
    /// The uncertainty of a profile: the intervals of its calibration, and a factor of [`PUBLISHED`] for constants
    /// that were not calibrated.
    ///
    /// Prices are exact. The client's cores, its machines and its connections are exact as well, unless a calibration
    /// measured them.
    #[must_use]
    pub fn from_profile(hardware: &HardwareProfile) -> Self {
        let calibration = hardware.calibration.as_deref();
        let mut constants = BTreeMap::new();
        let profile = Scenario { hardware: hardware.clone(), ..Scenario::default() };
        for (key, value) in profile.constants() {
            let known = calibration.and_then(|it| it.intervals.get(&key));
            let is_assumed = calibration.is_none_or(|it| it.assumed.contains(&key));
            let is_configured =
                ["client.cores", "client.machines", "requests.slots"].contains(&key.as_str());
            if !value.is_finite() || key.starts_with("prices.") || known.is_none() && is_configured
            {
                continue;
            }
            let factor = if is_assumed { PUBLISHED } else { CALIBRATED };
            constants.insert(key.clone(), interval(&key, value, factor, known));
        }
        Self { constants, model: MODEL_ERROR }
    }

    /// Makes these constants exact, such as those of a "what if".
    #[must_use]
    pub fn without<'a>(mut self, exact: impl IntoIterator<Item = &'a str>) -> Self {
        for key in exact {
            self.constants.remove(key);
        }
        self
    }

    /// A scenario whose constants are off by these numbers of standard deviations, in the order of
    /// [`Self::constants`].
    pub(crate) fn drawn(&self, scenario: &Scenario, deviations: &[f64]) -> Scenario {
        let mut drawn = scenario.clone();
        for ((key, interval), deviation) in self.constants.iter().zip(deviations) {
            if let Some(value) = drawn.value(key) {
                let value = Scenario::nearest(key, quantile(value, *interval, *deviation));
                // This cannot fail: the scenario has the key, and the value is within its range.
                let _ = drawn.set(key, value);
            }
        }
        drawn
    }
}

/// An interval around a value: the known one, or one by a factor. Uninformative bounds, 0 and infinity, are replaced
/// by the factor for constants that were not measured.
fn interval(key: &str, value: f64, factor: f64, known: Option<&[f64; 2]>) -> [f64; 2] {
    // The factor applies to the part that does not overlap, because α is like a rate.
    let overlaps = key.ends_with("overlap");
    let around = |factor: f64| {
        if overlaps {
            let rest = (1.0 - value) * factor;
            [1.0 - rest.min(1.0), (1.0 - (1.0 - value) / factor).min(1.0)]
        } else {
            [value / factor, value * factor]
        }
    };
    let Some([low, high]) = known else { return around(factor) };
    let says = |bound: f64| bound.is_finite() && (bound > 0.0 || overlaps);
    let [least, most] = around(PUBLISHED);
    [
        if says(*low) { low.min(value) } else { least },
        if says(*high) { high.max(value) } else { most },
    ]
}

/// The value that lies this many standard deviations from the median. Each side is log-normal, because rates and
/// times are known to within a factor; a side with a bound of 0 is normal.
fn quantile(median: f64, [low, high]: [f64; 2], deviation: f64) -> f64 {
    let part = deviation.abs() / SIGMAS_OF_95_PERCENT;
    let bound = if deviation < 0.0 { low } else { high };
    if median > 0.0 && bound > 0.0 {
        median * (bound / median).powf(part)
    } else {
        (median + part * (bound - median)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Calibration;

    #[test]
    fn what_was_measured_is_more_certain() {
        let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
        let published = Uncertainty::from_profile(&hardware);
        assert_eq!(published.constants["link.bytes_per_second"], [80e6, 180e6]);
        let [low, high] = published.constants["client.overlap"];
        assert!((low - 0.55).abs() < 1e-9 && (high - 0.8).abs() < 1e-9, "{low} {high}");
        assert!(!published.constants.contains_key("client.cores"));
        assert!(!published.constants.keys().any(|key| key.starts_with("prices")));
        let intervals = [
            ("link.bytes_per_second", [110e6, 130e6]),
            ("link.latency_seconds", [0.0, 0.002]),
            ("requests.per_second", [15_000.0, f64::INFINITY]),
            ("requests.slots", [60.0, 70.0]),
            // The value was limited by the base profile.
            ("link.connection_bytes_per_second", [125e6, 130e6]),
        ];
        hardware.calibration = Some(Box::new(Calibration {
            intervals: intervals.map(|(key, interval)| (key.to_owned(), interval)).into(),
            assumed: vec!["select.term_seconds".to_owned()],
            ..Calibration::default()
        }));
        let calibrated = Uncertainty::from_profile(&hardware).constants;
        assert_eq!(calibrated["link.bytes_per_second"], [110e6, 130e6]);
        assert_eq!(calibrated["link.latency_seconds"], [0.001 / 1.5, 0.002]);
        assert_eq!(calibrated["requests.per_second"], [15_000.0, 30_000.0]);
        assert_eq!(calibrated["requests.slots"], [60.0, 70.0]);
        assert_eq!(calibrated["link.connection_bytes_per_second"], [120e6, 130e6]);
        assert_eq!(calibrated["select.term_seconds"], published.constants["select.term_seconds"]);
        let [low, high] = calibrated["client.csv_bytes_per_second"];
        assert!((high / low - 1.21).abs() < 1e-9);
    }

    #[test]
    fn quantiles_meet_the_interval() {
        for (deviation, expected) in [(0.0, 100.0), (SIGMAS_OF_95_PERCENT, 400.0)] {
            assert!((quantile(100.0, [50.0, 400.0], deviation) - expected).abs() < 1e-6);
        }
        assert!((quantile(100.0, [50.0, 400.0], -SIGMAS_OF_95_PERCENT) - 50.0).abs() < 1e-6);
        assert!((quantile(0.0, [0.0, 4.0], SIGMAS_OF_95_PERCENT) - 4.0).abs() < 1e-6);
        assert_eq!(quantile(1.0, [0.0, 4.0], -9.0), 0.0);
    }

    #[test]
    fn what_is_drawn_can_be() {
        let scenario = Scenario::default();
        let uncertainty = Uncertainty::from_profile(&scenario.hardware);
        for deviation in [-1e3, 0.0, 1e3] {
            let deviations = vec![deviation; uncertainty.constants.len()];
            let drawn = uncertainty.drawn(&scenario, &deviations).hardware;
            assert_eq!(HardwareProfile::parse(&drawn.to_string()).as_ref(), Ok(&drawn));
            assert_eq!(drawn == scenario.hardware, deviation == 0.0);
        }
        let some = uncertainty.without(["link.bytes_per_second"]);
        assert!(!some.constants.contains_key("link.bytes_per_second"));
    }
}
