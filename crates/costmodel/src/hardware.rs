//! What a store, a link and a client can do, as dated data.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;

use crate::calibration::Calibration;
use crate::data::{self, DataError};
use crate::phase::Format;
use crate::rate::seconds;
use crate::{BytesPerSecond, Provenance, Scanned, Terms};

/// The way between store and client.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Goodput of the whole link, one direction.
    #[serde(deserialize_with = "data::rate")]
    pub bytes_per_second: BytesPerSecond,
    /// What one connection gets of it.
    #[serde(deserialize_with = "data::rate")]
    pub connection_bytes_per_second: BytesPerSecond,
    /// From sending a GET to the first byte of its answer.
    #[serde(rename = "latency_seconds", deserialize_with = "data::duration")]
    pub latency: Duration,
}

/// How many requests the client and the store can take.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestLimits {
    /// The most requests in flight at once; a plan may have fewer.
    #[serde(deserialize_with = "data::at_once")]
    pub slots: NonZeroU32,
    /// Requests per second, the lower of what the store admits and the client manages.
    #[serde(deserialize_with = "data::requests_rate")]
    pub per_second: f64,
}

/// How fast the store answers S3 Select.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectRates {
    /// From sending the request to the first byte of its answer, scanning apart.
    #[serde(rename = "latency_seconds", deserialize_with = "data::duration")]
    pub latency: Duration,
    /// One request's scan of CSV.
    #[serde(deserialize_with = "data::rate")]
    pub csv_bytes_per_second: BytesPerSecond,
    /// One request's scan of JSON.
    #[serde(deserialize_with = "data::rate")]
    pub json_bytes_per_second: BytesPerSecond,
    /// One request's scan of Parquet column chunks.
    #[serde(deserialize_with = "data::rate")]
    pub parquet_bytes_per_second: BytesPerSecond,
    /// One request's extra time per row and term: a comparison or an arithmetic operation on a
    /// column.
    #[serde(rename = "term_seconds", deserialize_with = "data::duration")]
    pub per_term: Duration,
    /// The same for an aggregate of one group, `SUM(CASE WHEN g = 'a' THEN x END)`; if left out, as for
    /// the three terms of which its condition, its branch and its update consist.
    #[serde(default, rename = "case_seconds", deserialize_with = "data::some_duration")]
    pub per_case: Option<Duration>,
    /// The same for a look into a slice of a Bloom filter; if left out, as for the seven terms of
    /// which its hash function and its comparison consist.
    #[serde(default, rename = "probe_seconds", deserialize_with = "data::some_duration")]
    pub per_probe: Option<Duration>,
    /// The same for updating an aggregate; if left out, as for a term.
    #[serde(default, rename = "update_seconds", deserialize_with = "data::some_duration")]
    pub per_update: Option<Duration>,
    /// The same for converting a value, such as a text to a number; if left out, none, as a part of the
    /// term that asks for it.
    #[serde(default, rename = "cast_seconds", deserialize_with = "data::some_duration")]
    pub per_cast: Option<Duration>,
    /// The same for a conversion that takes longer, of a text to a decimal or a timestamp; if left out, as for any other conversion.
    #[serde(default, rename = "long_cast_seconds", deserialize_with = "data::some_duration")]
    pub per_long_cast: Option<Duration>,
    /// The same for each key by which a row's group is looked up; if left out, as for a term.
    #[serde(default, rename = "key_seconds", deserialize_with = "data::some_duration")]
    pub per_key: Option<Duration>,
    /// One request's time to write a value of its answer; if left out, none.
    #[serde(default, rename = "value_seconds", deserialize_with = "data::some_duration")]
    pub per_value: Option<Duration>,
    /// One request's time to read a constant of a list in its statement; if left out, as for a term.
    #[serde(default, rename = "constant_seconds", deserialize_with = "data::some_duration")]
    pub per_constant: Option<Duration>,
    /// A core's time for a statement, whatever it scans: to receive, parse and plan it, and to frame and send
    /// its answer; where the client runs on the same cores, its part of that, too. If left out, none.
    #[serde(default, rename = "statement_seconds", deserialize_with = "data::some_duration")]
    pub per_statement: Option<Duration>,
    /// Requests that are scanned at these rates at once, at least 1; more take turns. Cores that slow
    /// each other down count as fewer, so this need not be whole.
    #[serde(deserialize_with = "data::cores")]
    pub cores: f64,
    /// All requests together.
    #[serde(deserialize_with = "data::rate")]
    pub total_bytes_per_second: BytesPerSecond,
}

/// The terms of a look into a slice of a Bloom filter: two products and sums, three remainders and a
/// comparison.
const TERMS_OF_A_PROBE: f64 = 7.0;

/// The terms of an aggregate of one group: a comparison, a branch of CASE and an update.
const TERMS_OF_A_CASE: f64 = 3.0;

impl SelectRates {
    /// What is assumed of a store of which nothing is known: PushdownDB's measurements of AWS.
    #[must_use]
    pub fn assumed() -> Self {
        HardwareProfile::paper().select
    }

    /// One request's extra seconds per row.
    pub(crate) fn per_row(&self, terms: Terms) -> f64 {
        let term = self.per_term.as_secs_f64();
        let case = self.per_case.map_or(term * TERMS_OF_A_CASE, |time| time.as_secs_f64());
        let probe = self.per_probe.map_or(term * TERMS_OF_A_PROBE, |time| time.as_secs_f64());
        let update = self.per_update.map_or(term, |time| time.as_secs_f64());
        let key = self.per_key.map_or(term, |time| time.as_secs_f64());
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

/// How fast the client turns bytes into batches.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientRates {
    /// Planning and connecting, once per query.
    #[serde(rename = "startup_seconds", deserialize_with = "data::duration")]
    pub startup: Duration,
    /// Cores that scan.
    #[serde(deserialize_with = "data::at_once")]
    pub cores: NonZeroU32,
    /// Machines that run a query's parts, each with these cores, as many requests in flight and a link of its
    /// own; if left out, one.
    #[serde(default = "one", deserialize_with = "data::at_once")]
    pub machines: NonZeroU32,
    /// One core's parsing of CSV.
    #[serde(deserialize_with = "data::rate")]
    pub csv_bytes_per_second: BytesPerSecond,
    /// One core's parsing of JSON.
    #[serde(deserialize_with = "data::rate")]
    pub json_bytes_per_second: BytesPerSecond,
    /// One core's decoding of Parquet column chunks.
    #[serde(deserialize_with = "data::rate")]
    pub parquet_bytes_per_second: BytesPerSecond,
    /// One core's receiving of bytes: the network stack and TLS and, where the store runs on the same
    /// cores, its sending; if left out, that takes no time beside the parsing.
    #[serde(default, deserialize_with = "data::some_rate")]
    pub receive_bytes_per_second: Option<BytesPerSecond>,
    /// One core's time for a request that is no statement and, where the store runs on the same cores, for
    /// answering it; if left out, none.
    #[serde(default, rename = "request_seconds", deserialize_with = "data::some_duration")]
    pub per_request: Option<Duration>,
    /// One core's time for a value of text, beyond that of the bytes of its row; if left out, none.
    #[serde(default, rename = "value_seconds", deserialize_with = "data::some_duration")]
    pub per_value: Option<Duration>,
    /// One core's time for arithmetic on two values; if left out, none.
    #[serde(default, rename = "term_seconds", deserialize_with = "data::some_duration")]
    pub per_term: Option<Duration>,
    /// The same for updating an aggregate of a group.
    #[serde(default, rename = "update_seconds", deserialize_with = "data::some_duration")]
    pub per_update: Option<Duration>,
    /// The same for a key by which a row is grouped or ordered.
    #[serde(default, rename = "key_seconds", deserialize_with = "data::some_duration")]
    pub per_key: Option<Duration>,
    /// Whether the store runs on the same cores.
    #[serde(default)]
    pub shares_cores: bool,
    /// How much of the other resources' time hides behind the slowest one's: 1 all of it, 0 none.
    /// In the notation of the model, 1 − α.
    #[serde(deserialize_with = "data::fraction")]
    pub overlap: f64,
    /// The same where nothing is asked of S3 Select: parts of an object are parsed while the next ones
    /// arrive, and a store has little to do for them. If left out, it is the same.
    #[serde(default, deserialize_with = "data::some_fraction")]
    pub get_overlap: Option<f64>,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl ClientRates {
    /// How much of the other resources' time hides behind the slowest one's, with or without S3 Select.
    #[must_use]
    pub fn overlap_of(&self, selects: bool) -> f64 {
        if selects { self.overlap } else { self.get_overlap.unwrap_or(self.overlap) }
    }

    /// One core's seconds for all of these.
    pub(crate) fn evaluating(&self, terms: Terms) -> f64 {
        let seconds = |each: Option<Duration>| each.unwrap_or_default().as_secs_f64();
        terms.comparisons * seconds(self.per_term)
            + terms.updates * seconds(self.per_update)
            + terms.keys * seconds(self.per_key)
    }
}

/// What a store, a link and a client can do: the constants of [`crate::predict`].
///
/// The profiles that come with this crate are plain data with date and source; change a field to
/// ask "what if".
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
    /// The name that it is asked for by, and that predictions carry.
    #[serde(deserialize_with = "data::text")]
    pub name: String,
    /// When its constants were established: year, or year and month.
    #[serde(deserialize_with = "data::text")]
    pub date: String,
    /// Where they come from, and which are assumed.
    #[serde(deserialize_with = "data::text")]
    pub source: String,
    /// The way between store and client.
    pub link: Link,
    /// How many requests there can be.
    pub requests: RequestLimits,
    /// How fast the store answers S3 Select. Left out for a store without it; then
    /// [`SelectRates::assumed`] stands here, which nobody asks for.
    #[serde(default = "SelectRates::assumed")]
    pub select: SelectRates,
    /// How fast the client parses.
    pub client: ClientRates,
    /// What further resources can do, by [`crate::Resource`] name, in units per second.
    #[serde(default, deserialize_with = "data::capacities")]
    pub capacities: BTreeMap<String, f64>,
    /// How the constants were measured; none if they were not.
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
    /// How many machines run a query's parts.
    fn machines(&self) -> f64 {
        f64::from(self.client.machines.get())
    }

    /// The cores of all machines.
    pub(crate) fn all_cores(&self) -> f64 {
        f64::from(self.client.cores.get()) * self.machines()
    }

    /// The most requests that all machines have in flight.
    pub(crate) fn all_slots(&self) -> u64 {
        u64::from(self.requests.slots.get()) * u64::from(self.client.machines.get())
    }

    /// What the links of all machines carry, in bytes per second.
    pub(crate) fn all_links(&self) -> f64 {
        self.link.bytes_per_second.0 * self.machines()
    }

    /// PushdownDB's testbed: one r4.8xlarge beside S3, a Python client.
    #[must_use]
    pub fn paper() -> &'static Self {
        &PROFILES[0]
    }

    /// All the profiles that come with this crate.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &*PROFILES
    }

    /// The profile of this name, if it comes with this crate.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|profile| profile.name == name)
    }

    /// Reads a profile of the user's own, in the form of the ones in `hardware/`.
    ///
    /// # Errors
    ///
    /// The first key that is missing, unknown, of the wrong type or out of range, with its line.
    pub fn parse(toml: &str) -> Result<Self, DataError> {
        data::parse(toml)
    }

    /// What EXPLAIN says about the profile: its name, when its constants were established, and
    /// whether they were measured here, on a quiet machine.
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

    /// What a number computed from this profile rests on.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance::Modelled(self.name.clone().into())
    }

    /// The time that the store's cores take for a scan: of one request, or of several together.
    ///
    /// ```
    /// use sluicegate_costmodel::{Bytes, HardwareProfile, Rows, Scanned};
    ///
    /// // 130 MB at 130 MB/s, and a million rows with two terms of 290 ns.
    /// let (bytes, rows) = (Bytes(130_000_000), Rows(1_000_000));
    /// let scanned = Scanned { bytes, rows, terms: 2.into(), ..Scanned::default() };
    /// assert_eq!(HardwareProfile::paper().store_time(&scanned).as_secs_f64(), 1.58);
    /// ```
    #[must_use]
    pub fn store_time(&self, scanned: &Scanned) -> Duration {
        seconds(self.store_seconds(scanned))
    }

    pub(crate) fn store_seconds(&self, scanned: &Scanned) -> f64 {
        let Scanned { format, bytes, rows, terms, passing, items, answered, .. } = *scanned;
        let select = &self.select;
        let constant = select.per_constant.unwrap_or(select.per_term).as_secs_f64();
        bytes.as_f64() / self.select_rate(format).0
            + rows.as_f64() * select.per_row(terms)
            + passing.as_f64() * select.per_row(items)
            + answered * select.per_value.unwrap_or_default().as_secs_f64()
            + scanned.constants as f64 * constant
    }

    /// One Select request's scan rate.
    pub(crate) fn select_rate(&self, format: Format) -> BytesPerSecond {
        match format {
            Format::Csv => self.select.csv_bytes_per_second,
            Format::Json => self.select.json_bytes_per_second,
            Format::Parquet => self.select.parquet_bytes_per_second,
        }
    }

    /// One core's seconds to receive and parse bytes.
    pub(crate) fn ingest_seconds(&self, format: Format, bytes: f64) -> f64 {
        let receiving = self.client.receive_bytes_per_second.map_or(0.0, |rate| bytes / rate.0);
        bytes / self.parse_rate(format).0 + receiving
    }

    /// One core's parsing rate.
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
            ("cores = 32", "corse = 32", "line 27, `client.corse`: unknown field `corse`"),
            ("slots = 1536", "slots = \"many\"", "line 12, `requests.slots`: invalid type"),
            ("slots = 1536", "slots = -1", "line 12, `requests.slots`: invalid value"),
        ] {
            assert!(good.contains(from), "{from}");
            let error = HardwareProfile::parse(&good.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }

    /// PushdownDB's group-by in S3, from its authors' logs of August 2018: 100 objects of 640 000 rows, a
    /// scan and a half for the groups, then a CASE column for each group and aggregate.
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
            // Python took 2.5 s for a query of two phases, beyond the start of one.
            let seconds = 2.3 + predict(&Steps::InTurn(phases), hardware).total().as_secs_f64();
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
                "line 31, `client.overlap`: must be between 0 and 1",
            ),
            ("seconds = 0.03", "seconds = -1", "line 9, `link.latency_seconds`"),
            ("seconds = 0.03", "seconds = nan", "line 9, `link.latency_seconds`"),
            (
                "seconds = 0.03",
                "seconds = 3601",
                "line 9, `link.latency_seconds`: must be a number",
            ),
            ("second = 1.163e9", "second = 1e-300", "line 7, `link.bytes_per_second`: must be at"),
            ("second = 18e9", "second = nan", "line 22, `select.total_bytes_per_second`: must be"),
            ("slots = 1536", "slots = 4000000000", "line 12, `requests.slots`: must be between 1"),
            ("per_second = 6600", "per_second = 1e-300", "line 13, `requests.per_second`: must be"),
            (
                "overlap = 1.0",
                "overlap = nan",
                "line 31, `client.overlap`: must be between 0 and 1",
            ),
        ] {
            assert!(good.contains(from), "{from}");
            let error = HardwareProfile::parse(&good.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
