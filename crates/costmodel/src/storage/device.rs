//! Computational storage devices: drives that scan, filter and project, and perhaps more.

use std::sync::LazyLock;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::{Offloads, Operation};
use crate::{Bytes, BytesPerSecond, DataError, data};

/// The default limit of the small table of a semi-join: Spark's for tables that it sends to all machines
/// (`spark.sql.autoBroadcastJoinThreshold`, 10 MiB).
const SEMI_JOIN: Bytes = Bytes(10 << 20);

/// A computational storage device, as plain data with date and source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The device's name.
    #[serde(deserialize_with = "data::text")]
    pub name: String,
    /// The date of these figures: year, or year and month.
    #[serde(deserialize_with = "data::text")]
    pub date: String,
    /// The publication of the figures, and which of them are assumed.
    #[serde(deserialize_with = "data::text")]
    pub source: String,
    /// Time from the host's command to the device's first byte, once for each offloaded stage.
    #[serde(rename = "setup_seconds", deserialize_with = "data::duration")]
    pub setup: Duration,
    /// The rate at which the device reads its media.
    #[serde(rename = "media_bytes_per_second", deserialize_with = "data::rate")]
    pub media: BytesPerSecond,
    /// The rate at which the device sends results to the host.
    #[serde(rename = "link_bytes_per_second", deserialize_with = "data::rate")]
    pub link: BytesPerSecond,
    /// The rate at which the device filters and projects, and does the other operations on rows; `inf` keeps up with
    /// any read rate. The bytes are those that it reads.
    #[serde(rename = "filter_bytes_per_second", deserialize_with = "data::rate")]
    pub filter: BytesPerSecond,
    /// The operations that the device takes from the host; scan, filter and project if left out.
    #[serde(default)]
    pub offloads: Offloads,
    /// The rate at which the device decompresses and decodes, in bytes as stored. Decoding takes no time if this is
    /// left out, as the paper assumes.
    #[serde(
        rename = "decode_bytes_per_second",
        deserialize_with = "data::rate",
        default = "unlimited"
    )]
    pub decode: BytesPerSecond,
    /// The largest small table of a semi-join, in bytes.
    #[serde(rename = "semi_join_bytes", deserialize_with = "bytes", default = "semi_join")]
    pub semi_join: Bytes,
}

fn unlimited() -> BytesPerSecond {
    BytesPerSecond(f64::INFINITY)
}

fn semi_join() -> Bytes {
    SEMI_JOIN
}

fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    u64::deserialize(deserializer).map(Bytes)
}

/// The policy that decides which stages are offloaded and pay for the set-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Setup {
    /// All stages that scan, as in the paper. A stage that scans for less time than the set-up becomes slower.
    #[default]
    Always,
    /// Only stages that become faster; the others stay on the host.
    OnlyIfBeneficial,
}

/// The devices, in the order shown to users.
static DEVICES: LazyLock<[Device; 4]> = LazyLock::new(|| {
    [
        include_str!("../../devices/icpe-2020.toml"),
        include_str!("../../devices/icpe-2020-what-if.toml"),
        include_str!("../../devices/ideal.toml"),
        include_str!("../../devices/smart-ssd.toml"),
    ]
    .map(data::embedded)
});

impl Device {
    /// All devices that come with this crate.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &*DEVICES
    }

    /// The device of this name, if it comes with this crate.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|it| it.name == name)
    }

    /// Parses a user's device, in the format of the files in `devices/`.
    ///
    /// # Errors
    ///
    /// If a key is missing, unknown, of the wrong type or out of range. The error names the first such key and its
    /// line.
    pub fn parse(toml: &str) -> Result<Self, DataError> {
        data::parse(toml)
    }

    /// The time to read, decode, filter and send in a stream: the slowest of these decides.
    #[must_use]
    pub fn transfer(&self, read: Bytes, result: Bytes) -> Duration {
        let decoded = (read / self.media).max(read / self.decode).max(result / self.link);
        if self.offloads.has(Operation::Filter) { decoded.max(read / self.filter) } else { decoded }
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
        // The paper's §5.2: a second of set-up, and 3 GB/s from the drive.
        assert_eq!(paper.setup, Duration::from_secs(1));
        assert_eq!(
            paper.transfer(Bytes(6_000_000_000), Bytes(3_000_000)),
            Duration::from_millis(1)
        );
        let drive = Device::by_name("smart-ssd").unwrap();
        assert_eq!(drive.transfer(Bytes(6_000_000_000), Bytes(0)), Duration::from_secs(2));
    }

    /// A device that only decodes sends all rows, and its rate of filters does not matter.
    #[test]
    fn the_slowest_operation_decides() {
        let text = include_str!("../../devices/smart-ssd.toml");
        let device = Device::parse(&format!("{text}\ndecode_bytes_per_second = 1e9\n")).unwrap();
        assert_eq!(device.transfer(Bytes(6_000_000_000), Bytes(0)), Duration::from_secs(6));
        let decodes = "offloads = [\"decode\"]\nsemi_join_bytes = 7\n";
        let slow = text.replace("filter_bytes_per_second = 3e9", "filter_bytes_per_second = 1");
        let device = Device::parse(&format!("{slow}\n{decodes}")).unwrap();
        assert_eq!(device.transfer(Bytes(6_000_000_000), Bytes(0)), Duration::from_secs(2));
        assert_eq!(device.semi_join, Bytes(7));
        let whole = Device::by_name("icpe-2020-what-if").unwrap();
        assert!(Operation::ALL.into_iter().all(|it| whole.offloads.has(it)));
        assert_eq!(Device::by_name("icpe-2020").unwrap().offloads, Offloads::default());
    }

    #[test]
    fn what_is_wrong_with_a_device_is_named_by_line() {
        let good = include_str!("../../devices/ideal.toml");
        let slow = good.replace("setup_seconds = 0", "setup_seconds = -1");
        let error = Device::parse(&slow).unwrap_err().to_string();
        assert!(error.contains("`setup_seconds`: must be a number of seconds"), "{error}");
        let error = Device::parse(&format!("{good}\noffloads = [\"filter\"]\n")).unwrap_err();
        assert!(error.to_string().contains("`offloads`: must have `decode`"), "{error}");
        let error = Device::parse("name = \"x\"").unwrap_err().to_string();
        assert!(error.contains("missing field `date`"), "{error}");
    }
}
