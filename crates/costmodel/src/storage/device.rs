//! Drives that scan, filter and project.

use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;

use crate::{Bytes, BytesPerSecond, DataError, data};

/// A computational storage device. Plain data, with date and source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What it is called.
    #[serde(deserialize_with = "data::text")]
    pub name: String,
    /// When these figures held: year, or year and month.
    #[serde(deserialize_with = "data::text")]
    pub date: String,
    /// Where they were published, and what in them is assumed.
    #[serde(deserialize_with = "data::text")]
    pub source: String,
    /// From the host's command to the device's first byte, once for each stage that is offloaded.
    #[serde(rename = "setup_seconds", deserialize_with = "data::duration")]
    pub setup: Duration,
    /// How fast it reads its media.
    #[serde(rename = "media_bytes_per_second", deserialize_with = "data::rate")]
    pub media: BytesPerSecond,
    /// How fast results go to the host.
    #[serde(rename = "link_bytes_per_second", deserialize_with = "data::rate")]
    pub link: BytesPerSecond,
    /// How fast it filters and projects what it reads; `inf` is as fast as it reads.
    #[serde(rename = "filter_bytes_per_second", deserialize_with = "data::rate")]
    pub filter: BytesPerSecond,
}

/// Which stages pay for the set-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Setup {
    /// All that scan, as in the paper: one that scans for less than the set-up becomes slower.
    #[default]
    Always,
    /// A stage that would become slower stays on the host.
    OnlyIfBeneficial,
}

/// In the order shown to users.
static DEVICES: LazyLock<[Device; 3]> = LazyLock::new(|| {
    [
        include_str!("../../devices/icpe-2020.toml"),
        include_str!("../../devices/ideal.toml"),
        include_str!("../../devices/smart-ssd.toml"),
    ]
    .map(data::embedded)
});

impl Device {
    /// All that come with this crate.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &*DEVICES
    }

    /// The one of that name, of those that come with this crate.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|it| it.name == name)
    }

    /// Reads one of the user's own, in the form of the ones in `devices/`.
    ///
    /// # Errors
    ///
    /// The first key that is missing, unknown, of the wrong type or out of range, with its line.
    pub fn parse(toml: &str) -> Result<Self, DataError> {
        data::parse(toml)
    }

    /// How long it reads, filters and sends in a stream: as long as the slowest of the three.
    #[must_use]
    pub fn transfer(&self, read: Bytes, result: Bytes) -> Duration {
        (read / self.media).max(read / self.filter).max(result / self.link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_come_with_their_sources() {
        for device in Device::all() {
            assert_eq!(Device::by_name(&device.name), Some(device));
            assert!(!device.source.is_empty() && !device.date.is_empty());
        }
        let paper = Device::by_name("icpe-2020").unwrap();
        // §4.1: a second, and 3 GB/s from the drive.
        assert_eq!(paper.setup, Duration::from_secs(1));
        assert_eq!(
            paper.transfer(Bytes(6_000_000_000), Bytes(3_000_000)),
            Duration::from_millis(1)
        );
        let drive = Device::by_name("smart-ssd").unwrap();
        assert_eq!(drive.transfer(Bytes(6_000_000_000), Bytes(0)), Duration::from_secs(2));
    }

    #[test]
    fn what_is_wrong_with_a_device_is_named_by_line() {
        let good = include_str!("../../devices/ideal.toml");
        let slow = good.replace("setup_seconds = 0", "setup_seconds = -1");
        let error = Device::parse(&slow).unwrap_err().to_string();
        assert!(error.contains("`setup_seconds`: must be a number of seconds"), "{error}");
        let error = Device::parse("name = \"x\"").unwrap_err().to_string();
        assert!(error.contains("missing field `date`"), "{error}");
    }
}
