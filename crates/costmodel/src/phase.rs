//! A phase of a strategy, and its predicted time from the demands on each resource.

use std::borrow::Cow;
use std::time::Duration;

use crate::rate::seconds;
use crate::resource::Demands;
use crate::steps::Times;
use crate::{
    Bytes, HardwareProfile, RequestCounts, Requests, Resource, ResourceUse, Rows, ScanWork, Terms,
    Work,
};

/// The format of stored objects, which decides the rates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text that is parsed from end to end.
    #[default]
    Csv,
    /// Text that repeats every field's name in every record.
    Json,
    /// Columns; only the needed chunks are read.
    Parquet,
}

/// The format of a store's answers to S3 Select statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AnswerFormat {
    /// Delimited text.
    #[default]
    Csv,
    /// A JSON object for each row.
    Json,
    /// An Arrow IPC stream.
    Arrow,
    /// An Arrow IPC stream that is compressed with Zstandard.
    CompressedArrow,
}

/// The bytes of a GET, HEAD or LIST on the link besides the payload: a signed request, and the header of the answer.
/// The number is about what is counted between Sluicegate's client and its server.
const PLAIN_REQUEST: u64 = 1_200;

/// The bytes of a Select request on the link besides the payload: the request with a short statement in XML, and the
/// messages of its answer that carry no records.
const SELECT_REQUEST: u64 = 2_400;

/// The smallest part of an object that one of several machines reads, as the engine splits objects.
const LEAST_PART: Bytes = Bytes(1 << 20);

/// One step of a strategy: requests and work without an order among them.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// The purpose of the phase, for EXPLAIN: `scan`, `build side`, `sample`.
    pub name: &'static str,
    /// The format of the objects.
    pub format: Format,
    /// The format of S3 Select's answers.
    pub answer: AnswerFormat,
    /// The length of the longest chain of dependent requests: 1 if all can be sent at once, 2 if a footer is read
    /// first.
    pub rounds: u32,
    /// The number of listing requests.
    pub lists: Requests,
    /// The number of HEAD requests.
    pub heads: Requests,
    /// The number of GET requests.
    pub gets: Requests,
    /// The number of GET requests that the plan has in flight, up to the limit of the hardware. `None` stands for
    /// that limit.
    pub gets_at_once: Option<Requests>,
    /// Payload of the answers to GET requests.
    pub got: Bytes,
    /// The number of Select requests.
    pub selects: Requests,
    /// The number of Select requests that the plan has in flight, up to the limit of the hardware. `None` stands for
    /// that limit.
    pub selects_at_once: Option<Requests>,
    /// Bytes that the Select requests scan.
    pub scanned: Bytes,
    /// Rows that the Select requests scan.
    pub scanned_rows: Rows,
    /// The terms that the store evaluates for each scanned row.
    pub terms: Terms,
    /// Rows that pass the conditions of the Select requests.
    pub passing_rows: Rows,
    /// The terms that the store evaluates for each passing row: select items, aggregates and group keys.
    pub items: Terms,
    /// Constants in the lists of all statements together.
    pub constants: u64,
    /// Bytes of all statements beyond a short statement: the keys of a join.
    pub asked: Bytes,
    /// The number of values that the store writes; see [`answered`](crate::answered).
    pub answered: f64,
    /// Payload of the answers to Select requests, in the format [`Self::answer`].
    pub returned: Bytes,
    /// Text values that the client parses, from GET and from Select.
    pub values: f64,
    /// Values that the client decodes from Parquet.
    pub decoded: f64,
    /// The terms that the client evaluates, for all rows together: arithmetic, updates of aggregates, and keys by
    /// which rows are grouped or ordered.
    pub here: Terms,
    /// Demands on further resources.
    pub uses: Vec<ResourceUse>,
}

impl Default for Phase {
    fn default() -> Self {
        Self {
            name: "scan",
            format: Format::Csv,
            answer: AnswerFormat::Csv,
            rounds: 1,
            lists: Requests::ZERO,
            heads: Requests::ZERO,
            gets: Requests::ZERO,
            gets_at_once: None,
            got: Bytes::ZERO,
            selects: Requests::ZERO,
            selects_at_once: None,
            scanned: Bytes::ZERO,
            scanned_rows: Rows::ZERO,
            terms: Terms::NONE,
            passing_rows: Rows::ZERO,
            items: Terms::NONE,
            constants: 0,
            asked: Bytes::ZERO,
            answered: 0.0,
            returned: Bytes::ZERO,
            values: 0.0,
            decoded: 0.0,
            here: Terms::NONE,
            uses: Vec::new(),
        }
    }
}

impl Phase {
    /// The work of this phase. Its times are zero until they are predicted. The link carries payload and the keys in
    /// statements only: see [`Steps::over_sockets`](crate::Steps::over_sockets).
    #[must_use]
    pub fn work(&self) -> Work {
        Work {
            requests: RequestCounts {
                get: self.gets,
                put: Requests::ZERO,
                list: self.lists,
                head: self.heads,
                select: self.selects,
            },
            scanned: self.scanned,
            processed: self.scanned,
            returned: self.returned,
            got: self.got,
            sent: Bytes::ZERO,
            link: self.got + self.returned + self.asked,
            store: Duration::ZERO,
            wall: Duration::ZERO,
        }
    }

    /// The bytes of requests and of answer headers on the link.
    pub(crate) fn heads_of_messages(&self) -> Bytes {
        let of = |requests: Requests, each: u64| Bytes(requests.0.saturating_mul(each));
        of(self.plain_requests(), PLAIN_REQUEST) + of(self.selects, SELECT_REQUEST)
    }

    /// The phase with all amounts multiplied by `factor`.
    ///
    /// Requests with a planned concurrency read objects, which become larger but not more numerous. All other
    /// requests fetch what an index finds, so their number grows.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let more = |count: Requests| Requests((count.as_f64() * factor).ceil() as u64);
        let requests = |count: Requests, at_once: Option<Requests>| match at_once {
            Some(_) => count,
            None => more(count),
        };
        let uses = self.uses.iter().map(|it| ResourceUse { amount: it.amount * factor, ..*it });
        Self {
            lists: more(self.lists),
            heads: more(self.heads),
            gets: requests(self.gets, self.gets_at_once),
            got: self.got * factor,
            selects: requests(self.selects, self.selects_at_once),
            scanned: self.scanned * factor,
            scanned_rows: self.scanned_rows * factor,
            passing_rows: self.passing_rows * factor,
            constants: (self.constants as f64 * factor).round() as u64,
            asked: self.asked * factor,
            answered: self.answered * factor,
            returned: self.returned * factor,
            values: self.values * factor,
            decoded: self.decoded * factor,
            here: self.here.times(factor),
            uses: uses.collect(),
            ..*self
        }
    }

    /// The store's part of this phase.
    fn scan(&self) -> ScanWork {
        ScanWork {
            format: self.format,
            bytes: self.scanned,
            rows: self.scanned_rows,
            terms: self.terms,
            passing: self.passing_rows,
            items: self.items,
            answer: self.answer,
            answered: self.answered,
            returned: self.returned,
            constants: self.constants,
        }
    }

    /// The time of the store's cores, in seconds.
    pub(crate) fn store_seconds(&self, hardware: &HardwareProfile) -> f64 {
        let statement = hardware.select.per_statement.unwrap_or_default().as_secs_f64();
        hardware.store_seconds(&self.scan()) + self.selects.as_f64() * statement
    }

    /// Predicts the time of this phase on this hardware.
    ///
    /// With `D_r` the time that resource `r` would need alone, and α = 1 − overlap:
    ///
    /// ```text
    /// T = rounds·latency + max D + α·(sum D − max D)
    /// ```
    ///
    /// α = 0 is a perfect pipeline, α = 1 one resource after the other. Phases without S3 Select may have another α.
    ///
    /// If there are more requests than can be in flight, they are sent in waves, each of which waits for its latency.
    /// In an incomplete last wave, each sender still receives as many bytes as the others. The link and its
    /// connections count as one resource in the sum: the slower of the two. If store and client share their cores,
    /// the cores do the work of both, which the sum includes.
    #[must_use]
    pub fn predict(&self, hardware: &HardwareProfile) -> PhaseTime {
        self.times(hardware).0
    }

    pub(crate) fn times(&self, hardware: &HardwareProfile) -> (PhaseTime, Times) {
        let demands = self.demands(hardware);
        let bound_by = demands.bound_by();
        let selects = self.selects > Requests::ZERO;
        let waiting = self.latency(hardware) * f64::from(self.rounds);
        let total = waiting + demands.combined(hardware.client.overlap_of(selects));
        let time = PhaseTime {
            name: self.name,
            latency: seconds(waiting),
            demands: demands.iter().map(|(resource, time)| (resource, seconds(time))).collect(),
            bound_by,
            total: seconds(total),
        };
        let asks = self.asks();
        (time, Times { waiting, demands, selects, asks, total, bound_by: Some(bound_by) })
    }

    /// The seconds of one round trip: the latency of the slowest kind of request in the phase.
    fn latency(&self, hardware: &HardwareProfile) -> f64 {
        let get = hardware.link.latency.as_secs_f64();
        if self.selects > Requests::ZERO {
            get.max(hardware.select.latency.as_secs_f64())
        } else if self.plain_requests() > Requests::ZERO {
            get
        } else {
            0.0
        }
    }

    /// Returns true if the phase sends requests.
    pub(crate) fn asks(&self) -> bool {
        self.plain_requests() + self.selects > Requests::ZERO
    }

    fn plain_requests(&self) -> Requests {
        self.lists + self.heads + self.gets
    }

    /// The phase as all machines run it together.
    ///
    /// Each machine has as many requests in flight as are planned for one, and large objects are fetched in more
    /// parts. The number of Select requests stays the same, because their parts have a minimum size
    /// (`sluice.range_bytes`).
    pub(crate) fn on_all_machines(&self, hardware: &HardwareProfile) -> Cow<'_, Self> {
        let machines = u64::from(hardware.client.machines.get());
        if machines == 1 {
            return Cow::Borrowed(self);
        }
        let at_once = |planned: Option<Requests>| {
            planned.map(|many| Requests(many.0.saturating_mul(machines)))
        };
        let parts = |requests: Requests, planned: Option<Requests>, bytes: Bytes| {
            let parts = at_once(planned).map_or(0, |many| many.0.min(bytes.0 / LEAST_PART.0));
            Requests(requests.0.max(parts))
        };
        Cow::Owned(Self {
            gets: parts(self.gets, self.gets_at_once, self.got),
            gets_at_once: at_once(self.gets_at_once),
            selects_at_once: at_once(self.selects_at_once),
            ..self.clone()
        })
    }

    /// The seconds that each resource would need alone.
    fn demands(&self, hardware: &HardwareProfile) -> Demands {
        let phase = self.on_all_machines(hardware);
        phase.demands_of_requests(hardware)
    }

    fn demands_of_requests(&self, hardware: &HardwareProfile) -> Demands {
        let slots = hardware.all_slots() as f64;
        let at_once = |planned: Option<Requests>| {
            planned.map_or(slots, |many| many.as_f64().clamp(1.0, slots))
        };
        let (get_slots, select_slots) = (at_once(self.gets_at_once), at_once(self.selects_at_once));
        let plain = self.plain_requests();
        let requests = plain + self.selects;
        // The number of requests that run concurrently; at least one, because it is a divisor.
        let lanes = |requests: Requests, slots: f64| requests.as_f64().clamp(1.0, slots);
        // The number of waves after the first, whose latency is counted as a round.
        let waves =
            |requests: Requests, slots: f64| ((requests.as_f64() / slots).ceil() - 1.0).max(0.0);

        let connection = hardware.link.connection_bytes_per_second;
        let waiting = waves(plain, get_slots) * hardware.link.latency.as_secs_f64()
            + waves(self.selects, select_slots) * hardware.select.latency.as_secs_f64();
        let receiving = self.got.as_f64() / (connection.0 * lanes(self.gets, get_slots))
            + self.returned.as_f64() / (connection.0 * lanes(self.selects, select_slots));

        let one_by_one = self.store_seconds(hardware);
        let together = self.scanned.as_f64() / hardware.select.total_bytes_per_second.0;
        let scanning = lanes(self.selects, select_slots).min(hardware.select.cores);
        let store_scan = (one_by_one / scanning).max(together);

        let cores = hardware.all_cores();
        let parsing = hardware.ingest_seconds(self.format, self.got.as_f64())
            + hardware.answer_seconds(self.answer, self.returned.as_f64(), self.answered)
            + self.values * hardware.client.per_value.unwrap_or_default().as_secs_f64()
            + self.decoded * hardware.client.per_decoded_value.unwrap_or_default().as_secs_f64();
        let asking = plain.as_f64() * hardware.client.per_request.unwrap_or_default().as_secs_f64();
        let working = parsing + asking + hardware.client.evaluating(self.here);
        let client = working / requests.as_f64().clamp(1.0, cores);

        let carried = (self.got + self.returned + self.asked).as_f64();
        let link = carried / hardware.all_links();
        let mut demands = Demands::default();
        demands.add(Resource::LINK, link);
        demands.add_slots(waiting, receiving);
        demands.add(Resource::REQUEST_RATE, requests.as_f64() / hardware.requests.per_second);
        demands.add(Resource::STORE_SCAN, store_scan);
        demands.add(Resource::CLIENT, client);
        if hardware.client.shares_cores {
            let store = one_by_one / hardware.select.cores;
            demands.add(Resource::SHARED_CORES, store + working / cores);
        }
        for ResourceUse { resource, amount, per_second } in &self.uses {
            let capacity = hardware.capacities.get(resource.name()).unwrap_or(per_second);
            demands.add(*resource, (amount / capacity).max(0.0));
        }
        demands
    }
}

/// The predicted time of one phase, with the time of each resource.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseTime {
    /// The name of the phase.
    pub name: &'static str,
    /// The wait for first bytes, before any resource is busy.
    pub latency: Duration,
    /// The time that each resource would need alone.
    pub demands: Vec<(Resource, Duration)>,
    /// The resource that needs the most time.
    pub bound_by: Resource,
    /// The time of the whole phase.
    pub total: Duration,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{BytesPerSecond, Steps, predict};
    use proptest::prelude::*;
    use std::num::NonZeroU32;

    const LINEITEM: Bytes = Bytes(7_775_727_688);

    #[track_caller]
    fn near(time: Duration, expected: f64) {
        let error = (time.as_secs_f64() - expected).abs() / expected;
        assert!(error < 0.01, "{time:?} is not within 1 % of {expected} s");
    }

    fn get(bytes: Bytes, requests: u64) -> Phase {
        Phase { gets: Requests(requests), got: bytes, ..Phase::default() }
    }

    /// More machines do not send more statements; they share those of one, however long a core takes for each.
    #[test]
    fn more_machines_send_no_more_statements() {
        let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
        hardware.select.per_statement = Some(Duration::from_millis(3));
        let phase = Phase {
            selects: Requests(8),
            selects_at_once: Some(Requests(16)),
            scanned: Bytes::mib(71),
            scanned_rows: Rows(600_000),
            terms: 1.into(),
            returned: Bytes::kib(100),
            ..Phase::default()
        };
        let mut before = f64::INFINITY;
        for machines in [1, 2, 4, 8] {
            hardware.client.machines = NonZeroU32::new(machines).unwrap();
            let time = phase.predict(&hardware).total.as_secs_f64();
            assert!(time <= before, "{machines} machines: {time} s, {before} s before");
            before = time;
        }
    }

    /// PushdownDB, Table II, server-side filter: 21.7 s, bound by the client's parser.
    #[test]
    fn the_papers_server_side_filter_is_bound_by_its_client() {
        let time = get(LINEITEM, 960).predict(HardwareProfile::paper());
        near(time.total, 21.7);
        assert_eq!(time.bound_by, Resource::CLIENT);
    }

    /// With a client that parses fast, the link binds: 6.9 s.
    #[test]
    fn a_faster_client_is_bound_by_the_link() {
        let mut hardware = HardwareProfile::paper().clone();
        hardware.client.csv_bytes_per_second = BytesPerSecond(250e6);
        let time = get(LINEITEM, 960).predict(&hardware);
        assert_eq!(time.bound_by, Resource::LINK);
        near(time.total, 6.72);
    }

    /// 60 000 ranged GETs, for the index at selectivity 1e-3: 9 s of the 10.7 s, bound by the request rate.
    #[test]
    fn many_small_requests_are_bound_by_their_rate() {
        let time = get(Bytes(60_000 * 130), 60_000).predict(HardwareProfile::paper());
        assert_eq!(time.bound_by, Resource::REQUEST_RATE);
        near(time.total, 9.12);
    }

    /// Table II, S3-side filter at selectivity 1e-5: 1.38 s. Few rows pass the first comparison and reach the second.
    #[test]
    fn the_papers_s3_side_filter_is_bound_by_the_store() {
        let phase = Phase {
            selects: Requests(96),
            scanned: LINEITEM,
            scanned_rows: Rows(59_986_052),
            terms: 1.into(),
            returned: Bytes(600 * 130),
            ..Phase::default()
        };
        let prediction = predict(&phase.into(), HardwareProfile::paper());
        assert_eq!(prediction.bound_by(), Some(Resource::STORE_SCAN));
        near(prediction.total(), 1.38);
    }

    /// Grouping in the client keeps the client's cores busy, and none of the store's.
    #[test]
    fn aggregating_here_takes_the_clients_cores() {
        let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
        hardware.client.cores = NonZeroU32::new(2).unwrap();
        hardware.client.per_term = Some(Duration::from_nanos(5));
        hardware.client.per_update = Some(Duration::from_nanos(3));
        hardware.client.per_key = Some(Duration::from_nanos(20));
        let here = Terms { updates: 11e6, keys: 2e6, ..Terms::from(4_000_000) };
        let client = |steps: &Steps| {
            let [phase] = &predict(steps, &hardware).phases[..] else { panic!("{steps:?}") };
            let of_client = phase.demands.iter().find(|(it, _)| *it == Resource::CLIENT);
            of_client.unwrap().1.as_secs_f64()
        };
        let steps = Steps::from(get(Bytes::mib(8), 4));
        let more = client(&steps.clone().evaluating(here)) - client(&steps);
        assert!((more - (0.020 + 0.033 + 0.040) / 2.0).abs() < 1e-6, "{more}");
    }

    /// Each partition of a plan sends one request after the other, whatever the hardware's limit is.
    #[test]
    fn requests_wait_for_each_other_in_a_partition() {
        let mut hardware = HardwareProfile::by_name("local").unwrap().clone();
        hardware.link.latency = Duration::from_millis(300);
        for (partitions, expected) in [(1, 3.6), (2, 1.8), (32, 0.3)] {
            let gets_at_once = Some(Requests(partitions));
            let phase = Phase { gets_at_once, ..get(Bytes(12), 12) };
            near(phase.predict(&hardware).total, expected);
        }
    }

    /// The rate of connections bounds answers of S3 Select as well.
    #[test]
    fn answers_are_no_faster_than_their_connections() {
        let mut hardware = HardwareProfile::by_name("local").unwrap().clone();
        hardware.link.connection_bytes_per_second = BytesPerSecond(1e6);
        let returned = Bytes(14_798_528);
        let phase = Phase { selects: Requests(3), returned, ..Phase::default() };
        let time = phase.predict(&hardware);
        assert_eq!(time.bound_by, Resource::CONNECTION_RATE);
        near(time.total, 4.98);
    }

    /// Receiving adds to parsing, for GET and for Select.
    #[test]
    fn bytes_are_received_by_the_clients_cores() {
        let mut hardware = HardwareProfile::by_name("local").unwrap().clone();
        let seconds = |phase: &Phase, of: Resource, hardware: &HardwareProfile| {
            let time = phase.predict(hardware);
            time.demands.iter().find(|(it, _)| *it == of).unwrap().1.as_secs_f64()
        };
        let got = get(Bytes(100_000_000), 4);
        let returned =
            Phase { selects: Requests(4), returned: Bytes(100_000_000), ..Phase::default() };
        for phase in [got, returned] {
            for of in [Resource::CLIENT, Resource::SHARED_CORES] {
                hardware.client.receive_bytes_per_second = None;
                let without = seconds(&phase, of, &hardware);
                hardware.client.receive_bytes_per_second = Some(BytesPerSecond(1e9));
                let more = seconds(&phase, of, &hardware) - without;
                assert!((more - 0.1 / 2.0).abs() < 1e-9, "{of}: {more}");
            }
        }
    }

    #[test]
    fn a_phase_amounts_to_its_work() {
        let phase = Phase {
            lists: Requests(1),
            heads: Requests(2),
            gets: Requests(3),
            got: Bytes(4),
            selects: Requests(5),
            scanned: Bytes(6),
            returned: Bytes(8),
            asked: Bytes(7),
            ..Phase::default()
        };
        let work = phase.work();
        assert_eq!(work.requests.total(), Requests(11));
        assert_eq!((work.got, work.scanned, work.returned), (Bytes(4), Bytes(6), Bytes(8)));
        assert_eq!(work.link, Bytes(12 + 7));
        let heads = 6 * PLAIN_REQUEST + 5 * SELECT_REQUEST;
        assert_eq!(Steps::from(phase).over_sockets(), Bytes(12 + 7 + heads));
    }

    /// Requests beyond the hardware's limit wait.
    #[test]
    fn no_more_requests_are_in_flight_than_there_are_slots() {
        let mut hardware = HardwareProfile::by_name("aws-in-region").unwrap().clone();
        let planned = Some(Requests(16));
        let ways = [
            Phase { gets_at_once: planned, ..get(Bytes::mib(32), 32) },
            Phase { selects: Requests(32), selects_at_once: planned, ..Phase::default() },
        ];
        for phase in ways {
            let mut seconds = Vec::new();
            for slots in [1, 4, 16, 64] {
                hardware.requests.slots = NonZeroU32::new(slots).unwrap();
                seconds.push(phase.predict(&hardware).total.as_secs_f64());
            }
            assert!(seconds[0] > 3.0 * seconds[1] && seconds[1] > 3.0 * seconds[2], "{seconds:?}");
            assert_eq!(seconds[2], seconds[3]);
        }
    }

    /// If objects grow but do not become more, the time never falls.
    #[test]
    fn objects_that_grow_are_no_more_objects() {
        let hardware = HardwareProfile::by_name("aws-in-region").unwrap();
        let at_once = Some(Requests(16));
        let phase = Phase { gets_at_once: at_once, ..get(Bytes::mib(64), 5) };
        let mut before = 0.0;
        for factor in (1..400).map(|it| f64::from(it) * 0.05) {
            let scaled = phase.scaled(factor);
            assert_eq!(scaled.gets, phase.gets);
            let seconds = scaled.predict(hardware).total.as_secs_f64();
            assert!(seconds >= before, "{factor}: {seconds} s, {before} s");
            before = seconds;
        }
        // An index finds more places in more data.
        assert_eq!(get(Bytes::mib(64), 5).scaled(3.0).gets, Requests(15));
    }

    /// A switch that forwards 10 Mpps: an operator names it, not this crate.
    #[test]
    fn a_phase_may_be_bound_by_a_resource_of_its_own() {
        const PIPELINE: Resource = Resource::new("switch pipeline");
        let uses = vec![ResourceUse { resource: PIPELINE, amount: 1e9, per_second: 10e6 }];
        let phase = Phase { uses, ..get(Bytes::mib(1), 1) };
        let time = phase.predict(HardwareProfile::paper());
        assert_eq!(time.bound_by, PIPELINE);
        near(time.demands.iter().find(|(of, _)| *of == PIPELINE).unwrap().1, 100.0);
        let mut hardware = HardwareProfile::paper().clone();
        hardware.capacities.insert("switch pipeline".to_owned(), 1e9);
        let faster = phase.predict(&hardware);
        near(faster.demands.iter().find(|(of, _)| *of == PIPELINE).unwrap().1, 1.0);
    }

    #[test]
    fn more_of_a_known_resource_adds_to_it() {
        let before = get(LINEITEM, 960).predict(HardwareProfile::paper());
        let uses = vec![ResourceUse { resource: Resource::CLIENT, amount: 3.0, per_second: 1.0 }];
        let after = Phase { uses, ..get(LINEITEM, 960) }.predict(HardwareProfile::paper());
        assert_eq!(after.demands.len(), before.demands.len());
        near(after.total - before.total, 3.0);
    }

    #[test]
    fn nothing_takes_no_time() {
        let hardware = HardwareProfile::paper();
        let prediction = predict(&Phase::default().into(), hardware);
        assert_eq!(prediction.total(), hardware.client.startup);
    }

    #[test]
    fn absurd_numbers_are_a_long_time_and_no_panic() {
        let max = u64::MAX;
        let phase = Phase {
            rounds: u32::MAX,
            lists: Requests(max),
            heads: Requests(max),
            gets: Requests(max),
            got: Bytes(max),
            selects: Requests(max),
            scanned: Bytes(max),
            scanned_rows: Rows(max),
            terms: Terms::from(u32::MAX),
            passing_rows: Rows(max),
            items: Terms { updates: 1e30, keys: 1e30, ..Terms::NONE },
            constants: max,
            answered: 1e30,
            returned: Bytes(max),
            values: 1e30,
            ..Phase::default()
        };
        let steps = Steps::InTurn(vec![phase.into(); 3]);
        assert!(predict(&steps, HardwareProfile::paper()).total() > Duration::from_secs(1));
    }

    pub(crate) fn phases() -> impl Strategy<Value = Phase> {
        let counts = (0u64..10_000, 0u64..10_000, 1u32..4, 0u32..100);
        let bytes = (0u64..1 << 40, 0u64..1 << 40, 0u64..1 << 40, 0u64..1 << 34);
        let uses = proptest::collection::vec((any::<bool>(), 0.0..1e12f64, 1.0..1e9f64), 0..3);
        let uses = uses.prop_map(|uses| {
            let resource = |ours| if ours { Resource::CLIENT } else { Resource::new("pipeline") };
            let one = |(ours, amount, per_second)| ResourceUse {
                resource: resource(ours),
                amount,
                per_second,
            };
            uses.into_iter().map(one).collect::<Vec<_>>()
        });
        (counts, bytes, any::<bool>(), uses).prop_map(
            |((gets, selects, rounds, terms), (got, scanned, returned, rows), csv, uses)| Phase {
                format: if csv { Format::Csv } else { Format::Parquet },
                answer: match (csv, gets % 2) {
                    (true, _) => AnswerFormat::Csv,
                    (false, 0) => AnswerFormat::Arrow,
                    (false, _) => AnswerFormat::CompressedArrow,
                },
                rounds,
                gets: Requests(gets),
                got: Bytes(got),
                selects: Requests(selects),
                scanned: Bytes(scanned),
                scanned_rows: Rows(rows),
                terms: terms.into(),
                passing_rows: Rows(rows / 3),
                items: Terms { updates: f64::from(terms), keys: f64::from(rounds), ..Terms::NONE },
                constants: gets,
                answered: rows as f64 / 5.0,
                returned: Bytes(returned),
                values: rows as f64,
                here: Terms { updates: rows as f64, keys: rows as f64 / 4.0, ..Terms::NONE },
                uses,
                ..Phase::default()
            },
        )
    }

    pub(crate) fn profiles() -> impl Strategy<Value = HardwareProfile> {
        (0..HardwareProfile::all().len(), 0.0..=1.0f64).prop_map(|(index, overlap)| {
            let mut hardware = HardwareProfile::all()[index].clone();
            hardware.client.overlap = overlap;
            hardware.client.next_step = None;
            hardware.client.per_term = Some(Duration::from_nanos(4));
            hardware.client.per_update = Some(Duration::from_nanos(3));
            hardware.client.per_key = Some(Duration::from_nanos(20));
            hardware.client.per_request = Some(Duration::from_micros(200));
            hardware.select.per_statement = Some(Duration::from_micros(900));
            if index % 2 == 0 {
                hardware.select.per_arrow_value = Some(Duration::from_nanos(9));
                hardware.select.per_compressed_value = Some(Duration::from_nanos(34));
                hardware.select.per_parquet_update = Some(Duration::from_nanos(5));
                hardware.select.per_parquet_key = Some(Duration::from_nanos(4));
                hardware.client.per_arrow_value = Some(Duration::from_nanos(3));
                hardware.client.per_compressed_value = Some(Duration::from_nanos(8));
            }
            hardware
        })
    }

    /// The number of ways in which [`better`] improves a profile.
    pub(crate) const BETTER: u32 = 30;

    /// Improves one constant of a profile: raises a rate or a number, or shortens a time.
    pub(crate) fn better(hardware: &HardwareProfile, factor: f64, which: u32) -> HardwareProfile {
        let mut better = hardware.clone();
        let more = |n: NonZeroU32| n.saturating_mul(NonZeroU32::new(factor as u32).unwrap());
        let (link, requests) = (&mut better.link, &mut better.requests);
        let (select, client) = (&mut better.select, &mut better.client);
        match which {
            0 => link.bytes_per_second = link.bytes_per_second * factor,
            1 => client.cores = more(client.cores),
            2 => requests.slots = more(requests.slots),
            3 => requests.per_second *= factor,
            4 => link.latency = link.latency.div_f64(factor),
            5 => select.latency = select.latency.div_f64(factor),
            6 => select.csv_bytes_per_second = select.csv_bytes_per_second * factor,
            7 => link.connection_bytes_per_second = link.connection_bytes_per_second * factor,
            8 => select.cores *= factor,
            9 => select.total_bytes_per_second = select.total_bytes_per_second * factor,
            10 => select.per_term = select.per_term.div_f64(factor),
            11 => select.per_probe = Some(select.per_term * 6),
            12 => client.csv_bytes_per_second = client.csv_bytes_per_second * factor,
            13 => client.overlap += (1.0 - client.overlap) / factor,
            14 => select.parquet_bytes_per_second = select.parquet_bytes_per_second * factor,
            15 => client.parquet_bytes_per_second = client.parquet_bytes_per_second * factor,
            16 => select.per_update = Some(select.per_term / 2),
            17 => select.per_key = Some(select.per_term / 2),
            18 => select.per_constant = Some(select.per_term / 2),
            19 => select.per_value = None,
            20 => (select.per_cast, select.per_long_cast) = (None, None),
            21 => client.per_value = None,
            22 => client.shares_cores = false,
            24 => select.per_statement = None,
            25 => client.per_request = None,
            26 => {
                (select.per_arrow_value, select.per_compressed_value) =
                    (Some(Duration::ZERO), Some(Duration::ZERO));
            }
            27 => {
                (select.per_parquet_update, select.per_parquet_key) =
                    (Some(Duration::ZERO), Some(Duration::ZERO));
            }
            28 => {
                (client.per_arrow_value, client.per_compressed_value) =
                    (Some(Duration::ZERO), Some(Duration::ZERO));
            }
            23 => (client.per_term, client.per_update, client.per_key) = (None, None, None),
            _ => client.startup = client.startup.div_f64(factor),
        }
        better
    }

    /// The number of ways in which [`more`] adds to a phase.
    pub(crate) const MORE: u32 = 18;

    /// Adds to one amount of a phase. (More requests for the same bytes may be faster.)
    pub(crate) fn more(phase: &Phase, factor: f64, which: u32) -> Phase {
        let mut more = phase.clone();
        match which {
            0 => more.got = more.got * factor,
            1 => more.scanned = more.scanned * factor,
            2 => more.scanned_rows = more.scanned_rows * factor,
            3 => more.returned = more.returned * factor,
            4 => more.terms = more.terms + Terms::from(1),
            5 => more.terms.cases += 1.0,
            6 => more.terms.probes += 1.0,
            7 => more.uses.iter_mut().for_each(|it| it.amount *= factor),
            8 => more.passing_rows = more.passing_rows * factor,
            9 => more.items.updates += 1.0,
            10 => more.items.keys += 1.0,
            13 => more.terms.casts += 1.0,
            14 => more.terms.long_casts += 1.0,
            12 => more.answered *= factor,
            15 => more.values *= factor,
            11 => more.constants = (more.constants as f64 * factor) as u64,
            16 => {
                more.here = more.here + Terms { updates: 1e6, keys: 1e6, ..Terms::from(1_000_000) }
            }
            _ => more.rounds += 1,
        }
        more
    }

    proptest! {
        #[test]
        fn time_is_between_the_slowest_resource_and_the_sum(
            phase in phases(), hardware in profiles(),
        ) {
            let time = phase.predict(&hardware);
            let demands = || time.demands.iter().map(|(_, time)| time.as_secs_f64());
            let longest = demands().fold(0.0, f64::max);
            let sum: f64 = demands().sum();
            let busy = time.total.as_secs_f64() - time.latency.as_secs_f64();
            prop_assert!(busy >= longest * (1.0 - 1e-9) - 1e-6);
            prop_assert!(busy <= sum * (1.0 + 1e-9) + 1e-6);
        }

        #[test]
        fn better_hardware_is_never_slower(
            phase in phases(), hardware in profiles(), factor in 1.0..100.0f64, which in 0..BETTER,
        ) {
            let better = better(&hardware, factor, which);
            prop_assert!(phase.predict(&better).total <= phase.predict(&hardware).total
                + Duration::from_nanos(10));
        }

        #[test]
        fn more_work_is_never_faster(
            phase in phases(), hardware in profiles(), factor in 1.0..100.0f64, which in 0..MORE,
        ) {
            let more = more(&phase, factor, which);
            prop_assert!(more.predict(&hardware).total + Duration::from_nanos(10)
                >= phase.predict(&hardware).total);
        }
    }
}
