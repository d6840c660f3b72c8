//! Fits the constants of a hardware profile to experiments.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use super::regression::{Equations, Estimate};
use super::{Experiment, MeasuredOperation};
use crate::hardware::{ARROW_BYTES, ClientRates, SelectRates};
use crate::{
    AnswerFormat, BytesPerSecond, Format, HardwareProfile, Phase, Requests, ScanWork, Terms,
    predict,
};

/// The size in bytes below which GETs serve to measure the rate of requests instead of the rate of bytes.
const SMALL: f64 = 16_384.0;

/// The slowdown of concurrent statements, relative to a single one, above which the store is assumed to run fewer of
/// them concurrently than it was sent.
const SLOWED: f64 = 1.25;

/// The number of constants that are fitted to statements.
const STATEMENTS: usize = 18;

/// The fitted constants and their intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The profile with the fitted constants. All other constants and fields, such as the name, are those of the
    /// base.
    pub hardware: HardwareProfile,
    /// The fitted constants, by their key in a profile's file, with the interval that holds the true value with a
    /// probability of 95 %.
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// The keys of the constants that were not fitted.
    pub assumed: Vec<String>,
}

/// Finds the constants with which the model predicts the times of these experiments best.
///
/// Constants without an experiment are taken from `base`. Its cores and number of connections are trusted.
#[must_use]
pub fn fit(experiments: &[Experiment], base: &HardwareProfile) -> Fit {
    let hardware = base.clone();
    let fit = Fit { hardware, intervals: BTreeMap::new(), assumed: Vec::new() };
    let mut fitting = Fitting { experiments, fit };
    fitting.connection();
    fitting.link();
    fitting.requests();
    fitting.statements();
    fitting.receiving();
    fitting.parsing();
    fitting.decoding();
    fitting.aggregating();
    fitting.planning();
    fitting.overlaps();
    fitting.fit
}

struct Fitting<'a> {
    experiments: &'a [Experiment],
    fit: Fit,
}

impl Fitting<'_> {
    /// Every request with each of its usual times, in seconds.
    fn times(&self) -> impl Iterator<Item = (&MeasuredOperation, f64)> {
        let all = self.experiments.iter();
        all.flat_map(|it| it.usual().map(|seconds| (&it.asked, seconds)))
    }

    /// Every request with the median of its times, in seconds.
    fn medians(&self) -> impl Iterator<Item = (&MeasuredOperation, f64)> {
        self.experiments.iter().map(|experiment| (&experiment.asked, experiment.median()))
    }

    /// Fits single GETs: latency + bytes / rate of a connection.
    fn connection(&mut self) {
        let mut equations = Equations::new(2);
        for (asked, seconds) in self.times() {
            if let MeasuredOperation::Get(bytes) = asked {
                equations.push(&[1.0, bytes.as_f64()], seconds, seconds);
            }
        }
        let found = equations.solve();
        self.duration("link.latency_seconds", found[0], |it| &mut it.link.latency);
        self.rate("link.connection_bytes_per_second", found[1], |it| {
            &mut it.link.connection_bytes_per_second
        });
    }

    /// Fits large concurrent GETs: a constant + bytes / rate of the link. The constant may be negative, because a
    /// link can let some bytes pass at once.
    fn link(&mut self) {
        let mut equations = Equations::new(3);
        for (asked, seconds) in self.times() {
            if let MeasuredOperation::Gets { requests, bytes, .. } = asked
                && bytes.as_f64() >= SMALL * requests.as_f64()
            {
                equations.push(&[1.0, -1.0, bytes.as_f64()], seconds, seconds);
            }
        }
        let found = equations.solve()[2];
        // If more bytes take no more time, the link is at least as fast as the fastest transfer.
        let fastest = self.medians().filter_map(|(asked, seconds)| match asked {
            MeasuredOperation::Gets { bytes, .. } => Some(seconds / bytes.as_f64()),
            _ => None,
        });
        let fastest = fastest.filter(|each| *each > 0.0).min_by(f64::total_cmp);
        let found = match (found, fastest) {
            (Some(Estimate { low: 0.0, .. }), Some(each)) => {
                Some(Estimate { value: each, low: 0.0, high: each })
            }
            (found, _) => found,
        };
        self.rate("link.bytes_per_second", found, |it| &mut it.link.bytes_per_second);
        let link = &mut self.fit.hardware.link;
        if link.connection_bytes_per_second.0 <= link.bytes_per_second.0 {
            return;
        }
        if found.is_none_or(|it| it.low <= 0.0) {
            // The experiments did not reach the link's limit.
            link.bytes_per_second = link.connection_bytes_per_second;
            return;
        }
        // A shaped link lets the first bytes pass at once, which may be all of one GET.
        link.connection_bytes_per_second = link.bytes_per_second;
        let rate = link.bytes_per_second.0;
        if let Some(interval) = self.fit.intervals.get_mut("link.connection_bytes_per_second") {
            *interval = interval.map(|bound| bound.min(rate));
        }
    }

    /// Fits small concurrent GETs: the latency of each wave + bytes / rate of the link + requests / their rate.
    fn requests(&mut self) {
        let link = self.fit.hardware.link;
        let mut equations = Equations::new(1);
        for (asked, seconds) in self.times() {
            if let MeasuredOperation::Gets { requests, lanes, bytes } = asked
                && bytes.as_f64() < SMALL * requests.as_f64()
            {
                let waves = (requests.as_f64() / f64::from(*lanes)).max(1.0);
                let known =
                    link.latency.as_secs_f64() * waves + bytes.as_f64() / link.bytes_per_second.0;
                equations.push(&[requests.as_f64()], seconds - known, seconds);
            }
        }
        let found = equations.solve()[0];
        self.inverse("requests.per_second", found, |it| &mut it.requests.per_second);
    }

    /// Fits statements: latency + bytes / rate of their format + rows · terms · time of each + constants · time of
    /// each + values of the answers · time of each + their bytes over the link.
    ///
    /// If there are more concurrent statements than cores of the store, they take proportionally longer. Queries send
    /// concurrent statements as well, so these experiments decide most constants: a store may use all of its cores
    /// for a statement that runs alone.
    fn statements(&mut self) {
        self.side_by_side();
        let (link, cores) = (self.fit.hardware.link, self.fit.hardware.select.cores);
        // Waiting and working can be distinguished only if statements wait for each other.
        let wait = |asked: &MeasuredOperation| matches!(asked, MeasuredOperation::Selects { lanes, .. } if f64::from(*lanes) > cores);
        let tells_work = self.times().any(|(asked, _)| wait(asked));
        let mut equations = Equations::new(STATEMENTS);
        for (asked, seconds) in self.times() {
            let (lanes, scanned, rate) = match asked {
                MeasuredOperation::Select(scanned) => {
                    (1.0, scanned, link.connection_bytes_per_second)
                }
                MeasuredOperation::Selects { lanes, each } => {
                    (f64::from(*lanes), each, link.bytes_per_second)
                }
                _ => continue,
            };
            let ScanWork { format, bytes, rows, terms, passing, items, .. } = *scanned;
            let turns = (lanes / cores).max(1.0);
            let of = |this: Format| if this == format { bytes.as_f64() * turns } else { 0.0 };
            let each = |kind: fn(Terms) -> f64| {
                (rows.as_f64() * kind(terms) + passing.as_f64() * kind(items)) * turns
            };
            let is_columnar = format == Format::Parquet;
            let answered = |is_of: bool| if is_of { scanned.answered * turns } else { 0.0 };
            let amounts: [f64; STATEMENTS] = [
                1.0,
                of(Format::Csv),
                of(Format::Json),
                of(Format::Parquet),
                each(|it| it.comparisons),
                each(|it| it.cases),
                each(|it| it.probes),
                if is_columnar { 0.0 } else { each(|it| it.updates) },
                each(|it| it.casts),
                each(|it| it.long_casts),
                if is_columnar { 0.0 } else { each(|it| it.keys) },
                if is_columnar { each(|it| it.updates) } else { 0.0 },
                if is_columnar { each(|it| it.keys) } else { 0.0 },
                scanned.constants as f64 * turns,
                answered([AnswerFormat::Csv, AnswerFormat::Json].contains(&scanned.answer)),
                answered(scanned.answer == AnswerFormat::Arrow),
                answered(scanned.answer == AnswerFormat::CompressedArrow),
                if tells_work { turns } else { 0.0 },
            ];
            let sent = scanned.returned.as_f64() * lanes / rate.0;
            equations.push(&amounts, seconds - sent, seconds);
        }
        let found = equations.solve();
        if found[0].is_none() {
            self.fit.hardware.select = SelectRates::assumed();
            self.fit.assumed.retain(|key| !key.starts_with("select."));
            self.fit.assumed.push("select".to_owned());
            return;
        }
        let [latency, csv, json, parquet, found @ ..]: [_; STATEMENTS] =
            std::array::from_fn(|at| found[at]);
        let [term, case, probe, update, cast, timestamp, key, found @ ..] = found;
        let [columnar_update, columnar_key, constant, value, arrow, compressed, statement] = found;
        self.duration("select.latency_seconds", latency, |it| &mut it.select.latency);
        self.some_duration("select.statement_seconds", statement, |it| {
            &mut it.select.per_statement
        });
        self.rate("select.csv_bytes_per_second", csv, |it| &mut it.select.csv_bytes_per_second);
        self.rate("select.json_bytes_per_second", json, |it| &mut it.select.json_bytes_per_second);
        self.rate("select.parquet_bytes_per_second", parquet, |it| {
            &mut it.select.parquet_bytes_per_second
        });
        self.duration("select.term_seconds", term, |it| &mut it.select.per_term);
        self.some_duration("select.case_seconds", case, |it| &mut it.select.per_case);
        self.some_duration("select.probe_seconds", probe, |it| &mut it.select.per_probe);
        self.some_duration("select.update_seconds", update, |it| &mut it.select.per_update);
        self.some_duration("select.cast_seconds", cast, |it| &mut it.select.per_cast);
        self.some_duration("select.long_cast_seconds", timestamp, |it| {
            &mut it.select.per_long_cast
        });
        self.some_duration("select.key_seconds", key, |it| &mut it.select.per_key);
        self.some_duration("select.parquet_update_seconds", columnar_update, |it| {
            &mut it.select.per_parquet_update
        });
        self.some_duration("select.parquet_key_seconds", columnar_key, |it| {
            &mut it.select.per_parquet_key
        });
        self.some_duration("select.value_seconds", value, |it| &mut it.select.per_value);
        self.some_duration("select.arrow_value_seconds", arrow, |it| {
            &mut it.select.per_arrow_value
        });
        self.some_duration("select.compressed_value_seconds", compressed, |it| {
            &mut it.select.per_compressed_value
        });
        self.some_duration("select.constant_seconds", constant, |it| &mut it.select.per_constant);
        let select = &mut self.fit.hardware.select;
        let together = select.csv_bytes_per_second.0 * select.cores;
        select.total_bytes_per_second = BytesPerSecond(rounded(together));
    }

    /// Finds the number of statements that the store scans concurrently, from a statement alone and many times at
    /// once.
    fn side_by_side(&mut self) {
        let statements = |(asked, seconds): (&MeasuredOperation, f64)| match asked {
            MeasuredOperation::Select(each) => Some((1, *each, seconds)),
            MeasuredOperation::Selects { lanes, each } => Some((*lanes, *each, seconds)),
            _ => None,
        };
        let all: Vec<(u32, ScanWork, f64)> = self.medians().filter_map(statements).collect();
        // Subtracts the time of as many statements that scan next to nothing, which also wait for each other.
        let least = |lanes: u32| {
            let same = all.iter().filter(|it| it.0 == lanes);
            same.map(|(.., seconds)| *seconds).fold(f64::INFINITY, f64::min)
        };
        let alone = |each: ScanWork| all.iter().find(|(lanes, it, _)| *lanes == 1 && *it == each);
        let pairs = all.iter().filter_map(|it| Some((it, alone(it.1)?)));
        let most = pairs.filter(|(it, _)| it.0 > 1).max_by_key(|(it, _)| (it.0, it.1.bytes));
        let slower =
            most.map(|(many, one)| (many.0, (many.2 - least(many.0)) / (one.2 - least(1))));
        let select = &mut self.fit.hardware.select;
        match slower {
            Some((lanes, slower)) if slower > SLOWED && slower.is_finite() => {
                select.cores = rounded((f64::from(lanes) / slower).max(1.0));
            }
            _ => {
                // This is a lower bound; the experiments do not show how many more there are.
                let lanes = slower.map_or(1, |(lanes, _)| lanes);
                select.cores = select.cores.max(f64::from(lanes));
                self.fit.assumed.push("select.cores".to_owned());
                self.fit.assumed.push("select.total_bytes_per_second".to_owned());
            }
        }
    }

    /// Fits the CPU time of GETs: requests · time of each + bytes / rate.
    fn receiving(&mut self) {
        let mut equations = Equations::new(2);
        for (asked, seconds) in self.times() {
            if let MeasuredOperation::Receive { requests, bytes } = asked {
                equations.push(&[requests.as_f64(), bytes.as_f64()], seconds, seconds);
            }
        }
        let found = equations.solve();
        self.some_duration("client.request_seconds", found[0], |it| &mut it.client.per_request);
        self.inverse("client.receive_bytes_per_second", found[1], |it| {
            &mut it.client.receive_bytes_per_second.get_or_insert(BytesPerSecond::UNLIMITED).0
        });
    }

    /// Fits parsing of bytes in memory: bytes / rate of their format, plus values · time of each, of text or of
    /// Parquet.
    fn parsing(&mut self) {
        let mut equations = Equations::new(5);
        for (asked, seconds) in self.times() {
            let MeasuredOperation::Parse { format: this, bytes, values } = asked else { continue };
            let of = |format: Format| if *this == format { bytes.as_f64() } else { 0.0 };
            let [text, decoded] =
                if *this == Format::Parquet { [0.0, *values] } else { [*values, 0.0] };
            let amounts = [of(Format::Csv), of(Format::Json), of(Format::Parquet), text, decoded];
            equations.push(&amounts, seconds, seconds);
        }
        let found = equations.solve();
        let [csv, json, parquet, value, decoded] = std::array::from_fn(|at| found[at]);
        self.rate("client.csv_bytes_per_second", csv, |it| &mut it.client.csv_bytes_per_second);
        self.rate("client.json_bytes_per_second", json, |it| &mut it.client.json_bytes_per_second);
        self.rate("client.parquet_bytes_per_second", parquet, |it| {
            &mut it.client.parquet_bytes_per_second
        });
        self.some_duration("client.value_seconds", value, |it| &mut it.client.per_value);
        self.some_duration("client.decoded_value_seconds", decoded, |it| {
            &mut it.client.per_decoded_value
        });
    }

    /// Fits decoding of answers in Arrow: the known time of their bytes + values · time of each, plain or compressed.
    fn decoding(&mut self) {
        let mut equations = Equations::new(2);
        for (asked, seconds) in self.times() {
            if let MeasuredOperation::Decode { is_compressed, bytes, values } = *asked {
                let (rate, amounts) = match is_compressed {
                    true => (ARROW_BYTES.1, [0.0, values]),
                    false => (ARROW_BYTES.0, [values, 0.0]),
                };
                equations.push(&amounts, seconds - bytes.as_f64() / rate.0, seconds);
            }
        }
        let found = equations.solve();
        self.some_duration("client.arrow_value_seconds", found[0], |it| {
            &mut it.client.per_arrow_value
        });
        self.some_duration("client.compressed_value_seconds", found[1], |it| {
            &mut it.client.per_compressed_value
        });
    }

    /// Fits aggregation of rows in memory: arithmetic, updates and keys · time of each. The fixed time of a query is
    /// small beside these.
    fn aggregating(&mut self) {
        let mut equations = Equations::new(3);
        for (asked, seconds) in self.times() {
            if let MeasuredOperation::Aggregate { here } = asked {
                let amounts = [here.comparisons, here.updates, here.keys];
                equations.push(&amounts, seconds, seconds);
            }
        }
        let found = equations.solve();
        self.some_duration("client.term_seconds", found[0], |it| &mut it.client.per_term);
        self.some_duration("client.update_seconds", found[1], |it| &mut it.client.per_update);
        self.some_duration("client.key_seconds", found[2], |it| &mut it.client.per_key);
    }

    /// Fits queries over small objects: planning + a latency for each wave of objects.
    ///
    /// A wave has at least as many objects as there are cores, because each core opens its own. A core may have two
    /// statements in flight, so there are slots for twice as many.
    fn planning(&mut self) {
        let latency = self.fit.hardware.link.latency.as_secs_f64();
        let mut equations = Equations::new(2);
        for (asked, seconds) in self.times() {
            match asked {
                MeasuredOperation::Small { objects: 0 | 1 } => {
                    equations.push(&[1.0, 0.0], seconds - latency, seconds);
                }
                MeasuredOperation::Small { objects } => {
                    equations.push(&[1.0, latency * *objects as f64], seconds, seconds);
                }
                _ => {}
            }
        }
        let found = equations.solve();
        self.duration("client.startup_seconds", found[0], |it| &mut it.client.startup);
        let base = self.fit.hardware.requests.slots;
        let cores = self.fit.hardware.client.cores;
        match found[1].filter(|it| it.value > 0.0) {
            Some(Estimate { value, low, high }) => {
                let slots = (1.0 / value).round().clamp(1.0, f64::from(base.get())) as u32;
                let slots = NonZeroU32::new(slots).unwrap_or(NonZeroU32::MIN);
                let slots = slots.max(cores.saturating_mul(NonZeroU32::MIN.saturating_add(1)));
                self.fit.hardware.requests.slots = slots;
                self.interval("requests.slots", slots_interval(slots, [1.0 / high, 1.0 / low]));
            }
            None => self.fit.assumed.push("requests.slots".to_owned()),
        }
    }

    /// Fits the overlap of whole queries, with S3 Select and without it: the time that the slowest resource does not
    /// explain, as a fraction of the time that the others need.
    ///
    /// If waiting is predicted to take longer than the others' work, its prediction is not accurate enough to be
    /// subtracted. Its share is then fitted as a further coefficient.
    fn overlaps(&mut self) {
        let with = |overlap: f64| {
            let mut hardware = self.fit.hardware.clone();
            hardware.client.overlap = overlap;
            hardware.client.get_overlap = None;
            hardware
        };
        let (perfect, none) = (with(1.0), with(0.0));
        let seconds_on = |phase: &Phase, hardware: &HardwareProfile| {
            predict(&phase.clone().into(), hardware).total().as_secs_f64()
        };
        let mut busy = perfect.clone();
        busy.link.latency = Duration::ZERO;
        busy.select.latency = Duration::ZERO;
        let (mut equations, mut apart) = (Equations::new(2), Equations::new(3));
        let (mut waits, mut adds) = (0.0, 0.0);
        for (asked, seconds) in self.times() {
            if let MeasuredOperation::Query(phase) = asked {
                let least = seconds_on(phase, &perfect);
                let most = seconds_on(phase, &none);
                let busy = seconds_on(phase, &busy);
                let [select, get] = match phase.selects > Requests::ZERO {
                    true => [most - least, 0.0],
                    false => [0.0, most - least],
                };
                equations.push(&[select, get], seconds - least, seconds);
                apart.push(&[select, get, least - busy], seconds - busy, seconds);
                waits += least - busy;
                adds += most - least;
            }
        }
        let apart = apart.solve();
        let tells = matches!(apart[..], [.., Some(waiting)] if waits > adds && waiting.value < 1.0);
        let found = if tells { apart } else { equations.solve() };
        type Set = fn(&mut ClientRates, f64);
        let constants: [(&str, Set); 2] = [
            ("client.overlap", |client, overlap| client.overlap = overlap),
            ("client.get_overlap", |client, overlap| client.get_overlap = Some(overlap)),
        ];
        for ((key, set), found) in constants.into_iter().zip(found) {
            match found {
                Some(Estimate { value, low, high }) => {
                    let overlap = |alpha: f64| 1.0 - alpha.clamp(0.0, 1.0);
                    set(&mut self.fit.hardware.client, rounded(overlap(value)));
                    self.interval(key, [overlap(high), overlap(low)]);
                }
                None => self.fit.assumed.push(key.to_owned()),
            }
        }
    }

    fn interval(&mut self, key: &str, interval: [f64; 2]) {
        self.fit.intervals.insert(key.to_owned(), interval.map(rounded));
    }

    fn duration(
        &mut self,
        key: &str,
        found: Option<Estimate>,
        place: impl FnOnce(&mut HardwareProfile) -> &mut Duration,
    ) {
        match found {
            Some(Estimate { value, low, high }) => {
                *place(&mut self.fit.hardware) = crate::rate::seconds(rounded(value));
                self.interval(key, [low, high]);
            }
            None => self.fit.assumed.push(key.to_owned()),
        }
    }

    fn some_duration(
        &mut self,
        key: &str,
        found: Option<Estimate>,
        place: impl FnOnce(&mut HardwareProfile) -> &mut Option<Duration>,
    ) {
        self.duration(key, found, |hardware| place(hardware).insert(Duration::ZERO));
    }

    /// Stores the reciprocal of the estimate: from seconds per unit to units per second.
    fn inverse(
        &mut self,
        key: &str,
        found: Option<Estimate>,
        place: impl FnOnce(&mut HardwareProfile) -> &mut f64,
    ) {
        // An estimate of zero means that the time was too short to be measured.
        match found.filter(|it| it.value > 0.0) {
            Some(Estimate { value, low, high }) => {
                *place(&mut self.fit.hardware) = rounded(1.0 / value);
                self.interval(key, [1.0 / high, 1.0 / low]);
            }
            None => self.fit.assumed.push(key.to_owned()),
        }
    }

    fn rate(
        &mut self,
        key: &str,
        found: Option<Estimate>,
        place: impl FnOnce(&mut HardwareProfile) -> &mut BytesPerSecond,
    ) {
        self.inverse(key, found, |hardware| &mut place(hardware).0);
    }
}

/// Rounds to four significant digits, which is more than the precision of any of these constants.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The interval of a number of slots, extended to contain the number itself, which was limited, and at least 1. The
/// upper bound is infinite if the slope may be 0 or less.
fn slots_interval(slots: NonZeroU32, [low, high]: [f64; 2]) -> [f64; 2] {
    let slots = f64::from(slots.get());
    let most = if high > 0.0 { high.max(slots) } else { f64::INFINITY };
    [low.clamp(1.0, slots), most]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Requests, Rows, Steps};
    use proptest::prelude::*;

    /// The requests of `sluice calibrate`, approximately: 8 MiB of 80 000 rows.
    fn suite() -> Vec<MeasuredOperation> {
        let size = Bytes::mib(8);
        let mut all: Vec<MeasuredOperation> = [1 << 10, 1 << 18, 1 << 20, 4 << 20, 8 << 20]
            .map(|bytes| MeasuredOperation::Get(Bytes(bytes)))
            .to_vec();
        for (requests, bytes) in [(16, 4 << 20), (16, 16 << 20), (64, 64 << 10), (256, 256 << 10)] {
            let lanes = if requests == 16 { 16 } else { 32 };
            let (requests, bytes) = (Requests(requests), Bytes(bytes));
            all.push(MeasuredOperation::Gets { requests, lanes, bytes });
            all.push(MeasuredOperation::Receive { requests, bytes });
        }
        let mut select = |format, bytes: Bytes, comparisons: u32, cases: u32, probes: u32| {
            let rows = Rows::from_f64(bytes.as_f64() / 100.0);
            let [comparisons, cases, probes] = [comparisons, cases, probes].map(f64::from);
            let terms = Terms { comparisons, cases, probes, ..Terms::NONE };
            let scanned = ScanWork { format, bytes, rows, terms, ..ScanWork::default() };
            all.push(MeasuredOperation::Select(scanned));
            scanned
        };
        let few = select(Format::Csv, Bytes(100), 1, 0, 0);
        for format in [Format::Csv, Format::Json, Format::Parquet] {
            select(format, Bytes::mib(1), 1, 0, 0);
            select(format, size, 1, 0, 0);
        }
        select(Format::Csv, size, 8, 0, 0);
        select(Format::Csv, size, 33, 16, 0);
        select(Format::Csv, size, 9, 4, 0);
        select(Format::Csv, size, 1, 0, 4);
        let each = select(Format::Csv, size, 1, 0, 1);
        let plain = ScanWork { terms: 1.into(), ..each };
        for each in [few, plain] {
            all.extend([2, 8, 16].map(|lanes| MeasuredOperation::Selects { lanes, each }));
        }
        for (updates, casts, keys, long_casts) in [
            (1, 0, 0, 0),
            (8, 0, 0, 0),
            (1, 0, 1, 0),
            (0, 1, 2, 0),
            (2, 4, 0, 1),
            (1, 0, 0, 1),
            (0, 12, 0, 0),
        ] {
            let [updates, casts, keys, long_casts] =
                [updates, casts, keys, long_casts].map(f64::from);
            let items = Terms { updates, casts, keys, long_casts, ..Terms::NONE };
            all.push(MeasuredOperation::Select(ScanWork { passing: each.rows, items, ..plain }));
        }
        for (updates, keys) in [(1.0, 0.0), (8.0, 0.0), (1.0, 1.0), (0.0, 2.0)] {
            let items = Terms { updates, keys, ..Terms::NONE };
            let format = Format::Parquet;
            let passing = each.rows;
            all.push(MeasuredOperation::Select(ScanWork { format, passing, items, ..plain }));
        }
        all.push(MeasuredOperation::Select(ScanWork { constants: 100_000, ..plain }));
        let answered = each.rows.as_f64();
        all.push(MeasuredOperation::Select(ScanWork { answered, ..plain }));
        for (answer, times) in [(AnswerFormat::Arrow, 6.0), (AnswerFormat::CompressedArrow, 2.0)] {
            let answered = times * answered;
            all.push(MeasuredOperation::Select(ScanWork { answer, answered, ..plain }));
        }
        for (is_compressed, values) in [(false, 400_000.0), (true, 300_000.0)] {
            let bytes = Bytes::from_f64(3.0 * values);
            all.push(MeasuredOperation::Decode { is_compressed, bytes, values });
        }
        for format in [Format::Csv, Format::Json, Format::Parquet] {
            // A value of Parquet may take a byte.
            let least = if format == Format::Parquet { 1 } else { 8 };
            for (mib, values) in [(1, 30_000.0), (8, 60_000.0), (least, 900_000.0)] {
                all.push(MeasuredOperation::Parse { format, bytes: Bytes::mib(mib), values });
            }
        }
        for (comparisons, updates, keys) in [(0, 1, 1), (0, 6, 1), (4, 1, 1), (0, 3, 2)] {
            let [comparisons, updates, keys] =
                [comparisons, updates, keys].map(|each| f64::from(each) * 500_000.0);
            let here = Terms { comparisons, updates, keys, ..Terms::NONE };
            all.push(MeasuredOperation::Aggregate { here });
        }
        all.extend([1, 16].map(|objects| MeasuredOperation::Small { objects }));
        for gets in [1_u64, 4] {
            let got = size * gets;
            let phase = Phase { gets: Requests(gets), got, ..Phase::default() };
            all.push(MeasuredOperation::Query(Box::new(phase)));
        }
        let phase = Phase {
            selects: Requests(4),
            scanned: size * 4_u64,
            scanned_rows: Rows(4 * 80_000),
            terms: 1.into(),
            returned: size * 1_u64,
            ..Phase::default()
        };
        all.push(MeasuredOperation::Query(Box::new(phase)));
        all
    }

    /// The seconds that this request takes according to the model with the true constants.
    fn seconds(asked: &MeasuredOperation, truth: &HardwareProfile) -> f64 {
        let on =
            |phase: Phase, hardware: &HardwareProfile| phase.predict(hardware).total.as_secs_f64();
        // Keeps only the constants that the experiment depends on.
        let mut bare = truth.clone();
        bare.link.bytes_per_second = BytesPerSecond::UNLIMITED;
        bare.requests.per_second = f64::INFINITY;
        bare.client.csv_bytes_per_second = BytesPerSecond::UNLIMITED;
        bare.client.per_value = None;
        bare.client.receive_bytes_per_second = None;
        bare.client.per_request = None;
        bare.client.per_arrow_value = Some(Duration::ZERO);
        bare.client.per_compressed_value = Some(Duration::ZERO);
        let statements = |count: u32, each: &ScanWork| Phase {
            format: each.format,
            selects: Requests(u64::from(count)),
            scanned: each.bytes * u64::from(count),
            scanned_rows: each.rows * u64::from(count),
            terms: each.terms,
            passing_rows: each.passing * u64::from(count),
            items: each.items,
            constants: each.constants * u64::from(count),
            answer: each.answer,
            answered: each.answered * f64::from(count),
            ..Phase::default()
        };
        match asked {
            MeasuredOperation::Get(bytes) => {
                on(Phase { gets: Requests(1), got: *bytes, ..Phase::default() }, &bare)
            }
            MeasuredOperation::Gets { requests, lanes, bytes } => {
                let latency = truth.link.latency.as_secs_f64();
                let waves = (requests.as_f64() / f64::from(*lanes)).max(1.0);
                latency * waves
                    + requests.as_f64() / truth.requests.per_second
                    + bytes.as_f64() / truth.link.bytes_per_second.0
            }
            MeasuredOperation::Receive { requests, bytes } => {
                let rate = truth.client.receive_bytes_per_second.unwrap();
                let request = truth.client.per_request.unwrap().as_secs_f64();
                request * requests.as_f64() + bytes.as_f64() / rate.0
            }
            MeasuredOperation::Select(each) => on(statements(1, each), &bare),
            MeasuredOperation::Selects { lanes, each } => {
                // All requests are sent at once.
                bare.requests.slots = NonZeroU32::new(*lanes).unwrap();
                on(statements(*lanes, each), &bare)
            }
            MeasuredOperation::Parse { format, bytes, values } => {
                let value = match format {
                    Format::Csv | Format::Json => truth.client.per_value,
                    Format::Parquet => truth.client.per_decoded_value,
                };
                let value = value.unwrap_or_default().as_secs_f64();
                bytes.as_f64() / truth.parse_rate(*format).0 + values * value
            }
            MeasuredOperation::Decode { is_compressed, bytes, values } => {
                let answer = match is_compressed {
                    true => AnswerFormat::CompressedArrow,
                    false => AnswerFormat::Arrow,
                };
                let receiving = bytes.as_f64() / truth.client.receive_bytes_per_second.unwrap().0;
                truth.answer_seconds(answer, bytes.as_f64(), *values) - receiving
            }
            MeasuredOperation::Aggregate { here } => truth.client.evaluating(*here),
            MeasuredOperation::Small { objects } => {
                let phase = Phase { gets: Requests(*objects), ..Phase::default() };
                truth.client.startup.as_secs_f64() + on(phase, &bare)
            }
            MeasuredOperation::Query(phase) => {
                predict(&Steps::Phase(phase.clone()), truth).total().as_secs_f64()
            }
        }
    }

    fn truth() -> HardwareProfile {
        let mut truth = HardwareProfile::by_name("local-1gbit").unwrap().clone();
        truth.link.connection_bytes_per_second = BytesPerSecond(60e6);
        truth.link.latency = Duration::from_micros(3100);
        truth.requests.slots = NonZeroU32::new(8).unwrap();
        truth.requests.per_second = 9000.0;
        truth.select.latency = Duration::from_micros(4400);
        truth.select.per_term = Duration::from_nanos(31);
        truth.select.per_case = Some(Duration::from_nanos(47));
        truth.select.per_probe = Some(Duration::from_nanos(170));
        truth.select.per_update = Some(Duration::from_nanos(23));
        truth.select.per_cast = Some(Duration::from_nanos(17));
        truth.select.per_long_cast = Some(Duration::from_nanos(48));
        truth.select.per_key = Some(Duration::from_nanos(91));
        truth.select.per_parquet_update = Some(Duration::from_nanos(19));
        truth.select.per_parquet_key = Some(Duration::from_nanos(43));
        truth.select.per_constant = Some(Duration::from_nanos(310));
        truth.select.per_value = Some(Duration::from_nanos(130));
        truth.select.per_arrow_value = Some(Duration::from_nanos(40));
        truth.select.per_compressed_value = Some(Duration::from_nanos(90));
        truth.select.per_statement = Some(Duration::from_micros(1600));
        truth.client.per_arrow_value = Some(Duration::from_nanos(4));
        truth.client.per_compressed_value = Some(Duration::from_nanos(11));
        truth.client.per_request = Some(Duration::from_micros(40));
        truth.client.receive_bytes_per_second = Some(BytesPerSecond(1.7e9));
        truth.client.per_value = Some(Duration::from_nanos(14));
        truth.client.per_decoded_value = Some(Duration::from_nanos(6));
        truth.client.per_term = Some(Duration::from_nanos(5));
        truth.client.per_update = Some(Duration::from_nanos(3));
        truth.client.per_key = Some(Duration::from_nanos(21));
        truth.client.overlap = 0.42;
        truth.client.get_overlap = Some(0.87);
        truth.client.startup = Duration::from_millis(12);
        truth
    }

    /// A base without the true values, except those that are trusted.
    fn base() -> HardwareProfile {
        let mut base = HardwareProfile::by_name("aws-in-region").unwrap().clone();
        base.client.cores = truth().client.cores;
        base
    }

    fn constants(hardware: &HardwareProfile) -> Vec<(&'static str, f64)> {
        let time = |time: Option<Duration>| time.map_or(f64::NAN, |time| time.as_secs_f64());
        let (link, select, client) = (hardware.link, hardware.select, hardware.client);
        vec![
            ("link", link.bytes_per_second.0),
            ("connection", link.connection_bytes_per_second.0),
            ("latency", link.latency.as_secs_f64()),
            ("requests", hardware.requests.per_second),
            ("slots", f64::from(hardware.requests.slots.get())),
            ("select latency", select.latency.as_secs_f64()),
            ("csv", select.csv_bytes_per_second.0),
            ("json", select.json_bytes_per_second.0),
            ("parquet", select.parquet_bytes_per_second.0),
            ("term", select.per_term.as_secs_f64()),
            ("case", time(select.per_case)),
            ("probe", time(select.per_probe)),
            ("update", time(select.per_update)),
            ("cast", time(select.per_cast)),
            ("long cast", time(select.per_long_cast)),
            ("key", time(select.per_key)),
            ("parquet update", time(select.per_parquet_update)),
            ("parquet key", time(select.per_parquet_key)),
            ("constant", time(select.per_constant)),
            ("value", time(select.per_value)),
            ("arrow value", time(select.per_arrow_value)),
            ("compressed value", time(select.per_compressed_value)),
            ("statement", time(select.per_statement)),
            ("cores", select.cores),
            ("total", select.total_bytes_per_second.0),
            ("parse csv", client.csv_bytes_per_second.0),
            ("parse json", client.json_bytes_per_second.0),
            ("parse parquet", client.parquet_bytes_per_second.0),
            ("receive", client.receive_bytes_per_second.map_or(f64::NAN, |it| it.0)),
            ("request", time(client.per_request)),
            ("parse value", time(client.per_value)),
            ("decode value", time(client.per_decoded_value)),
            ("decode arrow", time(client.per_arrow_value)),
            ("decompress arrow", time(client.per_compressed_value)),
            ("term here", time(client.per_term)),
            ("update here", time(client.per_update)),
            ("key here", time(client.per_key)),
            ("startup", client.startup.as_secs_f64()),
            ("overlap", client.overlap),
            ("overlap of GETs", client.overlap_of(false)),
        ]
    }

    /// Experiments whose times are the true ones, times `factor`, and off by a relative `noise` between -1 and 1.
    fn experiments(noise: &[f64], factor: f64) -> Vec<Experiment> {
        let truth = truth();
        let mut noise = noise.iter().cycle();
        let mut off = || 1.0 + factor * noise.next().copied().unwrap_or(0.0);
        let experiment = |asked: MeasuredOperation| {
            let exact = seconds(&asked, &truth);
            Experiment { seconds: (0..9).map(|_| exact * off()).collect(), asked }
        };
        suite().into_iter().map(experiment).collect()
    }

    #[track_caller]
    fn recovered(fit: &Fit, tolerance: f64) {
        let found = constants(&fit.hardware);
        for ((name, found), (_, expected)) in found.into_iter().zip(constants(&truth())) {
            // The overlap shows only in the time that the other constants leave unexplained.
            let scale = if name.starts_with("overlap") { 1.0 } else { expected };
            let error = (found - expected).abs() / scale;
            assert!(error <= tolerance, "{name}: {found} instead of {expected}");
        }
    }

    /// All bytes of one GET pass at once; only many GETs show how slow the link is.
    #[test]
    fn a_connection_is_no_faster_than_its_link() {
        let mut experiments = experiments(&[0.0], 0.0);
        for experiment in &mut experiments {
            if let MeasuredOperation::Get(bytes) = experiment.asked {
                experiment.seconds.fill(0.001 + bytes.as_f64() / 2e9);
            }
        }
        let fit = fit(&experiments, &base());
        let (link, expected) = (fit.hardware.link, truth().link.bytes_per_second.0);
        assert!((link.bytes_per_second.0 / expected - 1.0).abs() < 0.05, "{link:?}");
        assert_eq!(link.connection_bytes_per_second.0, link.bytes_per_second.0);
        assert!(fit.intervals["link.connection_bytes_per_second"][1] <= link.bytes_per_second.0);
    }

    /// A token bucket is full before the first request.
    #[test]
    fn bytes_that_pass_at_once_do_not_make_a_link_faster() {
        let (mut experiments, rate) = (experiments(&[0.0], 0.0), truth().link.bytes_per_second.0);
        for experiment in &mut experiments {
            if let MeasuredOperation::Gets { requests, bytes, .. } = experiment.asked
                && bytes.as_f64() >= SMALL * requests.as_f64()
            {
                experiment.seconds.fill((bytes.as_f64() - 1e6) / rate);
            }
        }
        let found = fit(&experiments, &base()).hardware.link.bytes_per_second.0;
        assert!((found / rate - 1.0).abs() < 1e-3, "{found} instead of {rate}");
    }

    #[test]
    fn without_noise_every_constant_comes_out() {
        let fit = fit(&experiments(&[0.0], 0.0), &base());
        recovered(&fit, 0.002);
        assert!(fit.assumed.is_empty(), "{:?}", fit.assumed);
        assert_eq!(fit.hardware.name, base().name);
    }

    #[test]
    fn what_was_not_measured_is_the_bases_and_is_named() {
        let none = fit(&[], &base());
        let without_select = HardwareProfile { select: SelectRates::assumed(), ..base() };
        assert_eq!(none.hardware, without_select);
        assert!(none.intervals.is_empty());
        assert!(none.assumed.iter().any(|key| key == "link.latency_seconds"));
        let csv_only: Vec<Experiment> = experiments(&[0.0], 0.0)
            .into_iter()
            .filter(|it| match &it.asked {
                MeasuredOperation::Select(scanned) => {
                    scanned.format == Format::Csv && scanned.terms.probes == 0.0
                }
                _ => true,
            })
            .collect();
        let fit = fit(&csv_only, &base());
        let expected = [
            "select.json_bytes_per_second",
            "select.parquet_bytes_per_second",
            "select.probe_seconds",
            "select.parquet_update_seconds",
            "select.parquet_key_seconds",
        ];
        assert_eq!(fit.assumed, expected);
        assert_eq!(fit.hardware.select.json_bytes_per_second, base().select.json_bytes_per_second);
        assert_eq!(fit.hardware.select.per_probe, base().select.per_probe);
    }

    #[test]
    fn a_store_that_is_not_slowed_down_has_more_cores_than_it_was_asked_for() {
        let mut experiments = experiments(&[0.0], 0.0);
        for experiment in &mut experiments {
            if let MeasuredOperation::Selects { each, .. } = experiment.asked {
                experiment.seconds = vec![seconds(&MeasuredOperation::Select(each), &truth())];
            }
        }
        let fit = fit(&experiments, &base());
        assert_eq!(fit.hardware.select.cores, base().select.cores);
        let expected =
            ["select.cores", "select.total_bytes_per_second", "select.statement_seconds"];
        assert_eq!(fit.assumed, expected);
    }

    /// Near the store, most of the time is work. The fitted wait may be zero, and the work at most the sum of both.
    #[test]
    fn a_statement_alone_takes_what_it_took() {
        let mut truth = truth();
        truth.select.latency = Duration::from_micros(20);
        truth.select.per_statement = Some(Duration::from_micros(900));
        for noise in [[0.0, 0.0, 0.0], [0.04, -0.03, 0.01], [-0.05, 0.02, 0.05]] {
            let mut noise = noise.iter().cycle();
            let mut experiment = |asked: MeasuredOperation| {
                let exact = seconds(&asked, &truth);
                let off = |_| exact * (1.0 + noise.next().unwrap());
                Experiment { seconds: (0..9).map(off).collect(), asked }
            };
            let experiments: Vec<_> = suite().into_iter().map(&mut experiment).collect();
            let found = fit(&experiments, &base()).hardware;
            let alone = suite().into_iter().filter(|it| matches!(it, MeasuredOperation::Select(_)));
            let least = alone.min_by(|a, b| seconds(a, &truth).total_cmp(&seconds(b, &truth)));
            let least = least.unwrap();
            let (predicted, exact) = (seconds(&least, &found), seconds(&least, &truth));
            assert!((predicted / exact - 1.0).abs() < 0.1, "{predicted} for {exact}: {found:?}");
        }
    }

    /// Queries that wait a third less than predicted and have little other work.
    #[test]
    fn waiting_for_less_is_no_overlap() {
        let mut truth = truth();
        truth.link.latency = Duration::from_millis(60);
        truth.select.latency = truth.link.latency;
        let experiment = |asked: MeasuredOperation| {
            let less = if matches!(asked, MeasuredOperation::Query(_)) { 0.02 } else { 0.0 };
            Experiment { seconds: vec![seconds(&asked, &truth) - less; 9], asked }
        };
        let experiments: Vec<_> = suite().into_iter().map(experiment).collect();
        let overlap = fit(&experiments, &base()).hardware.client.overlap;
        assert!((overlap - truth.client.overlap).abs() < 0.05, "{overlap}");
    }

    #[test]
    fn constants_have_four_digits() {
        assert_eq!(rounded(0.000_123_456), 0.000_123_5);
        assert_eq!(rounded(123_456_789.0), 123_500_000.0);
        assert_eq!((rounded(0.0), rounded(f64::INFINITY)), (0.0, f64::INFINITY));
    }

    #[test]
    fn the_interval_of_slots_holds_them() {
        let of = |slots, interval| slots_interval(NonZeroU32::new(slots).unwrap(), interval);
        assert_eq!(of(8, [6.5, 9.5]), [6.5, 9.5]);
        assert_eq!(of(4, [0.3, 2.5]), [1.0, 4.0]);
        assert_eq!(of(64, [90.0, 120.0]), [64.0, 120.0]);
        for none in [-50.0, f64::INFINITY] {
            assert_eq!(of(8, [5.0, none]), [5.0, f64::INFINITY]);
        }
    }

    proptest! {
        /// Times that are off by up to 2 % give the constants to within 15 %.
        #[test]
        fn noise_does_little(noise in proptest::collection::vec(-1.0..1.0f64, 211)) {
            let fit = fit(&experiments(&noise, 0.02), &base());
            recovered(&fit, 0.15);
            for (key, [low, high]) in &fit.intervals {
                prop_assert!(low <= high, "{key}: {low} {high}");
            }
        }
    }
}
