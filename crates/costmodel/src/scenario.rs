//! Hardware and prices together, with every constant under its name.

use crate::constants::{ConstantAccessor, OF_HARDWARE, OF_PRICES, PriceAccessor};
use crate::data::Range;
use crate::{HardwareProfile, PriceBook};

/// The prefix of keys whose second part is the name of a resource.
pub(crate) const CAPACITIES: &str = "capacities.";

/// Hardware and prices, whose constants are read and changed by key.
///
/// Keys are `link.latency_seconds` as in a profile's file, `prices.requests.get` as in a book's, and
/// `capacities.switch pipeline`.
///
/// ```
/// use sluicegate_costmodel::{HardwareProfile, PriceBook, Scenario};
///
/// let mut scenario = Scenario::new(HardwareProfile::paper(), PriceBook::paper());
/// scenario.set("link.bytes_per_second", 12.5e9).unwrap();
/// assert_eq!(scenario.get("link.bytes_per_second"), Some(12.5e9));
/// let error = scenario.set("prices.requests.get", -1.0).unwrap_err();
/// assert!(error.to_string().starts_with("`prices.requests.get`: a price must be"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The constants of store, link and client.
    pub hardware: HardwareProfile,
    /// The prices of store and machine.
    pub prices: PriceBook,
}

/// Defaults to PushdownDB's testbed and prices.
impl Default for Scenario {
    fn default() -> Self {
        Self::new(HardwareProfile::paper(), PriceBook::paper())
    }
}

/// Reports a constant that does not exist or that cannot have the given value, with its key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {message}")]
pub struct ConstantError {
    /// The key as given.
    pub key: String,
    /// The error, in words.
    pub message: String,
}

/// The place of a constant: in the profile, in the price book, or a capacity.
enum ConstantRef<'a> {
    Hardware(ConstantAccessor),
    Price(PriceAccessor),
    Capacity(&'a str),
}

impl Scenario {
    /// Combines this hardware and these prices.
    #[must_use]
    pub fn new(hardware: &HardwareProfile, prices: &PriceBook) -> Self {
        Self { hardware: hardware.clone(), prices: prices.clone() }
    }

    /// The constants that have a value, in the order of the files: hardware first, then prices.
    #[must_use]
    pub fn constants(&self) -> Vec<(String, f64)> {
        let keys = OF_HARDWARE.iter().map(|(key, _)| (*key).to_owned());
        let capacities = self.hardware.capacities.keys().map(|name| format!("{CAPACITIES}{name}"));
        let prices = OF_PRICES.iter().map(|(key, _)| (*key).to_owned());
        let all = keys.chain(capacities).chain(prices);
        let mut copy = self.clone();
        all.filter_map(|key| copy.value(&key).map(|value| (key, value))).collect()
    }

    /// The value of a constant, in the unit that its key names.
    ///
    /// Returns `None` if there is no such constant, or if the profile or the book leaves it out.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<f64> {
        self.clone().value(key)
    }

    /// Changes a constant. Times are rounded to nanoseconds, counts to whole numbers. A constant of the profile whose
    /// value changes counts as assumed from then on, even if it was measured before.
    ///
    /// # Errors
    ///
    /// If there is no such constant, if it cannot have this value, or if it is a price of S3 Select and the book does
    /// not sell it.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), ConstantError> {
        let error = |message: String| ConstantError { key: key.to_owned(), message };
        let found = find(key).ok_or_else(|| error(unknown()))?;
        match found.range().check(value) {
            Err(_) if matches!(found, ConstantRef::Capacity(_)) => {
                return Err(error("must be at least 1 per second".to_owned()));
            }
            checked => checked.map_err(|message| error(message.to_owned()))?,
        };
        match found {
            ConstantRef::Hardware(place) => {
                let before = place.get(&mut self.hardware);
                place.set(&mut self.hardware, value);
                if place.get(&mut self.hardware) != before {
                    self.forget(key);
                }
            }
            ConstantRef::Capacity(name) => {
                self.hardware.capacities.insert(name.to_owned(), value);
            }
            ConstantRef::Price(place) => match place(&mut self.prices) {
                Some(price) => price.0 = value,
                None => {
                    let book = &self.prices.name;
                    return Err(error(format!("S3 Select is not sold at the prices {book}")));
                }
            },
        }
        Ok(())
    }

    /// Drops the measured interval of a constant, which does not hold for another value.
    fn forget(&mut self, key: &str) {
        if let Some(calibration) = self.hardware.calibration.as_deref_mut()
            && calibration.intervals.remove(key).is_some()
        {
            calibration.assumed.push(key.to_owned());
        }
    }

    /// The range of values of a constant; `None` if there is no such constant.
    pub(crate) fn range(key: &str) -> Option<Range> {
        find(key).map(|found| found.range())
    }

    /// The nearest value that the constant can have. Returns the value unchanged if there is no such constant.
    pub(crate) fn nearest(key: &str, value: f64) -> f64 {
        find(key).map_or(value, |found| found.range().clamp(value))
    }

    /// Like [`Self::get`], but without a copy of the scenario.
    pub(crate) fn value(&mut self, key: &str) -> Option<f64> {
        match find(key)? {
            ConstantRef::Hardware(place) => place.get(&mut self.hardware),
            ConstantRef::Price(place) => place(&mut self.prices).map(|price| price.0),
            ConstantRef::Capacity(name) => self.hardware.capacities.get(name).copied(),
        }
    }
}

impl ConstantRef<'_> {
    fn range(&self) -> Range {
        match self {
            Self::Hardware(place) => place.range(),
            Self::Price(_) => Range::Price,
            Self::Capacity(_) => Range::Rate,
        }
    }
}

fn find(key: &str) -> Option<ConstantRef<'_>> {
    if let Some(name) = key.strip_prefix(CAPACITIES) {
        let known = crate::switch::ALL.iter().any(|resource| resource.name() == name);
        return known.then_some(ConstantRef::Capacity(name));
    }
    let hardware = OF_HARDWARE.iter().find(|(known, _)| *known == key);
    let hardware = hardware.map(|(_, place)| ConstantRef::Hardware(*place));
    let price = || Some(ConstantRef::Price(OF_PRICES.iter().find(|(known, _)| *known == key)?.1));
    hardware.or_else(price)
}

fn unknown() -> String {
    let keys = OF_HARDWARE.iter().map(|(key, _)| *key);
    let all: Vec<_> = keys.chain(OF_PRICES.iter().map(|(key, _)| *key)).collect();
    let capacities = crate::switch::ALL.map(|resource| format!("{CAPACITIES}{}", resource.name()));
    format!("is not a constant; there are {}, {}", all.join(", "), capacities.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        let mut hardware = HardwareProfile::paper().clone();
        hardware.capacities.insert("switch pipeline".to_owned(), 1e9);
        Scenario::new(&hardware, PriceBook::paper())
    }

    #[test]
    fn every_constant_reads_as_it_was_set() {
        let mut other = scenario();
        let constants = scenario().constants();
        // The count excludes what the paper's profile leaves out: 7 times of the store, and nine times and an overlap
        // of the client.
        assert_eq!(constants.len(), OF_HARDWARE.len() - 17 + 1 + OF_PRICES.len());
        for (key, value) in constants {
            let half = Scenario::nearest(&key, value / 2.0);
            other.set(&key, half).unwrap();
            assert!((other.get(&key).unwrap() - half).abs() <= 1e-9, "{key}");
            other.set(&key, value).unwrap();
        }
        assert_eq!(other, scenario());
    }

    /// A constant's key in the file is also the key for changing it.
    #[test]
    fn what_is_set_is_in_the_file() {
        for (key, _) in &OF_HARDWARE {
            let mut scenario = scenario();
            let value = Scenario::nearest(key, 0.25);
            scenario.set(key, value).unwrap();
            let read = HardwareProfile::parse(&scenario.hardware.to_string()).unwrap();
            assert_eq!(Scenario::new(&read, PriceBook::paper()).get(key), Some(value), "{key}");
        }
    }

    #[test]
    fn another_value_was_not_measured() {
        use crate::calibration::Calibration;
        use crate::uncertainty::Uncertainty;
        let mut scenario = scenario();
        let key = "link.bytes_per_second";
        scenario.hardware.calibration = Some(Box::new(Calibration {
            intervals: [(key.to_owned(), [1.1e9, 1.2e9])].into(),
            ..Calibration::default()
        }));
        let interval = |of: &Scenario| Uncertainty::from_profile(&of.hardware).constants[key];
        scenario.set(key, 1.163e9).unwrap();
        assert_eq!(interval(&scenario), [1.1e9, 1.2e9]);
        scenario.set(key, 12e9).unwrap();
        assert_eq!(interval(&scenario), [8e9, 18e9]);
    }

    #[test]
    fn what_cannot_be_is_refused_by_key() {
        for (key, value, expected) in [
            ("link.latency_seconds", -1.0, "`link.latency_seconds`: must be a number of seconds"),
            ("link.bytes_per_second", f64::NAN, "`link.bytes_per_second`: must be at least 1 byte"),
            ("client.overlap", 1.5, "`client.overlap`: must be between 0 and 1"),
            (
                "capacities.switch rules",
                0.0,
                "`capacities.switch rules`: must be at least 1 per second",
            ),
            ("capacities.", 1.0, "`capacities.`: is not a constant"),
            ("capacities.nope", 1.0, "`capacities.nope`: is not a constant"),
            ("bandwidth", 1.0, "`bandwidth`: is not a constant; there are link.bytes_per_second, "),
        ] {
            let error = scenario().set(key, value).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let mut express = scenario();
        express.prices = PriceBook::by_name("s3-express-us-east-1").unwrap().clone();
        let error = express.set("prices.select.scanned", 1.0).unwrap_err().to_string();
        assert!(error.ends_with("not sold at the prices s3-express-us-east-1"), "{error}");
        assert_eq!(express.get("prices.select.scanned"), None);
    }
}
