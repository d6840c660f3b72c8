//! Hardware profiles: the constants of a store, a link and a client, as dated data.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::Duration;

use serde::Deserialize;

use crate::calibration::Calibration;
use crate::data::{self, DataError};
use crate::phase::{AnswerFormat, Format};
use crate::rate::seconds;
use crate::{BytesPerSecond, Provenance, ScanWork, Terms};

/// The network between store and client.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Goodput of the whole link in one direction.
    #[serde(deserialize_with = "data::rate")]
    pub bytes_per_second: BytesPerSecond,
    /// Goodput of one connection.
    #[serde(deserialize_with = "data::rate")]
    pub connection_bytes_per_second: BytesPerSecond,
    /// Time from sending a GET to the first byte of its answer.
    #[serde(rename = "latency_seconds", deserialize_with = "data::duration")]
    pub latency: Duration,
}

/// Limits on the requests that the client and the store can handle.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestLimits {
    /// The largest number of requests in flight; a plan may use fewer.
    #[serde(deserialize_with = "data::at_once")]
    pub slots: NonZeroU32,
    /// Requests per second: the lower of the store's limit and the client's.
    #[serde(deserialize_with = "data::requests_rate")]
    pub per_second: f64,
}

/// The rates and times of the store's S3 Select.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectRates {
    /// Time from sending the request to the first byte of its answer, without scanning.
    #[serde(rename = "latency_seconds", deserialize_with = "data::duration")]
    pub latency: Duration,
    /// Scan rate of one request over CSV.
    #[serde(deserialize_with = "data::rate")]
    pub csv_bytes_per_second: BytesPerSecond,
    /// Scan rate of one request over JSON.
    #[serde(deserialize_with = "data::rate")]
    pub json_bytes_per_second: BytesPerSecond,
    /// Scan rate of one request over Parquet column chunks.
    #[serde(deserialize_with = "data::rate")]
    pub parquet_bytes_per_second: BytesPerSecond,
    /// Extra time of one request per row and term: a comparison or an arithmetic operation on a column.
    #[serde(rename = "term_seconds", deserialize_with = "data::duration")]
    pub per_term: Duration,
    /// Extra time of one request per row for an aggregate of one group, `SUM(CASE WHEN g = 'a' THEN x END)`. Defaults
    /// to three terms: a comparison, a branch and an update.
    #[serde(default, rename = "case_seconds", deserialize_with = "data::some_duration")]
    pub per_case: Option<Duration>,
    /// Extra time of one request per row for probing a slice of a Bloom filter. Defaults to seven terms: the hash
    /// function and the comparison.
    #[serde(default, rename = "probe_seconds", deserialize_with = "data::some_duration")]
    pub per_probe: Option<Duration>,
    /// Extra time of one request per row for updating an aggregate. Defaults to the time of a term.
    #[serde(default, rename = "update_seconds", deserialize_with = "data::some_duration")]
    pub per_update: Option<Duration>,
    /// Extra time of one request for converting a value, such as a text to a number. If left out, it is zero, because
    /// the term that needs the value includes it.
    #[serde(default, rename = "cast_seconds", deserialize_with = "data::some_duration")]
    pub per_cast: Option<Duration>,
    /// Extra time of one request for a slower conversion, of a text to a decimal or a timestamp. Defaults to the time
    /// of other conversions.
    #[serde(default, rename = "long_cast_seconds", deserialize_with = "data::some_duration")]
    pub per_long_cast: Option<Duration>,
    /// Extra time of one request per row for each key by which the row's group is looked up. Defaults to the time of
    /// a term.
    #[serde(default, rename = "key_seconds", deserialize_with = "data::some_duration")]
    pub per_key: Option<Duration>,
    /// Extra time of one request per row of Parquet for updating an aggregate. Defaults to the time for other formats.
    #[serde(default, rename = "parquet_update_seconds", deserialize_with = "data::some_duration")]
    pub per_parquet_update: Option<Duration>,
    /// Extra time of one request per row of Parquet to look up the row's group, per key. The store may use dictionary
    /// codes. Defaults to the time for other formats.
    #[serde(default, rename = "parquet_key_seconds", deserialize_with = "data::some_duration")]
    pub per_parquet_key: Option<Duration>,
    /// Time of one request to write one value of its answer; if left out, zero.
    #[serde(default, rename = "value_seconds", deserialize_with = "data::some_duration")]
    pub per_value: Option<Duration>,
    /// Time of one request to write one value of an answer in Arrow. Defaults to half the time of a value of text.
    #[serde(default, rename = "arrow_value_seconds", deserialize_with = "data::some_duration")]
    pub per_arrow_value: Option<Duration>,
    /// Time of one request to write and compress one value of an answer in Arrow. Defaults to 1.9 times the time of a
    /// value of text.
    #[serde(
        default,
        rename = "compressed_value_seconds",
        deserialize_with = "data::some_duration"
    )]
    pub per_compressed_value: Option<Duration>,
    /// Time of one request to read one constant of a list in its statement. Defaults to the time of a term.
    #[serde(default, rename = "constant_seconds", deserialize_with = "data::some_duration")]
    pub per_constant: Option<Duration>,
    /// A core's time for a statement, whatever it scans: to receive, parse and plan it, and to frame and send its
    /// answer. If the client runs on the same cores, its part is included. If left out, it is zero.
    #[serde(default, rename = "statement_seconds", deserialize_with = "data::some_duration")]
    pub per_statement: Option<Duration>,
    /// The number of requests that are scanned at these rates concurrently, at least 1; further requests take turns.
    /// Cores that slow each other down count as fewer, so this need not be whole.
    #[serde(deserialize_with = "data::cores")]
    pub cores: f64,
    /// The scan rate of all requests together.
    #[serde(deserialize_with = "data::rate")]
    pub total_bytes_per_second: BytesPerSecond,
}

/// The number of terms in a probe of a Bloom filter slice: two products and sums, three remainders and a comparison.
const TERMS_OF_A_PROBE: f64 = 7.0;

/// The number of terms in an aggregate of one group: a comparison, a branch of CASE and an update.
const TERMS_OF_A_CASE: f64 = 3.0;

/// The store writes a value of Arrow, plain or compressed, in this multiple of the time of a text value: 9 and 34 ns where
/// a value of CSV took 18 ns.
const OF_A_TEXT: (f64, f64) = (0.5, 1.9);

/// One core copies plain answers in Arrow, and decompresses others, at these rates.
pub(crate) const ARROW_BYTES: (BytesPerSecond, BytesPerSecond) =
    (BytesPerSecond(2e9), BytesPerSecond(4e8));

/// One core's seconds to decode a value of an answer in Arrow beyond its bytes, plain and compressed, as `sluice calibrate`
/// measured on loopback with a release build.
const DECODED_ARROW: (f64, f64) = (5e-10, 5e-9);

impl SelectRates {
    /// The rates assumed for a store without measurements: PushdownDB's measurements of AWS.
    #[must_use]
    pub fn assumed() -> Self {
        HardwareProfile::paper().select
    }

    /// The seconds of one request to write one value of an answer.
    fn per_answered(&self, format: AnswerFormat) -> f64 {
        let text = self.per_value.unwrap_or_default().as_secs_f64();
        let or =
            |own: Option<Duration>, times: f64| own.map_or(text * times, |it| it.as_secs_f64());
        match format {
            AnswerFormat::Csv | AnswerFormat::Json => text,
            AnswerFormat::Arrow => or(self.per_arrow_value, OF_A_TEXT.0),
            AnswerFormat::CompressedArrow => or(self.per_compressed_value, OF_A_TEXT.1),
        }
    }

    /// The extra seconds per row of one request.
    pub(crate) fn per_row(&self, format: Format, terms: Terms) -> f64 {
        let term = self.per_term.as_secs_f64();
        let case = self.per_case.map_or(term * TERMS_OF_A_CASE, |time| time.as_secs_f64());
        let probe = self.per_probe.map_or(term * TERMS_OF_A_PROBE, |time| time.as_secs_f64());
        let (updating, looking_up) = match format {
            Format::Parquet => {
                (self.per_parquet_update.or(self.per_update), self.per_parquet_key.or(self.per_key))
            }
            Format::Csv | Format::Json => (self.per_update, self.per_key),
        };
        let update = updating.map_or(term, |time| time.as_secs_f64());
        let key = looking_up.map_or(term, |time| time.as_secs_f64());
        let cast = self.per_cast.unwrap_or_default().as_secs_f64();
        let timestamp = self.per_long_cast.map_or(cast, |time| time.as_secs_f64());
        terms.comparisons * term
            + terms.cases * case
            + terms.probes * probe
            + terms.updates * update
            + terms.casts * cast
            + terms.long_casts * timestamp
            + terms.keys * key
    }
}

/// The rates and times at which the client turns bytes into batches.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientRates {
    /// Time to plan and connect, once per query.
    #[serde(rename = "startup_seconds", deserialize_with = "data::duration")]
    pub startup: Duration,
    /// Time between two steps of a query of which one needs the answer to the other: to gather the answers and to
    /// start the next requests. If left out, it is zero.
    #[serde(default, rename = "next_step_seconds", deserialize_with = "data::some_duration")]
    pub next_step: Option<Duration>,
    /// The cores of one machine that scan.
    #[serde(deserialize_with = "data::at_once")]
    pub cores: NonZeroU32,
    /// The number of partitions in which one machine reads a table, each with one GET or two statements in flight. If
    /// left out, it is the session's number. A machine other than this one does not have this session's settings.
    #[serde(default, deserialize_with = "data::some_at_once")]
    pub partitions: Option<NonZeroU32>,
    /// The number of machines that run parts of a query. Each has [`Self::cores`] cores, its own link and its own
    /// requests in flight. If left out, it is one.
    #[serde(default = "one", deserialize_with = "data::at_once")]
    pub machines: NonZeroU32,
    /// One core's rate of parsing CSV.
    #[serde(deserialize_with = "data::rate")]
    pub csv_bytes_per_second: BytesPerSecond,
    /// One core's rate of parsing JSON.
    #[serde(deserialize_with = "data::rate")]
    pub json_bytes_per_second: BytesPerSecond,
    /// One core's rate of decoding Parquet column chunks.
    #[serde(deserialize_with = "data::rate")]
    pub parquet_bytes_per_second: BytesPerSecond,
    /// One core's rate of receiving bytes: the network stack, TLS and, if the store runs on the same cores, its
    /// sending. If left out, receiving takes no time beyond parsing.
    #[serde(default, deserialize_with = "data::some_rate")]
    pub receive_bytes_per_second: Option<BytesPerSecond>,
    /// One core's time for a request other than a Select statement. If the store runs on the same cores, this
    /// includes answering it. If left out, it is zero.
    #[serde(default, rename = "request_seconds", deserialize_with = "data::some_duration")]
    pub per_request: Option<Duration>,
    /// One core's time for a value of text, beyond the time for the bytes of its row; if left out, zero.
    #[serde(default, rename = "value_seconds", deserialize_with = "data::some_duration")]
    pub per_value: Option<Duration>,
    /// One core's time for a value that is decoded from Parquet, beyond the time for its bytes. If left out, it is
    /// zero.
    #[serde(default, rename = "decoded_value_seconds", deserialize_with = "data::some_duration")]
    pub per_decoded_value: Option<Duration>,
    /// One core's time to decode one value of an answer in Arrow, beyond the time to copy its bytes. Defaults to
    /// 0.5 ns.
    #[serde(default, rename = "arrow_value_seconds", deserialize_with = "data::some_duration")]
    pub per_arrow_value: Option<Duration>,
    /// One core's time to decode one value of a compressed answer in Arrow, beyond the time to decompress its bytes.
    /// Defaults to 5 ns.
    #[serde(
        default,
        rename = "compressed_value_seconds",
        deserialize_with = "data::some_duration"
    )]
    pub per_compressed_value: Option<Duration>,
    /// One core's time for an arithmetic operation on two values; if left out, zero.
    #[serde(default, rename = "term_seconds", deserialize_with = "data::some_duration")]
    pub per_term: Option<Duration>,
    /// One core's time for updating an aggregate of a group; if left out, zero.
    #[serde(default, rename = "update_seconds", deserialize_with = "data::some_duration")]
    pub per_update: Option<Duration>,
    /// One core's time for a key by which a row is grouped or ordered; if left out, zero.
    #[serde(default, rename = "key_seconds", deserialize_with = "data::some_duration")]
    pub per_key: Option<Duration>,
    /// True if the store runs on the same cores.
    #[serde(default)]
    pub shares_cores: bool,
    /// The fraction of the other resources' time that overlaps the slowest one's: 1 for all of it, 0 for none. In the
    /// notation of the model, 1 − α.
    #[serde(deserialize_with = "data::fraction")]
    pub overlap: f64,
    /// The overlap of phases without S3 Select: parts of an object are parsed while the next ones arrive, and the
    /// store has little to do for them. If left out, it equals [`Self::overlap`].
    #[serde(default, deserialize_with = "data::some_fraction")]
    pub get_overlap: Option<f64>,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl ClientRates {
    /// The overlap of phases with S3 Select or without it.
    #[must_use]
    pub fn overlap_of(&self, selects: bool) -> f64 {
        if selects { self.overlap } else { self.get_overlap.unwrap_or(self.overlap) }
    }

    /// One core's seconds for all these terms. The client has rates for arithmetic, updates and keys only.
    pub(crate) fn evaluating(&self, terms: Terms) -> f64 {
        let seconds = |each: Option<Duration>| each.unwrap_or_default().as_secs_f64();
        terms.comparisons * seconds(self.per_term)
            + terms.updates * seconds(self.per_update)
            + terms.keys * seconds(self.per_key)
    }
}

/// The constants of a store, a link and a client: the input of [`crate::predict`].
///
/// The profiles that come with this crate are plain data with date and source. Change a field for a "what if"
/// prediction.
///
/// ```
/// use sluicegate_costmodel::{BytesPerSecond, HardwareProfile};
///
/// let mut faster = HardwareProfile::by_name("local-1gbit").unwrap().clone();
/// faster.link.bytes_per_second = BytesPerSecond::gbit(10.0);
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareProfile {
    /// The profile's name, as options take it and predictions show it.
    #[serde(deserialize_with = "data::text")]
    pub name: String,
    /// The date of the constants: year, or year and month.
    #[serde(deserialize_with = "data::text")]
    pub date: String,
    /// The source of the constants, and which of them are assumed.
    #[serde(deserialize_with = "data::text")]
    pub source: String,
    /// The network between store and client.
    pub link: Link,
    /// Limits on requests.
    pub requests: RequestLimits,
    /// The rates of S3 Select. A store without Select leaves the table out; the field then holds
    /// [`SelectRates::assumed`], which is not used.
    #[serde(default = "SelectRates::assumed")]
    pub select: SelectRates,
    /// The rates of the client.
    pub client: ClientRates,
    /// Units per second of further resources, by [`crate::Resource`] name.
    #[serde(default, deserialize_with = "data::capacities")]
    pub capacities: BTreeMap<String, f64>,
    /// The calibration that measured the constants; `None` if they were not measured.
    #[serde(default)]
    pub calibration: Option<Box<Calibration>>,
}

static PROFILES: LazyLock<[HardwareProfile; 8]> = LazyLock::new(|| {
    [
        include_str!("../hardware/paper.toml"),
        include_str!("../hardware/aws-in-region.toml"),
        include_str!("../hardware/remote-1gbit.toml"),
        include_str!("../hardware/local-1gbit.toml"),
        include_str!("../hardware/local.toml"),
        include_str!("../hardware/home-100mbit.toml"),
        include_str!("../hardware/paper-2018.toml"),
        include_str!("../hardware/paper-2018-nic.toml"),
    ]
    .map(data::embedded)
});

impl HardwareProfile {
    /// The number of machines that run parts of a query.
    fn machines(&self) -> f64 {
        f64::from(self.client.machines.get())
    }

    /// The cores of all machines.
    pub(crate) fn all_cores(&self) -> f64 {
        f64::from(self.client.cores.get()) * self.machines()
    }

    /// The largest number of requests that all machines have in flight.
    pub(crate) fn all_slots(&self) -> u64 {
        u64::from(self.requests.slots.get()) * u64::from(self.client.machines.get())
    }

    /// The capacity of all machines' links, in bytes per second.
    pub(crate) fn all_links(&self) -> f64 {
        self.link.bytes_per_second.0 * self.machines()
    }

    /// PushdownDB's testbed: one r4.8xlarge beside S3, with a Python client.
    #[must_use]
    pub fn paper() -> &'static Self {
        &PROFILES[0]
    }

    /// All profiles that come with this crate.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &*PROFILES
    }

    /// The profile of this name, if it comes with this crate.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|profile| profile.name == name)
    }

    /// The profile `local` with the cores of this machine, which store and client share. The store divides each
    /// statement among them, so it has one core with the rates of all, as a calibration finds.
    #[must_use]
    pub fn on_this_machine() -> Self {
        let mut hardware = Self::by_name("local").unwrap_or_else(Self::paper).clone();
        let Self { select, client, .. } = &mut hardware;
        let cores = available_parallelism().ok().and_then(|it| u32::try_from(it.get()).ok());
        client.cores = cores.and_then(NonZeroU32::new).unwrap_or(client.cores);
        let all = f64::from(client.cores.get());
        select.cores = 1.0;
        for rate in [
            &mut select.csv_bytes_per_second,
            &mut select.json_bytes_per_second,
            &mut select.parquet_bytes_per_second,
        ] {
            rate.0 *= all;
        }
        select.total_bytes_per_second = select.csv_bytes_per_second;
        select.per_term = select.per_term.div_f64(all);
        let times = [
            &mut select.per_case,
            &mut select.per_update,
            &mut select.per_key,
            &mut select.per_constant,
            &mut select.per_parquet_update,
            &mut select.per_parquet_key,
            &mut select.per_value,
            &mut select.per_arrow_value,
            &mut select.per_compressed_value,
            &mut select.per_statement,
        ];
        for time in times.into_iter().flatten() {
            *time = time.div_f64(all);
        }
        hardware
    }

    /// The profile with a link that is no faster than this.
    #[must_use]
    pub fn behind(mut self, rate: BytesPerSecond) -> Self {
        /// The share of payload in the bytes of TCP over Ethernet.
        const PAYLOAD: f64 = 0.96;
        let (payload, link) = (rate * PAYLOAD, &mut self.link);
        if payload < link.bytes_per_second {
            link.bytes_per_second = payload;
            link.connection_bytes_per_second.0 = link.connection_bytes_per_second.0.min(payload.0);
            self.name = format!("{} behind {} Gbit/s", self.name, rate.as_gbit());
        }
        self
    }

    /// Parses a user's profile, in the format of the files in `hardware/`.
    ///
    /// # Errors
    ///
    /// If a key is missing, unknown, of the wrong type or out of range. The error names the first such key and its
    /// line.
    pub fn parse(toml: &str) -> Result<Self, DataError> {
        data::parse(toml)
    }

    /// The profile as EXPLAIN shows it: its name, the date of its constants, and whether they were measured here, on
    /// a quiet machine.
    #[must_use]
    pub fn introduction(&self) -> String {
        match &self.calibration {
            None => format!("{} ({}, not calibrated)", self.name, self.date),
            Some(it) if it.noise.is_empty() => {
                format!("{} (calibrated {})", self.name, self.date)
            }
            Some(_) => format!("{} (calibrated {}, on a noisy machine)", self.name, self.date),
        }
    }

    /// The provenance of a number that is computed from this profile.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance::Modelled(self.name.clone().into())
    }

    /// The time that the store's cores take for the scan of one request, or of several together.
    ///
    /// ```
    /// use sluicegate_costmodel::{Bytes, HardwareProfile, Rows, ScanWork};
    ///
    /// // 130 MB at 130 MB/s, and a million rows with a term of 580 ns.
    /// let (bytes, rows) = (Bytes(130_000_000), Rows(1_000_000));
    /// let scanned = ScanWork { bytes, rows, terms: 1.into(), ..ScanWork::default() };
    /// assert_eq!(HardwareProfile::paper().store_time(&scanned).as_secs_f64(), 1.58);
    /// ```
    #[must_use]
    pub fn store_time(&self, scanned: &ScanWork) -> Duration {
        seconds(self.store_seconds(scanned))
    }

    pub(crate) fn store_seconds(&self, scanned: &ScanWork) -> f64 {
        let ScanWork { format, bytes, rows, terms, passing, items, answer, answered, .. } =
            *scanned;
        let select = &self.select;
        let constant = select.per_constant.unwrap_or(select.per_term).as_secs_f64();
        bytes.as_f64() / self.select_rate(format).0
            + rows.as_f64() * select.per_row(format, terms)
            + passing.as_f64() * select.per_row(format, items)
            + answered * select.per_answered(answer)
            + scanned.constants as f64 * constant
    }

    /// The scan rate of one Select request.
    pub(crate) fn select_rate(&self, format: Format) -> BytesPerSecond {
        match format {
            Format::Csv => self.select.csv_bytes_per_second,
            Format::Json => self.select.json_bytes_per_second,
            Format::Parquet => self.select.parquet_bytes_per_second,
        }
    }

    /// One core's seconds to receive and parse the bytes of objects.
    pub(crate) fn ingest_seconds(&self, format: Format, bytes: f64) -> f64 {
        bytes / self.parse_rate(format).0 + self.receiving(bytes)
    }

    /// One core's seconds to receive answers of so many bytes, and to parse or decode them. `values` is the number of
    /// values in answers in Arrow. The time per value of CSV and JSON is not included.
    pub(crate) fn answer_seconds(&self, format: AnswerFormat, bytes: f64, values: f64) -> f64 {
        let or = |own: Option<Duration>, typical: f64| own.map_or(typical, |it| it.as_secs_f64());
        let client = &self.client;
        let parsing = match format {
            AnswerFormat::Csv => bytes / client.csv_bytes_per_second.0,
            AnswerFormat::Json => bytes / client.json_bytes_per_second.0,
            AnswerFormat::Arrow => {
                bytes / ARROW_BYTES.0.0 + values * or(client.per_arrow_value, DECODED_ARROW.0)
            }
            AnswerFormat::CompressedArrow => {
                bytes / ARROW_BYTES.1.0 + values * or(client.per_compressed_value, DECODED_ARROW.1)
            }
        };
        parsing + self.receiving(bytes)
    }

    /// One core's seconds to receive bytes.
    fn receiving(&self, bytes: f64) -> f64 {
        self.client.receive_bytes_per_second.map_or(0.0, |rate| bytes / rate.0)
    }

    /// One core's parsing rate for this format.
    pub(crate) fn parse_rate(&self, format: Format) -> BytesPerSecond {
        match format {
            Format::Csv => self.client.csv_bytes_per_second,
            Format::Json => self.client.json_bytes_per_second,
            Format::Parquet => self.client.parquet_bytes_per_second,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    #[test]
    fn every_profile_is_found_by_its_name() {
        for profile in HardwareProfile::all() {
            assert_eq!(HardwareProfile::by_name(&profile.name), Some(profile));
            assert!(profile.date.len() >= 4 && !profile.source.is_empty());
        }
        assert_eq!(HardwareProfile::by_name("paper"), Some(HardwareProfile::paper()));
        assert_eq!(HardwareProfile::by_name("none"), None);
    }

    #[test]
    fn a_link_is_only_made_slower() {
        let local = HardwareProfile::on_this_machine();
        let (named, all) = (HardwareProfile::by_name("local").unwrap(), local.client.cores.get());
        let rate = named.select.parquet_bytes_per_second * f64::from(all);
        assert_eq!((local.select.cores, local.select.parquet_bytes_per_second), (1.0, rate));
        assert_eq!(local.clone().behind(BytesPerSecond::UNLIMITED), local);
        assert_eq!(local.clone().behind(BytesPerSecond::gbit(100.0)), local);
        let slow = local.behind(BytesPerSecond::gbit(0.1));
        assert_eq!(slow.name, "local behind 0.1 Gbit/s");
        assert_eq!(slow.link.bytes_per_second, BytesPerSecond(12e6));
        assert_eq!(slow.link.connection_bytes_per_second, BytesPerSecond(12e6));
    }

    #[test]
    fn names_that_a_terminal_would_obey_are_refused() {
        let text = include_str!("../hardware/paper.toml");
        let name = text.lines().find(|line| line.starts_with("name")).unwrap();
        let refused = HardwareProfile::parse(&text.replace(name, r#"name = "a\u001b[2J""#));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.ends_with(r"`name`: has the control character \u{1b}"), "{refused}");
    }

    #[test]
    fn capacities_of_what_is_no_resource_are_refused() {
        let text = include_str!("../hardware/paper.toml");
        let with = format!("{text}\n[capacities]\nnope = 1e7\n");
        let refused = HardwareProfile::parse(&with).unwrap_err().to_string();
        assert!(refused.contains("`nope` is no resource: there are worker rows"), "{refused}");
    }

    #[test]
    fn further_capacities_are_named_in_a_table() {
        let text = include_str!("../hardware/paper.toml");
        let with = format!("{text}\n[capacities]\n\"switch pipeline\" = 1e7\n");
        let profile = HardwareProfile::parse(&with).unwrap();
        assert_eq!(profile.capacities.get("switch pipeline"), Some(&1e7));
        let error = HardwareProfile::parse(&with.replace("1e7", "0")).unwrap_err();
        assert!(
            error.to_string().contains("`switch pipeline` must be at least 1 per second"),
            "{error}"
        );
    }

    #[test]
    fn constants_that_are_missing_or_unknown_are_named() {
        let good = include_str!("../hardware/paper.toml");
        for (from, to, expected) in [
            ("latency_seconds = 0.03\n", "", "line 6: missing field `latency_seconds`"),
            ("[link]", "[linc]", "line 6: unknown field `linc`"),
            ("cores = 32", "corse = 32", "line 36, `client.corse`: unknown field `corse`"),
            ("slots = 1536", "slots = \"many\"", "line 12, `requests.slots`: invalid type"),
            ("slots = 1536", "slots = -1", "line 12, `requests.slots`: invalid value"),
        ] {
            assert!(good.contains(from), "{from}");
            let error = HardwareProfile::parse(&good.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }

    /// PushdownDB's group-by in S3, from its authors' logs of August 2018: 100 objects of 640 000 rows, one and a
    /// half scans to find the groups, then a CASE column for each group and aggregate.
    #[test]
    fn the_papers_group_by_in_s3_comes_out() {
        use crate::{Phase, Requests, Rows, Steps, predict};
        let hardware = HardwareProfile::by_name("paper-2018").unwrap();
        let (bytes, rows) = (Bytes(10_765_000_000), Rows(64_000_000));
        let scan = |times: f64, cases: f64| Phase {
            selects: Requests(100),
            scanned: bytes * times,
            scanned_rows: rows,
            terms: Terms { cases, ..Terms::NONE },
            ..Phase::default()
        };
        // Groups, aggregates, published seconds.
        for (groups, aggregates, published) in [
            (4.0, 10.0, 43.2),
            (8.0, 10.0, 70.2),
            (16.0, 10.0, 158.8),
            (32.0, 10.0, 307.1),
            (2.0, 4.0, 14.0),
        ] {
            let phases = vec![scan(1.5, 0.0).into(), scan(1.0, groups * aggregates).into()];
            // Python took 2.5 s for a query of two phases, of which the profile has the start and the next step.
            let seconds = 1.64 + predict(&Steps::InTurn(phases), hardware).total().as_secs_f64();
            let error = (seconds / published - 1.0).abs();
            assert!(error < 0.2, "{groups} groups: {seconds} s, published {published} s");
        }
    }

    /// lineitem at 1.163 GB/s and 0.2 s to start: 6.9 s, where Python takes 21.7.
    #[test]
    fn the_papers_twin_is_bound_by_its_network() {
        use crate::{Phase, Requests, Resource};
        let (gets, got) = (Requests(960), Bytes(7_775_727_688));
        let phase = Phase { gets, got, ..Phase::default() };
        for (name, bound_by, seconds) in
            [("paper-2018", Resource::CLIENT, "21.9"), ("paper-2018-nic", Resource::LINK, "6.9")]
        {
            let hardware = HardwareProfile::by_name(name).unwrap();
            let prediction = crate::predict(&phase.clone().into(), hardware);
            assert_eq!(prediction.bound_by(), Some(bound_by));
            assert_eq!(format!("{:.1}", prediction.total().as_secs_f64()), seconds);
        }
    }

    #[test]
    fn intervals_that_cannot_be_are_named_with_their_line() {
        let paper = include_str!("../hardware/paper.toml");
        let with = |interval: &str| {
            let intervals = format!("[calibration.intervals]\n\"requests.slots\" = {interval}\n");
            let start = "[calibration]\nendpoint = \"x\"\nrounds = 1\n";
            HardwareProfile::parse(&format!("{paper}\n{start}{intervals}"))
        };
        for good in ["[1.0, 2.0]", "[0.0, inf]", "[2.0, 2.0]"] {
            with(good).unwrap();
        }
        let line = paper.lines().count() + 6;
        for bad in ["[2.0, 1.0]", "[-1.0, 1.0]", "[nan, 1.0]", "[1.0, nan]"] {
            let error = with(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("line {line}, ")), "{bad}: {error}");
            assert!(error.contains("requests.slots") && error.contains("low <= high"), "{error}");
        }
    }

    #[test]
    fn values_out_of_range_are_named_with_their_line() {
        let good = include_str!("../hardware/paper.toml");
        for (from, to, expected) in [
            ("slots = 1536", "slots = 0", "line 12, `requests.slots`"),
            ("per_second = 6600", "per_second = 0", "line 13, `requests.per_second`"),
            (
                "overlap = 1.0",
                "overlap = 1.1",
                "line 41, `client.overlap`: must be between 0 and 1",
            ),
            ("seconds = 0.03", "seconds = -1", "line 9, `link.latency_seconds`"),
            ("seconds = 0.03", "seconds = nan", "line 9, `link.latency_seconds`"),
            (
                "seconds = 0.03",
                "seconds = 3601",
                "line 9, `link.latency_seconds`: must be a number",
            ),
            ("second = 1.163e9", "second = 1e-300", "line 7, `link.bytes_per_second`: must be at"),
            ("second = 18e9", "second = nan", "line 30, `select.total_bytes_per_second`: must be"),
            ("slots = 1536", "slots = 4000000000", "line 12, `requests.slots`: must be between 1"),
            ("per_second = 6600", "per_second = 1e-300", "line 13, `requests.per_second`: must be"),
            (
                "overlap = 1.0",
                "overlap = nan",
                "line 41, `client.overlap`: must be between 0 and 1",
            ),
        ] {
            assert!(good.contains(from), "{from}");
            let error = HardwareProfile::parse(&good.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
