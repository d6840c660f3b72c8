//! Writes a hardware profile as the TOML that it is parsed from.

use std::fmt::{self, Write};

use crate::calibration::Calibration;
use crate::constants::OF_HARDWARE;
use crate::{HardwareProfile, SelectRates};

/// A constant of a profile, with its key and value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    /// The constant's key in the file, with its table: `link.latency_seconds`.
    pub key: &'static str,
    /// The value, in the unit that the key names.
    pub value: f64,
}

/// Formats the value as TOML: counts are whole numbers.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.fract() == 0.0
            && [".slots", ".cores", ".machines"].iter().any(|end| self.key.ends_with(end))
        {
            write!(f, "{}", self.value)
        } else {
            write!(f, "{:?}", self.value)
        }
    }
}

impl HardwareProfile {
    /// The constants, in the order of the file. The rates of S3 Select are left out if they are
    /// [`SelectRates::assumed`].
    #[must_use]
    pub fn constants(&self) -> Vec<Constant> {
        let mut profile = self.clone();
        let assumed = self.select == SelectRates::assumed();
        let stated = |key: &str| !(assumed && key.starts_with("select."));
        let mut all = Vec::new();
        for (key, place) in OF_HARDWARE {
            if let Some(value) = place.get(&mut profile).filter(|_| stated(key)) {
                all.push(Constant { key, value });
            }
        }
        all
    }
}

/// Formats the profile as a file; [`HardwareProfile::parse`] reads it back unchanged.
impl fmt::Display for HardwareProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "name = {}", quoted(&self.name))?;
        writeln!(f, "date = {}", quoted(&self.date))?;
        writeln!(f, "source = {}", quoted(&self.source))?;
        let mut table = "";
        for constant in self.constants() {
            let (of, key) = constant.key.split_once('.').unwrap_or(("", constant.key));
            if of != table {
                writeln!(f, "\n[{of}]")?;
                table = of;
            }
            writeln!(f, "{key} = {constant}")?;
        }
        if let Some(partitions) = self.client.partitions {
            writeln!(f, "partitions = {partitions}")?;
        }
        if self.client.shares_cores {
            writeln!(f, "shares_cores = true")?;
        }
        if !self.capacities.is_empty() {
            writeln!(f, "\n[capacities]")?;
            for (name, capacity) in &self.capacities {
                writeln!(f, "{} = {capacity:?}", quoted(name))?;
            }
        }
        match &self.calibration {
            Some(calibration) => write_calibration(f, calibration),
            None => Ok(()),
        }
    }
}

fn write_calibration(f: &mut fmt::Formatter<'_>, calibration: &Calibration) -> fmt::Result {
    let list =
        |texts: &[String]| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
    writeln!(f, "\n[calibration]")?;
    writeln!(f, "endpoint = {}", quoted(&calibration.endpoint))?;
    writeln!(f, "rounds = {}", calibration.rounds)?;
    if let Some(load) = calibration.load {
        writeln!(f, "load = {load:?}")?;
    }
    writeln!(f, "noise = [{}]", list(&calibration.noise))?;
    writeln!(f, "assumed = [{}]", list(&calibration.assumed))?;
    if !calibration.intervals.is_empty() {
        writeln!(f, "\n# Each holds the true value with a probability of 95 %.")?;
        writeln!(f, "[calibration.intervals]")?;
        for (key, [low, high]) in &calibration.intervals {
            writeln!(f, "{} = [{low:?}, {high:?}]", quoted(key))?;
        }
    }
    Ok(())
}

/// Quotes a text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            // Writing to a string cannot fail.
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    #[track_caller]
    fn comes_back(profile: &HardwareProfile) {
        let text = profile.to_string();
        assert_eq!(HardwareProfile::parse(&text).as_ref(), Ok(profile), "{text}");
    }

    #[test]
    fn the_profiles_that_come_with_this_crate_come_back() {
        for profile in HardwareProfile::all() {
            comes_back(profile);
        }
    }

    #[test]
    fn a_store_without_select_has_no_table_for_it() {
        let mut profile = HardwareProfile::by_name("local").unwrap().clone();
        assert!(profile.to_string().contains("[select]"));
        profile.select = SelectRates::assumed();
        assert!(!profile.to_string().contains("[select]"));
        comes_back(&profile);
    }

    proptest! {
        #[test]
        fn a_calibrated_profile_comes_back(
            name in "\\PC*", texts in proptest::collection::vec("[\\PC\n\t]*", 0..3),
            nanos in proptest::collection::vec(0u64..1 << 40, 4),
            numbers in proptest::collection::vec(1.0..1e18f64, 6),
            load in proptest::option::of(0.0..100.0f64), slots in 1u32..=1_000_000, overlap in 0.0..=1.0f64,
        ) {
            let mut profile = HardwareProfile::by_name("local-1gbit").unwrap().clone();
            let time = |at: usize| Duration::from_nanos(nanos[at]);
            profile.name = name;
            profile.source = texts.concat();
            profile.link.latency = time(0);
            profile.link.bytes_per_second.0 = numbers[0];
            profile.requests.per_second = numbers[1];
            profile.requests.slots = slots.try_into().unwrap();
            profile.select.per_term = time(1);
            profile.select.per_case = Some(time(2));
            profile.select.per_probe = load.map(|_| time(3));
            profile.client.overlap = overlap;
            let resources = crate::switch::ALL.iter().take(texts.len());
            profile.capacities = resources.map(|it| (it.name().to_owned(), numbers[2])).collect();
            profile.calibration = Some(Box::new(Calibration {
                endpoint: texts.concat(),
                rounds: slots,
                load,
                noise: texts.clone(),
                assumed: texts.clone(),
                intervals: texts
                    .iter()
                    .map(|text| (text.clone(), [numbers[3], f64::INFINITY]))
                    .collect(),
            }));
            let text = profile.to_string();
            prop_assert_eq!(HardwareProfile::parse(&text), Ok(profile), "{}", text);
        }
    }
}
