//! Sweeps: axes with their points.

use std::str::FromStr;

use super::{Knob, ParseWhatIfError};
use crate::quantity::number_and_unit;

/// The default number of points of an axis: four for each of three decades, and the last.
const POINTS: usize = 13;

/// The largest number of points of an axis.
pub const MOST_POINTS: usize = 1000;

/// The quantity that changes along an axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Axis {
    /// A constant of hardware or prices.
    Constant(Knob),
    /// The amount of everything that the query reads: 10 means ten times as much, see
    /// [`Steps::scaled`](crate::Steps::scaled).
    Scale,
    /// The fraction of the rows that pass, 0 to 1. Its effects depend on the query, which must be described anew for
    /// each point.
    Selectivity,
}

impl Axis {
    /// The axis's name as the user wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Constant(knob) => knob.name(),
            Self::Scale => "scale",
            Self::Selectivity => "selectivity",
        }
    }

    /// Formats a value on the axis for a table or a chart.
    #[must_use]
    pub fn show(&self, value: f64) -> String {
        match self {
            Self::Constant(knob) => knob.show(value),
            Self::Scale => format!("{} ×", rounded(value)),
            Self::Selectivity => rounded(value).to_string(),
        }
    }

    /// The unit for a chart's axis, and its size in the unit of [`Sweep::points`].
    #[must_use]
    pub fn unit(&self) -> (&'static str, f64) {
        match self {
            Self::Constant(knob) => knob.unit(),
            Self::Scale | Self::Selectivity => ("", 1.0),
        }
    }

    fn read(&self, text: &str) -> Result<f64, ParseWhatIfError> {
        let number = || {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            let message = || format!("`{}` is not a number", text.trim());
            number.ok_or_else(|| ParseWhatIfError::new(self.name(), message()))
        };
        match self {
            Self::Constant(knob) => knob.read(text),
            Self::Scale => match number()? {
                scale if (1e-6..=1e6).contains(&scale) => Ok(scale),
                _ => Err(ParseWhatIfError::new("scale", "must be between 1e-6 and 1e6")),
            },
            Self::Selectivity => match number()? {
                part if (0.0..=1.0).contains(&part) => Ok(part),
                _ => Err(ParseWhatIfError::new("selectivity", "must be between 0 and 1")),
            },
        }
    }

    fn is_logarithmic(&self) -> bool {
        match self {
            Self::Constant(knob) => knob.is_logarithmic(),
            Self::Scale | Self::Selectivity => true,
        }
    }
}

/// An axis with its points, in the order in which they were written.
///
/// ```
/// use sluicegate_costmodel::what_if::Sweep;
///
/// let sweep: Sweep = "bandwidth=0.1..100Gbit/4".parse().unwrap();
/// let shown: Vec<_> = sweep.points.iter().map(|it| sweep.axis.show(*it)).collect();
/// assert_eq!(shown, ["100 Mbit/s", "1 Gbit/s", "10 Gbit/s", "100 Gbit/s"]);
/// let sweep: Sweep = "latency=0ms,5ms,30ms".parse().unwrap();
/// assert_eq!(sweep.points, [0.0, 0.005, 0.03]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The quantity that changes.
    pub axis: Axis,
    /// The values on the axis without duplicates, in bytes per second, seconds or dollars.
    pub points: Vec<f64>,
}

impl FromStr for Sweep {
    type Err = ParseWhatIfError;

    /// Parses `name=low..high`, optionally with `/points` (default 13), or `name=value,value`.
    ///
    /// A unit at the end applies to all values. Points have equal ratios; for a constant that is a fraction, or if
    /// the first value is 0, they have equal differences.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((name, values)) = text.split_once('=') else {
            let message = "an axis is `name=low..high`, as `bandwidth=0.1..100Gbit`";
            return Err(ParseWhatIfError::new(text.trim(), message));
        };
        let axis = match name.trim() {
            "scale" => Axis::Scale,
            "selectivity" => Axis::Selectivity,
            name => Axis::Constant(name.parse()?),
        };
        let points = match values.split_once("..") {
            Some((low, high)) => range(&axis, low, high)?,
            None => {
                let values: Vec<_> = values.split(',').collect();
                let last = values.last().copied().unwrap_or_default();
                // Parsed first so that an error shows the last value as written, before its unit is applied to all.
                axis.read(last)?;
                let unit = unit(last);
                let read = |text: &&str| axis.read(&with_unit(text, unit));
                values.iter().map(read).collect::<Result<Vec<_>, _>>()?
            }
        };
        let mut each = Vec::new();
        for point in points {
            let point = match &axis {
                Axis::Constant(knob) => knob.settle(point),
                Axis::Scale | Axis::Selectivity => point,
            };
            if !each.contains(&point) {
                each.push(point);
            }
        }
        Ok(Self { axis, points: each })
    }
}

fn range(axis: &Axis, low: &str, high: &str) -> Result<Vec<f64>, ParseWhatIfError> {
    let error = |message: String| ParseWhatIfError::new(axis.name(), message);
    // Rates contain a slash as well: `1..10 MB/s/5`.
    let number = high
        .rsplit_once('/')
        .filter(|(_, points)| points.trim().starts_with(|first: char| first.is_ascii_digit()));
    let (high, points) = match number {
        Some((high, points)) => {
            let few = points.trim().parse().ok().filter(|it| (2..=MOST_POINTS).contains(it));
            let message =
                || format!("`{}` is not a number of points, 2 to {MOST_POINTS}", points.trim());
            (high, few.ok_or_else(|| error(message()))?)
        }
        None => (high, POINTS),
    };
    let (high, low) = (axis.read(high)?, axis.read(&with_unit(low, unit(high)))?);
    if !low.is_finite() || !high.is_finite() {
        return Err(error("an axis must end somewhere".to_owned()));
    }
    if low >= high {
        return Err(error("the first value must be below the last".to_owned()));
    }
    let last = (points - 1) as f64;
    let point = |place: usize| {
        let part = place as f64 / last;
        match place {
            // The end points are exact.
            0 => low,
            _ if place + 1 == points => high,
            _ if low > 0.0 && axis.is_logarithmic() => low * (high / low).powf(part),
            _ => low + (high - low) * part,
        }
    };
    Ok((0..points).map(point).collect())
}

/// The part after the number.
fn unit(text: &str) -> &str {
    let text = text.trim();
    let end = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '$' | '-' | '+');
    text.trim_start_matches(end)
}

/// Appends this unit to a plain number; returns any other text unchanged.
fn with_unit(text: &str, unit: &str) -> String {
    match number_and_unit(text) {
        Some((_, none)) if none.is_empty() && !unit.starts_with(['e', 'E']) => {
            format!("{}{unit}", text.trim())
        }
        _ => text.to_owned(),
    }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &[&str]) {
        let sweep: Sweep = text.parse().unwrap();
        let points: Vec<_> = sweep.points.iter().map(|it| sweep.axis.show(*it)).collect();
        assert_eq!(points, shown, "{text}");
    }

    #[test]
    fn axes_have_points() {
        check("bandwidth=0.1..10Gbit/3", &["100 Mbit/s", "1 Gbit/s", "10 Gbit/s"]);
        check("bandwidth=100Mbit..10Gbit/3", &["100 Mbit/s", "1 Gbit/s", "10 Gbit/s"]);
        check("bandwidth=1..100 MB/s/3", &["8 Mbit/s", "80 Mbit/s", "800 Mbit/s"]);
        check("bandwidth = 1, 10 ,100 Gbit", &["1 Gbit/s", "10 Gbit/s", "100 Gbit/s"]);
        check("latency=0..30ms/4", &["0ns", "10ms", "20ms", "30ms"]);
        check("hour-price=$1..$4/3", &["$1", "$2", "$4"]);
        check("overlap=0.5..1/3", &["0.5", "0.75", "1"]);
        check("scale=0.1..10/3", &["0.1 ×", "1 ×", "10 ×"]);
        check("selectivity=1e-6..1e-2/3", &["0.000001", "0.0001", "0.01"]);
        check("cores=2,4,4,8", &["2", "4", "8"]);
        check("cores=1..4", &["1", "2", "3", "4"]);
        check("capacities.switch pipeline=1e6..1e8/3", &["1000000", "10000000", "100000000"]);
        assert_eq!("bandwidth=1..10Gbit".parse::<Sweep>().unwrap().points.len(), POINTS);
        // The slash of a rate does not start a number of points.
        assert_eq!("bandwidth=1..10 MB/s".parse::<Sweep>().unwrap().points.len(), POINTS);
    }

    #[test]
    fn a_bad_axis_is_named() {
        for (text, expected) in [
            ("bandwidth", "`bandwidth`: an axis is `name=low..high`"),
            ("speed=1..2", "`speed`: is not a constant; there are bandwidth"),
            ("bandwidth=1..10", "`bandwidth`: `10` is not a rate"),
            ("bandwidth=0.1..10Gb/s", "`bandwidth`: `10Gb/s` is not a rate: it may be bits"),
            ("bandwidth=10..1Gbit", "`bandwidth`: the first value must be below the last"),
            ("bandwidth=1Gbit..unlimited", "`bandwidth`: an axis must end somewhere"),
            ("bandwidth=1..10Gbit/1", "`bandwidth`: `1` is not a number of points"),
            ("bandwidth=1..10Gbit/1001", "`bandwidth`: `1001` is not a number of points"),
            ("latency=-5..5ms", "`latency`: `-5` is not a time"),
            ("latency=", "`latency`: `` is not a time"),
            ("selectivity=0..2", "`selectivity`: must be between 0 and 1"),
            ("scale=0..2", "`scale`: must be between"),
            ("scale=big..2", "`scale`: `big` is not a number"),
            ("hour-price=-1..2", "`hour-price`: a price must be"),
            ("cores=1,0", "`cores`: must be between 1 and"),
            ("cores=1,1.5", "`cores`: must be a whole number"),
            ("cores=1,nan", "`cores`: must be between 1 and"),
            ("cores=1,,2", "`cores`: `` is not a number"),
        ] {
            let error = text.parse::<Sweep>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
