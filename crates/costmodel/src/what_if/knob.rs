//! A constant to change, and the text form of its values.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::ParseWhatIfError;
use crate::data::Range;
use crate::quantity::{digits, number_and_unit};
use crate::scenario::CAPACITIES;
use crate::{BytesPerSecond, ConstantError, Scenario};

pub(super) const LINK: &str = "link.bytes_per_second";
const CONNECTION: &str = "link.connection_bytes_per_second";
const MACHINES: &str = "client.machines";
const HOUR: &str = "prices.compute.per_hour";
const LATENCY: &str = "link.latency_seconds";
const SELECT_LATENCY: &str = "select.latency_seconds";

/// The short names of constants, in the order shown to users.
const SHORT: [(&str, &str); 15] = [
    ("bandwidth", LINK),
    ("latency", LATENCY),
    ("connection", CONNECTION),
    ("slots", "requests.slots"),
    ("request-rate", "requests.per_second"),
    ("cores", "client.cores"),
    ("workers", MACHINES),
    ("overlap", "client.overlap"),
    ("store-cores", "select.cores"),
    ("store-rate", "select.total_bytes_per_second"),
    ("get-price", "prices.requests.get"),
    ("scan-price", "prices.select.scanned"),
    ("return-price", "prices.select.returned"),
    ("transfer-price", "prices.transfer.out"),
    ("hour-price", "prices.compute.per_hour"),
];

/// A constant of a scenario, by a short name or by its key.
///
/// Three short names change more than one constant:
///
/// * `workers` are machines like the client, each with its own link and paid by the hour.
/// * `bandwidth` is the rate of the link. If one connection can use the whole link, its rate changes as well.
/// * `latency` is that of GET; the latency of S3 Select changes by the same amount.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Knob {
    name: String,
    key: String,
}

impl Knob {
    /// The name as the user wrote it: `bandwidth`, `link.bytes_per_second`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key of the constant.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// All short names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHORT.iter().map(|(name, _)| *name)
    }

    /// The constant's value in a scenario, in the unit of its key.
    #[must_use]
    pub fn get(&self, scenario: &Scenario) -> Option<f64> {
        scenario.get(&self.key)
    }

    /// Changes the constant in a scenario.
    ///
    /// # Errors
    ///
    /// In the cases of [`Scenario::set`].
    pub fn set(&self, scenario: &mut Scenario, value: f64) -> Result<(), ConstantError> {
        let before = scenario.get(&self.key);
        if self.name == "bandwidth" {
            return set_link(scenario, value);
        }
        scenario.set(&self.key, value)?;
        match (self.name.as_str(), before) {
            ("latency", Some(before)) => {
                let select = scenario.get(SELECT_LATENCY).unwrap_or(before) + value - before;
                scenario.set(SELECT_LATENCY, Scenario::nearest(SELECT_LATENCY, select))
            }
            ("workers", Some(before)) => {
                let hour = scenario.get(HOUR).unwrap_or_default() * value / before;
                scenario.set(HOUR, Scenario::nearest(HOUR, hour))
            }
            _ => Ok(()),
        }
    }

    /// Parses a value: `10Gbit`, `5ms`, `$0.002`, `70%`, `64`. Keys name their unit, so a plain number is enough for
    /// them.
    ///
    /// # Errors
    ///
    /// If the text is not a value of this kind, or the constant cannot have the value.
    pub fn read(&self, text: &str) -> Result<f64, ParseWhatIfError> {
        let error = |expected: &str| {
            let message = format!("`{}` is not {expected}", text.trim());
            ParseWhatIfError::new(&self.name, message)
        };
        let plain = text.trim().parse::<f64>().ok().filter(|_| !self.needs_unit());
        let value = match (plain, self.range()) {
            (Some(value), _) => value,
            (None, Range::Rate) if self.key.ends_with("bytes_per_second") => {
                let rate = text.parse::<BytesPerSecond>();
                rate.map_err(|error| ParseWhatIfError::new(&self.name, error.to_string()))?.0
            }
            (None, Range::Seconds) => {
                seconds(text).ok_or_else(|| error("a time such as 5ms, 30us or 1s"))?
            }
            (None, Range::Price) => text
                .trim()
                .strip_prefix('$')
                .and_then(|number| number.parse().ok())
                .ok_or_else(|| error("a price such as $0.002"))?,
            (None, Range::Fraction) => text
                .trim()
                .strip_suffix('%')
                .and_then(|number| number.trim().parse::<f64>().ok())
                .map(|percent| percent / 100.0)
                .ok_or_else(|| error("a fraction such as 0.7 or 70%"))?,
            (None, _) => return Err(error("a number")),
        };
        let message = match self.range().check(value) {
            Ok(value) if self.range() != Range::AtOnce || value.fract() == 0.0 => return Ok(value),
            Ok(_) => "must be a whole number",
            Err(_) if self.key.starts_with(CAPACITIES) => {
                "must be at least 1 per second; `inf` is no limit"
            }
            Err(message) => message,
        };
        Err(ParseWhatIfError::new(&self.name, message))
    }

    /// Formats a value in a form that can be parsed: `10 Gbit/s`, `5 ms`.
    #[must_use]
    pub fn show(&self, value: f64) -> String {
        let digits = |number: f64| digits(format!("{number:.2e}").parse().unwrap_or(number));
        match self.range() {
            _ if !value.is_finite() => "unlimited".to_owned(),
            Range::Rate if self.key.ends_with("bytes_per_second") => {
                let bits = value * 8.0;
                let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
                let (size, unit) = units
                    .into_iter()
                    .find(|(size, _)| bits * 1.000_001 >= *size)
                    .unwrap_or((1.0, "bit/s"));
                format!("{} {unit}", digits(bits / size))
            }
            Range::Seconds => {
                let rounded = format!("{:.3e}", value.max(0.0)).parse().unwrap_or(value);
                format!("{:?}", Duration::try_from_secs_f64(rounded).unwrap_or_default())
            }
            Range::Price => format!("${}", digits(value)),
            _ => digits(value),
        }
    }

    /// The unit of an axis with values of this constant, and its size in the unit of the key: a Gbit/s is 1.25e8
    /// bytes per second. The unit is empty for counts and fractions.
    #[must_use]
    pub fn unit(&self) -> (&'static str, f64) {
        match self.range() {
            Range::Rate if self.key.ends_with("bytes_per_second") => ("Gbit/s", 1.25e8),
            Range::Seconds => ("ms", 1e-3),
            Range::Price => ("$", 1.0),
            _ => ("", 1.0),
        }
    }

    /// Returns true if an axis should space its values by their ratios, which holds for all constants but fractions.
    pub(super) fn is_logarithmic(&self) -> bool {
        self.range() != Range::Fraction
    }

    /// The nearest possible value: a whole number for counts.
    pub(super) fn settle(&self, value: f64) -> f64 {
        if self.range() == Range::AtOnce { value.round() } else { value }
    }

    /// Returns true if a plain number would be ambiguous: bits or bytes, seconds or milliseconds.
    fn needs_unit(&self) -> bool {
        self.name != self.key && matches!(self.range(), Range::Rate | Range::Seconds)
    }

    fn range(&self) -> Range {
        Scenario::range(&self.key).unwrap_or(Range::Rate)
    }
}

/// Changes the rate of the link, and the rate of a connection as well if one connection can use the whole link.
pub(super) fn set_link(scenario: &mut Scenario, value: f64) -> Result<(), ConstantError> {
    let before = scenario.get(LINK);
    let has_all = scenario.get(CONNECTION) >= before;
    scenario.set(LINK, value)?;
    if has_all { scenario.set(CONNECTION, value) } else { Ok(()) }
}

fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = number_and_unit(text)?;
    let factor = match unit.to_lowercase().as_str() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        _ => return None,
    };
    Some(number * factor)
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl FromStr for Knob {
    type Err = ParseWhatIfError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let key = SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, key)| *key);
        if Scenario::range(key).is_some() {
            return Ok(Self { name: name.to_owned(), key: key.to_owned() });
        }
        let names: Vec<_> = Self::names().collect();
        let message = format!(
            "is not a constant; there are {}, and the keys of hardware profiles and price books such as \
             select.cores and prices.requests.get",
            names.join(", ")
        );
        Err(ParseWhatIfError::new(name, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HardwareProfile;

    #[test]
    fn every_short_name_is_a_constant() {
        for name in Knob::names() {
            let knob: Knob = name.parse().unwrap();
            let mut scenario = Scenario::default();
            let value = knob.get(&scenario).unwrap();
            knob.set(&mut scenario, value).unwrap();
            assert_eq!(scenario, Scenario::default(), "{name}");
        }
    }

    #[test]
    fn values_have_their_units() {
        for (name, text, expected, shown) in [
            ("bandwidth", "10Gbit", 1.25e9, "10 Gbit/s"),
            ("bandwidth", "125 MB/s", 125e6, "1 Gbit/s"),
            ("bandwidth", "unlimited", f64::INFINITY, "unlimited"),
            ("link.bytes_per_second", "1e9", 1e9, "8 Gbit/s"),
            ("latency", "5ms", 0.005, "5ms"),
            ("select.term_seconds", "3e-7", 3e-7, "300ns"),
            ("latency", "1.6666666ms", 0.001_666_666_6, "1.667ms"),
            ("hour-price", "$2.5", 2.5, "$2.5"),
            ("scan-price", "0.002", 0.002, "$0.002"),
            ("overlap", "70%", 0.7, "0.7"),
            ("cores", "64", 64.0, "64"),
            ("request-rate", "5500", 5500.0, "5500"),
            ("capacities.switch pipeline", "1e9", 1e9, "1000000000"),
            ("link.bytes_per_second", "1e300", 1e300, "8e291 Gbit/s"),
        ] {
            let knob: Knob = name.parse().unwrap();
            let value = knob.read(text).unwrap();
            assert!(value == expected || (value / expected - 1.0).abs() < 1e-12, "{name}={text}");
            assert_eq!(knob.show(value), shown, "{name}={text}");
        }
        for (name, text) in [
            ("bandwidth", "10"),
            ("bandwidth", "8Gb/s"),
            ("latency", "5"),
            ("latency", "5 parsecs"),
            ("cores", "many"),
            ("hour-price", "€2"),
            ("overlap", "70 percent"),
        ] {
            let error = name.parse::<Knob>().unwrap().read(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{name}`: `{text}` is not a ")), "{error}");
        }
    }

    #[test]
    fn bandwidth_and_latency_change_what_depends_on_them() {
        let mut local = Scenario {
            hardware: HardwareProfile::by_name("local-1gbit").unwrap().clone(),
            ..Scenario::default()
        };
        let mut paper = Scenario::default();
        let bandwidth: Knob = "bandwidth".parse().unwrap();
        for scenario in [&mut local, &mut paper] {
            bandwidth.set(scenario, 1.25e9).unwrap();
            assert_eq!(scenario.get(LINK), Some(1.25e9));
        }
        // In one of the profiles, a connection fills the link.
        assert_eq!(local.get(CONNECTION), Some(1.25e9));
        assert_eq!(paper.get(CONNECTION), Some(52_428_800.0));
        let latency: Knob = "latency".parse().unwrap();
        latency.set(&mut local, 0.011).unwrap();
        assert_eq!((local.get(LATENCY), local.get(SELECT_LATENCY)), (Some(0.011), Some(0.012)));
        latency.set(&mut local, 0.0).unwrap();
        assert_eq!((local.get(LATENCY), local.get(SELECT_LATENCY)), (Some(0.0), Some(0.001)));
    }
}
