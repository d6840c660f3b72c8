//! "What if" predictions: other constants, other devices, and axes along which numbers change.
//!
//! A [`WhatIf`] is a change as a user writes it, `bandwidth=10Gbit` or `store=smart-ssd`, and turns one [`Scenario`]
//! into another. A [`Sweep`] is an axis with its points. [`Overlay`]s are named devices, as dated data.

mod knob;
mod overlay;
mod sweep;

use std::fmt;
use std::str::FromStr;

pub use self::knob::Knob;
pub use self::overlay::Overlay;
pub use self::sweep::{Axis, MOST_POINTS, Sweep};
use crate::{ConstantError, HardwareProfile, PriceBook, Scenario};

/// Reports a text that is not a "what if" or a sweep, with the axis, constant or device that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`: {message}")]
pub struct ParseWhatIfError {
    /// The part before `=`.
    pub name: String,
    /// The error, in words.
    pub message: String,
}

impl ParseWhatIfError {
    fn new(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.chars().take(80).collect(), message: message.into() }
    }
}

/// One or several changes of a scenario.
///
/// ```
/// use sluicegate_costmodel::Scenario;
/// use sluicegate_costmodel::what_if::WhatIf;
///
/// let what_if: WhatIf = "bandwidth=100Gbit, latency=5ms, store=smart-ssd".parse().unwrap();
/// let scenario = what_if.apply(&Scenario::default()).unwrap();
/// assert_eq!(scenario.get("link.latency_seconds"), Some(0.005));
/// assert_eq!(scenario.hardware.name, "paper with bandwidth=100Gbit, latency=5ms, store=smart-ssd");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    text: String,
    changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq)]
enum Change {
    Constant(Knob, f64),
    Overlay(Box<Overlay>),
    Hardware(&'static HardwareProfile),
    Prices(&'static PriceBook),
}

impl Change {
    /// The part before `=`.
    fn name(&self) -> &str {
        match self {
            Self::Constant(knob, _) => knob.name(),
            Self::Overlay(overlay) => &overlay.of,
            Self::Hardware(_) => "hardware",
            Self::Prices(_) => "prices",
        }
    }

    /// Returns true if this change overrides an earlier one completely or in part.
    fn undoes(&self, earlier: &Self) -> bool {
        let is_price = |knob: &Knob| knob.key().starts_with("prices.");
        match (self, earlier) {
            (Self::Constant(knob, _), Self::Constant(before, _)) => knob.key() == before.key(),
            (Self::Overlay(overlay), Self::Constant(before, _)) => {
                overlay.constants.contains_key(before.key())
            }
            (Self::Hardware(_), Self::Constant(before, _)) => !is_price(before),
            (Self::Prices(_), Self::Constant(before, _)) => is_price(before),
            (Self::Hardware(_), Self::Overlay(before)) => {
                before.constants.keys().any(|key| !key.starts_with("prices."))
            }
            (Self::Overlay(overlay), Self::Prices(_))
            | (Self::Prices(_), Self::Overlay(overlay)) => overlay.prices.is_some(),
            (one, other) => one.name() == other.name(),
        }
    }
}

impl WhatIf {
    /// Applies the changes in their order. The profile's new name contains their text, so predictions show it.
    ///
    /// # Errors
    ///
    /// If a constant cannot have its value in this scenario, such as the price of S3 Select if it is not sold.
    pub fn apply(&self, scenario: &Scenario) -> Result<Scenario, ConstantError> {
        let mut changed = scenario.clone();
        for change in &self.changes {
            match change {
                Change::Constant(knob, value) => knob.set(&mut changed, *value)?,
                Change::Overlay(overlay) => overlay.apply(&mut changed)?,
                Change::Hardware(hardware) => changed.hardware = (*hardware).clone(),
                Change::Prices(prices) => changed.prices = (*prices).clone(),
            }
        }
        changed.hardware.name = format!("{} with {self}", scenario.hardware.name);
        Ok(changed)
    }

    /// A "what if" with a user's own device.
    #[must_use]
    pub fn overlay(overlay: Overlay) -> Self {
        let text = format!("{}={}", overlay.of, overlay.name);
        Self { text, changes: vec![Change::Overlay(Box::new(overlay))] }
    }

    /// The keys of the constants with a given value, which are exact. Constants that change with them, such as the
    /// rate of a connection with that of the link, stay as uncertain as unmeasured ones.
    pub fn exact(&self) -> impl Iterator<Item = &str> {
        self.changes.iter().filter_map(|change| match change {
            Change::Constant(knob, _) => Some(knob.key()),
            _ => None,
        })
    }

    /// The name of the switch among the devices, as sessions use it; the last one if there are several.
    #[must_use]
    pub fn switch(&self) -> Option<&str> {
        self.changes.iter().rev().find_map(|change| match change {
            Change::Overlay(it) if it.of == "switch" => Some(it.name.as_str()),
            _ => None,
        })
    }

    /// The sources of the devices' numbers: each device's name, date and source.
    pub fn sources(&self) -> impl Iterator<Item = String> + '_ {
        self.changes.iter().filter_map(|change| match change {
            Change::Overlay(it) => Some(format!("{} ({}): {}", it.name, it.date, it.source)),
            Change::Hardware(it) => Some(format!("{} ({}): {}", it.name, it.date, it.source)),
            Change::Prices(it) => Some(format!("{}: {}", it.introduction(), it.source)),
            Change::Constant(..) => None,
        })
    }
}

/// Formats the text as the user wrote it.
impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for WhatIf {
    type Err = ParseWhatIfError;

    /// Parses `name=value`, or several with commas between them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let one = |part: &str| {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                ParseWhatIfError::new(
                    part.trim(),
                    "a what-if is `name=value`, as `bandwidth=10Gbit`",
                )
            })?;
            change(name.trim(), value.trim())
        };
        let changes = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
        let undone = changes.iter().enumerate().find_map(|(place, later)| {
            let earlier = changes[..place].iter().find(|earlier| later.undoes(earlier))?;
            Some((earlier, later))
        });
        if let Some((earlier, later)) = undone {
            let is_same = earlier.name() == later.name();
            let way_out = if is_same { "give it once" } else { "name that first" };
            let message = format!("{} undoes it: {way_out}", later.name());
            return Err(ParseWhatIfError::new(earlier.name(), message));
        }
        let parts: Vec<_> = text.split(',').map(str::trim).collect();
        Ok(Self { text: parts.join(", "), changes })
    }
}

fn change(name: &str, value: &str) -> Result<Change, ParseWhatIfError> {
    let none = |names: Vec<&str>| {
        let message = format!("there is no `{value}`; there are {}", names.join(", "));
        ParseWhatIfError::new(name, message)
    };
    match name {
        "hardware" => {
            let names = || HardwareProfile::all().iter().map(|it| it.name.as_str()).collect();
            HardwareProfile::by_name(value).map(Change::Hardware).ok_or_else(|| none(names()))
        }
        "prices" => {
            let names = || PriceBook::all().iter().map(|it| it.name.as_str()).collect();
            PriceBook::by_name(value).map(Change::Prices).ok_or_else(|| none(names()))
        }
        _ => {
            let of: Vec<_> = Overlay::all().iter().filter(|it| it.of == name).collect();
            if of.is_empty() {
                let knob: Knob = name.parse()?;
                let value = knob.read(value)?;
                return Ok(Change::Constant(knob, value));
            }
            let found = of.iter().find(|it| it.name == value);
            let names = || of.iter().map(|it| it.name.as_str()).collect();
            found.map(|it| Change::Overlay(Box::new((*it).clone()))).ok_or_else(|| none(names()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Candidate, Objective, Phase, Requests, choose};

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = text.parse::<WhatIf>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        refused("", "``: a what-if is `name=value`");
        refused("fast", "`fast`: a what-if is `name=value`");
        refused("bandwidth=fast", "`bandwidth`: `fast` is not a rate such as 1Gbit");
        refused(
            "bandwidth=8Gb/s",
            "`bandwidth`: `8Gb/s` is not a rate: it may be bits or bytes; write 8Gbit/s or 8GB/s",
        );
        refused("bandwidth=1Gbit, latency=-1ms", "`latency`: `-1ms` is not a time");
        refused("overlap=1.1", "`overlap`: must be between 0 and 1");
        refused("cores=0", "`cores`: must be between 1 and");
        refused("hour-price=nan", "`hour-price`: a price must be");
        refused("store=drum", "`store`: there is no `drum`; there are smart-ssd, ");
        refused("prices=drum", "`prices`: there is no `drum`; there are paper-2020-us-east-1, ");
        refused("hardware=drum", "`hardware`: there is no `drum`; there are paper, ");
        refused("cores=1.5", "`cores`: must be a whole number");
        refused(
            "capacities.master rows=0.5",
            "`capacities.master rows`: must be at least 1 per second",
        );
        refused(
            "bandwidth=1Gbit,bandwidth=2Gbit",
            "`bandwidth`: bandwidth undoes it: give it once",
        );
        refused("cores=8,hardware=local", "`cores`: hardware undoes it: name that first");
        refused("scan-price=$1,prices=free", "`scan-price`: prices undoes it: name that first");
        refused("bandwidth=1Gbit,link=10gbe", "`bandwidth`: link undoes it: name that first");
        refused("store=smart-ssd,hardware=local", "`store`: hardware undoes it: name that first");
        refused("link=10gbe,link=100gbe", "`link`: link undoes it: give it once");
        refused("speed=1", "`speed`: is not a constant; there are bandwidth, latency, ");
    }

    #[test]
    fn the_price_of_what_is_not_sold_cannot_be_changed() {
        let what_if: WhatIf = "prices=s3-express-us-east-1, scan-price=$0.001".parse().unwrap();
        let error = what_if.apply(&Scenario::default()).unwrap_err().to_string();
        assert!(error.starts_with("`prices.select.scanned`: S3 Select is not sold"), "{error}");
    }

    #[test]
    fn given_constants_are_exact_and_devices_have_sources() {
        let what_if: WhatIf = "bandwidth=1Gbit,switch=tofino2".parse().unwrap();
        assert_eq!(what_if.exact().collect::<Vec<_>>(), ["link.bytes_per_second"]);
        assert_eq!(what_if.switch(), Some("tofino2"));
        let sources: Vec<_> = what_if.sources().collect();
        assert!(sources.len() == 1 && sources[0].starts_with("tofino2 (20"), "{sources:?}");
    }

    /// A smart drive and a faster link for a scan that keeps few rows.
    #[test]
    fn a_choice_is_priced_for_what_might_be() {
        let get = Phase { gets: Requests(960), got: Bytes::gib(7), ..Phase::default() };
        let scanned = Bytes::gib(7);
        let select = Phase { selects: Requests(96), scanned, ..Phase::default() };
        let get = Candidate { strategy: "get", steps: get.into() };
        let select = Candidate { strategy: "select", steps: select.into() };
        let now = Scenario {
            hardware: HardwareProfile::by_name("remote-1gbit").unwrap().clone(),
            ..Scenario::default()
        };
        let choice = choose(get, [select], &now.hardware, &now.prices, Objective::Time);
        let seconds = |text: &str| {
            let then = text.parse::<WhatIf>().unwrap().apply(&now).unwrap();
            let best = choice.repriced(&then.hardware, &then.prices, Objective::Time).unwrap();
            (best.chosen.strategy, best.chosen.time.total().as_secs_f64())
        };
        // 7.5 GB at 2.08 GB/s, and at the 3 GB/s of the drive.
        let ((way, before), (same_way, after)) = (seconds("cores=8"), seconds("store=smart-ssd"));
        assert_eq!((way, same_way), ("select", "select"));
        assert!((before - 3.6).abs() < 0.1 && (after - 2.5).abs() < 0.1, "{before} {after}");
        // Eight cores parse at 2 GB/s, which no link makes faster.
        assert_eq!(seconds("bandwidth=100Gbit,store-rate=1GB/s").0, "get");
    }
}
