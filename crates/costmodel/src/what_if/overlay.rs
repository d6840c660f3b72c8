//! Named devices as dated data: the constants of a scenario that they decide.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::knob::{LINK, set_link};
use crate::data;
use crate::{ConstantError, DataError, PriceBook, Scenario};

/// A named device or service with the constants that it decides, as plain data with date and source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// The device's name.
    pub name: String,
    /// The part that the device replaces: `store`, `switch`, `link`, `instance`.
    pub of: String,
    /// The date of these figures: year, or year and month.
    pub date: String,
    /// The publication of the figures, and which of them are assumed.
    pub source: String,
    /// The name of a price book that comes with this crate; `None` keeps the prices.
    #[serde(default, deserialize_with = "book")]
    pub prices: Option<String>,
    /// The name of the client's machine; `None` keeps the name.
    #[serde(default)]
    pub instance: Option<String>,
    /// True if the store runs on the client's cores, false if not; `None` keeps the profile's value.
    #[serde(default)]
    pub shares_cores: Option<bool>,
    /// The values of constants, by key.
    #[serde(deserialize_with = "constants")]
    pub constants: BTreeMap<String, f64>,
}

/// The devices, in the order shown to users.
static OVERLAYS: LazyLock<[Overlay; 12]> = LazyLock::new(|| {
    [
        include_str!("../../what_if/smart-ssd.toml"),
        include_str!("../../what_if/smart-ssd-cold.toml"),
        include_str!("../../what_if/s3-standard.toml"),
        include_str!("../../what_if/s3-express.toml"),
        include_str!("../../what_if/tofino1.toml"),
        include_str!("../../what_if/tofino2.toml"),
        include_str!("../../what_if/10gbe.toml"),
        include_str!("../../what_if/100gbe.toml"),
        include_str!("../../what_if/r4.8xlarge.toml"),
        include_str!("../../what_if/c5a.8xlarge.toml"),
        include_str!("../../what_if/c5n.9xlarge.toml"),
        include_str!("../../what_if/m7g.8xlarge.toml"),
    ]
    .map(data::embedded)
});

impl Overlay {
    /// All devices that come with this crate.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &*OVERLAYS
    }

    /// Parses a user's device, in the format of the files in `what_if/`.
    ///
    /// # Errors
    ///
    /// If a key is missing, unknown, of the wrong type or out of range. The error names the first such key and its
    /// line.
    pub fn parse(toml: &str) -> Result<Self, DataError> {
        data::parse(toml)
    }

    /// Applies the device to a scenario.
    ///
    /// # Errors
    ///
    /// In the cases of [`Scenario::set`].
    pub fn apply(&self, scenario: &mut Scenario) -> Result<(), ConstantError> {
        if let Some(book) = self.prices.as_deref().and_then(PriceBook::by_name) {
            let compute = scenario.prices.compute.clone();
            scenario.prices = PriceBook { compute, ..book.clone() };
        }
        if let Some(instance) = &self.instance {
            scenario.prices.compute.instance.clone_from(instance);
        }
        if let Some(shares) = self.shares_cores {
            scenario.hardware.client.shares_cores = shares;
        }
        for (key, value) in &self.constants {
            match key.as_str() {
                LINK => set_link(scenario, *value)?,
                _ => scenario.set(key, *value)?,
            }
        }
        Ok(())
    }
}

fn constants<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, f64>, D::Error> {
    let constants = BTreeMap::<String, f64>::deserialize(deserializer)?;
    let mut scenario = Scenario::default();
    for (key, value) in &constants {
        scenario.set(key, *value).map_err(D::Error::custom)?;
    }
    Ok(constants)
}

fn book<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(deserializer)?;
    match PriceBook::by_name(&name) {
        Some(_) => Ok(Some(name)),
        None => Err(D::Error::custom(format!("there are no prices `{name}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HardwareProfile;

    #[test]
    fn every_overlay_can_be_applied_to_every_profile() {
        for overlay in Overlay::all() {
            assert!(overlay.date.len() >= 4 && !overlay.source.is_empty(), "{}", overlay.name);
            let named = |it: &&Overlay| it.name == overlay.name && it.of == overlay.of;
            assert_eq!(Overlay::all().iter().filter(named).count(), 1);
            for hardware in HardwareProfile::all() {
                let mut scenario = Scenario::new(hardware, PriceBook::paper());
                overlay.apply(&mut scenario).unwrap();
                for (key, value) in &overlay.constants {
                    assert_eq!(scenario.get(key), Some(*value), "{} {key}", overlay.name);
                }
                let profile = scenario.hardware;
                assert_eq!(HardwareProfile::parse(&profile.to_string()).as_ref(), Ok(&profile));
            }
        }
    }

    /// No measurement of the replaced store stays in the numbers of the new one.
    #[test]
    fn a_drive_takes_nothing_from_the_store_that_it_replaces() {
        for overlay in Overlay::all().iter().filter(|it| it.name.starts_with("smart-ssd")) {
            let scenario = Scenario::default();
            let keys = scenario.constants().into_iter().map(|(key, _)| key);
            for key in keys.filter(|key| key.starts_with("select.")) {
                assert!(overlay.constants.contains_key(&key), "{} has no {key}", overlay.name);
            }
        }
    }

    /// A link's name has the same effect as its rate.
    #[test]
    fn a_link_widens_connections_that_have_all_of_it() {
        let link = Overlay::all().iter().find(|it| it.name == "100gbe").unwrap();
        for (hardware, widened) in [("local-1gbit", true), ("aws-in-region", false)] {
            let hardware = HardwareProfile::by_name(hardware).unwrap();
            let mut named = Scenario::new(hardware, PriceBook::paper());
            let mut by_rate = named.clone();
            link.apply(&mut named).unwrap();
            let bandwidth: crate::what_if::Knob = "bandwidth".parse().unwrap();
            bandwidth.set(&mut by_rate, 11.63e9).unwrap();
            assert_eq!(named.hardware.link, by_rate.hardware.link);
            let connection = named.hardware.link.connection_bytes_per_second;
            assert_eq!(connection == named.hardware.link.bytes_per_second, widened);
        }
    }

    #[test]
    fn a_service_with_prices_leaves_the_clients_machine() {
        let mut scenario = Scenario::default();
        scenario.prices.compute = PriceBook::by_name("fpdb-us-west-1").unwrap().compute.clone();
        let express = Overlay::all().iter().find(|it| it.name == "s3-express").unwrap();
        express.apply(&mut scenario).unwrap();
        assert_eq!(scenario.prices.select, None);
        assert_eq!(scenario.prices.compute.instance, "c5a.8xlarge");
    }

    const GOOD: &str = include_str!("../../what_if/smart-ssd.toml");

    #[track_caller]
    fn refused(from: &str, to: &str, expected: &str) {
        assert!(GOOD.contains(from));
        let error = Overlay::parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with("line ") && error.contains(expected), "{error}");
    }

    #[test]
    fn what_cannot_be_is_named_with_its_line() {
        refused("name = ", "nam = ", "unknown field `nam`");
        refused("of = \"store\"\n", "", "missing field `of`");
        refused(
            "latency_seconds\" = 0.001",
            "latency_seconds\" = -1",
            "`select.latency_seconds`: must",
        );
        refused(
            "latency_seconds\" = 0.001",
            "latency\" = 0.001",
            "`select.latency`: is not a constant",
        );
        refused("shares_cores = false", "prices = \"none\"", "there are no prices `none`");
    }
}
