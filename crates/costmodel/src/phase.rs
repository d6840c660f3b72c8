//! How long a strategy takes, from what it asks of each resource.

use std::fmt;
use std::time::Duration;

use crate::rate::seconds;
use crate::{Bytes, HardwareProfile, RequestCounts, Requests, Rows, Work};

/// How objects are stored. Rates differ by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text, parsed from end to end.
    #[default]
    Csv,
    /// Text as well, with every field's name in every record.
    Json,
    /// Columns, of which only the needed chunks are read.
    Parquet,
}

impl Format {
    /// What S3 Select answers in.
    fn of_answer(self) -> Self {
        match self {
            Self::Json => Self::Json,
            Self::Csv | Self::Parquet => Self::Csv,
        }
    }
}

/// What runs out. A phase is bound by the one it keeps busy longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The bytes that cross the link.
    Link,
    /// The connections that may be open at once: waiting for answers, and one connection's rate.
    RequestSlots,
    /// The requests per second that store and client can take.
    RequestRate,
    /// The store's scan for S3 Select.
    StoreScan,
    /// The client's parsing.
    Client,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Link => "link",
            Self::RequestSlots => "request slots",
            Self::RequestRate => "request rate",
            Self::StoreScan => "store scan",
            Self::Client => "client",
        })
    }
}

/// What one step of a strategy asks for. The next phase starts when it is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// What it does, for EXPLAIN: `scan`, `build side`, `sample`.
    pub name: &'static str,
    /// How the objects are stored.
    pub format: Format,
    /// Requests that wait for another one's answer, in a chain: 1 if all can be sent at once, 2 if
    /// a footer is read first.
    pub rounds: u32,
    /// Listing requests.
    pub lists: Requests,
    /// HEAD requests.
    pub heads: Requests,
    /// GET requests.
    pub gets: Requests,
    /// Payload of their answers.
    pub got: Bytes,
    /// Select requests.
    pub selects: Requests,
    /// Bytes they scan.
    pub scanned: Bytes,
    /// Rows they scan.
    pub scanned_rows: Rows,
    /// Terms they evaluate per row: comparisons and arithmetic operations on columns.
    pub terms: u32,
    /// Payload of their answers, which is text: JSON for JSON, CSV for the rest.
    pub returned: Bytes,
}

impl Default for Phase {
    fn default() -> Self {
        Self {
            name: "scan",
            format: Format::Csv,
            rounds: 1,
            lists: Requests::ZERO,
            heads: Requests::ZERO,
            gets: Requests::ZERO,
            got: Bytes::ZERO,
            selects: Requests::ZERO,
            scanned: Bytes::ZERO,
            scanned_rows: Rows::ZERO,
            terms: 0,
            returned: Bytes::ZERO,
        }
    }
}

impl Phase {
    /// The work this phase amounts to. Its time is zero until [`predict`]ed, and the link carries
    /// payload only: headers are not predicted.
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
            link: self.got + self.returned,
            wall: Duration::ZERO,
        }
    }

    /// The time of this phase on this hardware.
    ///
    /// With `D_r` the time that resource `r` would need alone, and α = 1 − overlap:
    ///
    /// ```text
    /// T = rounds·latency + max D + α·(sum D − max D)
    /// ```
    ///
    /// α = 0 is a perfect pipeline, α = 1 one resource after the other.
    #[must_use]
    pub fn predict(&self, hardware: &HardwareProfile) -> PhaseTime {
        let latency = self.latency(hardware);
        let demands = self.demands(hardware);
        let (bound_by, longest) =
            demands.into_iter().fold((Resource::Link, 0.0), |longest, (resource, time)| {
                if time > longest.1 { (resource, time) } else { longest }
            });
        let rest = demands.iter().map(|(_, time)| time).sum::<f64>() - longest;
        let waiting = latency * f64::from(self.rounds);
        let total = waiting + longest + (1.0 - hardware.client.overlap) * rest;
        PhaseTime {
            name: self.name,
            latency: seconds(waiting),
            demands: demands.map(|(resource, time)| (resource, seconds(time))),
            bound_by,
            total: seconds(total),
        }
    }

    /// One round trip, in seconds: the slowest kind that is sent.
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

    fn plain_requests(&self) -> Requests {
        self.lists + self.heads + self.gets
    }

    /// Each resource's time alone, in seconds.
    fn demands(&self, hardware: &HardwareProfile) -> [(Resource, f64); 5] {
        let slots = f64::from(hardware.requests.slots.get());
        let plain = self.plain_requests();
        let requests = plain + self.selects;
        // As many requests as this run side by side; at least one, so that it divides.
        let lanes = |requests: Requests| requests.as_f64().clamp(1.0, slots);
        // Waves of requests after the first, whose latency is counted as a round.
        let waves = |requests: Requests| (requests.as_f64() / slots - 1.0).max(0.0);

        let connection = hardware.link.connection_bytes_per_second;
        let request_slots = waves(plain) * hardware.link.latency.as_secs_f64()
            + waves(self.selects) * hardware.select.latency.as_secs_f64()
            + self.got.as_f64() / (connection.0 * lanes(self.gets));

        let one_by_one = self.scanned.as_f64() / hardware.select_rate(self.format).0
            + self.scanned_rows.as_f64()
                * f64::from(self.terms)
                * hardware.select.per_term.as_secs_f64();
        let together = self.scanned.as_f64() / hardware.select.total_bytes_per_second.0;
        let scanning = lanes(self.selects).min(f64::from(hardware.select.cores.get()));
        let store_scan = (one_by_one / scanning).max(together);

        let cores = f64::from(hardware.client.cores.get());
        let parsing = self.got.as_f64() / hardware.parse_rate(self.format).0
            + self.returned.as_f64() / hardware.parse_rate(self.format.of_answer()).0;
        let client = parsing / requests.as_f64().clamp(1.0, cores);

        let link = (self.got + self.returned).as_f64() / hardware.link.bytes_per_second.0;
        [
            (Resource::Link, link),
            (Resource::RequestSlots, request_slots),
            (Resource::RequestRate, requests.as_f64() / hardware.requests.per_second),
            (Resource::StoreScan, store_scan),
            (Resource::Client, client),
        ]
    }
}

/// The predicted time of one phase, and why it takes so long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseTime {
    /// The phase.
    pub name: &'static str,
    /// Waiting for first bytes, before any resource is busy.
    pub latency: Duration,
    /// What each resource would need alone.
    pub demands: [(Resource, Duration); 5],
    /// The resource that needs longest.
    pub bound_by: Resource,
    /// The whole phase.
    pub total: Duration,
}

/// The predicted time of a strategy, phase by phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prediction {
    /// Before the first phase: planning and connecting.
    pub startup: Duration,
    /// In the order they run.
    pub phases: Vec<PhaseTime>,
}

impl Prediction {
    /// All of it, one after the other.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.phases.iter().map(|phase| phase.total).fold(self.startup, Duration::saturating_add)
    }

    /// The resource that binds the longest phase; none without phases.
    #[must_use]
    pub fn bound_by(&self) -> Option<Resource> {
        self.phases.iter().max_by_key(|phase| phase.total).map(|phase| phase.bound_by)
    }
}

/// The time of these phases, one after the other, on this hardware.
#[must_use]
pub fn predict(phases: &[Phase], hardware: &HardwareProfile) -> Prediction {
    Prediction {
        startup: hardware.client.startup,
        phases: phases.iter().map(|phase| phase.predict(hardware)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BytesPerSecond;
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

    /// PushdownDB, Table II, server-side: 21.7 s, bound by the client's parser.
    #[test]
    fn the_papers_server_side_filter_is_bound_by_its_client() {
        let time = get(LINEITEM, 960).predict(HardwareProfile::paper());
        near(time.total, 21.7);
        assert_eq!(time.bound_by, Resource::Client);
    }

    /// The same with a client that parses fast: 6.9 s, the link.
    #[test]
    fn a_faster_client_is_bound_by_the_link() {
        let mut hardware = HardwareProfile::paper().clone();
        hardware.client.csv_bytes_per_second = BytesPerSecond(250e6);
        let time = get(LINEITEM, 960).predict(&hardware);
        assert_eq!(time.bound_by, Resource::Link);
        near(time.total, 6.72);
    }

    /// 60 000 ranged GETs, the index at 1e-3: 9 s of the 10.7 s, bound by the request rate.
    #[test]
    fn many_small_requests_are_bound_by_their_rate() {
        let time = get(Bytes(60_000 * 130), 60_000).predict(HardwareProfile::paper());
        assert_eq!(time.bound_by, Resource::RequestRate);
        near(time.total, 9.12);
    }

    /// Table II, S3-side at 1e-5: 1.38 s. Two comparisons per row.
    #[test]
    fn the_papers_s3_side_filter_is_bound_by_the_store() {
        let phase = Phase {
            selects: Requests(96),
            scanned: LINEITEM,
            scanned_rows: Rows(59_986_052),
            terms: 2,
            returned: Bytes(600 * 130),
            ..Phase::default()
        };
        let prediction = predict(&[phase], HardwareProfile::paper());
        assert_eq!(prediction.bound_by(), Some(Resource::StoreScan));
        near(prediction.total(), 1.38);
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
            ..Phase::default()
        };
        let work = phase.work();
        assert_eq!(work.requests.total(), Requests(11));
        assert_eq!((work.got, work.scanned, work.returned), (Bytes(4), Bytes(6), Bytes(8)));
        assert_eq!(work.link, Bytes(12));
    }

    #[test]
    fn nothing_takes_no_time() {
        let hardware = HardwareProfile::paper();
        let prediction = predict(&[Phase::default()], hardware);
        assert_eq!(prediction.total(), hardware.client.startup);
        assert_eq!(predict(&[], HardwareProfile::paper()).bound_by(), None);
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
            terms: u32::MAX,
            returned: Bytes(max),
            ..Phase::default()
        };
        assert!(predict(&[phase; 3], HardwareProfile::paper()).total() > Duration::from_secs(1));
    }

    fn phases() -> impl Strategy<Value = Phase> {
        let counts = (0u64..10_000, 0u64..10_000, 1u32..4, 0u32..100);
        let bytes = (0u64..1 << 40, 0u64..1 << 40, 0u64..1 << 40, 0u64..1 << 34);
        (counts, bytes, any::<bool>()).prop_map(
            |((gets, selects, rounds, terms), (got, scanned, returned, rows), csv)| Phase {
                format: if csv { Format::Csv } else { Format::Parquet },
                rounds,
                gets: Requests(gets),
                got: Bytes(got),
                selects: Requests(selects),
                scanned: Bytes(scanned),
                scanned_rows: Rows(rows),
                terms,
                returned: Bytes(returned),
                ..Phase::default()
            },
        )
    }

    fn profiles() -> impl Strategy<Value = HardwareProfile> {
        (0..HardwareProfile::all().len(), 0.0..=1.0f64).prop_map(|(index, overlap)| {
            let mut hardware = HardwareProfile::all()[index].clone();
            hardware.client.overlap = overlap;
            hardware
        })
    }

    proptest! {
        #[test]
        fn time_is_between_the_slowest_resource_and_the_sum(
            phase in phases(), hardware in profiles(),
        ) {
            let time = phase.predict(&hardware);
            let demands = time.demands.map(|(_, time)| time.as_secs_f64());
            let longest = demands.into_iter().fold(0.0, f64::max);
            let sum: f64 = demands.into_iter().sum();
            let busy = time.total.as_secs_f64() - time.latency.as_secs_f64();
            prop_assert!(busy >= longest * (1.0 - 1e-9) - 1e-6);
            prop_assert!(busy <= sum * (1.0 + 1e-9) + 1e-6);
        }

        #[test]
        fn better_hardware_is_never_slower(
            phase in phases(), hardware in profiles(), factor in 1.0..100.0f64, which in 0..8,
        ) {
            let mut better = hardware.clone();
            let more = |n: NonZeroU32| n.saturating_mul(NonZeroU32::new(factor as u32).unwrap());
            match which {
                0 => better.link.bytes_per_second = better.link.bytes_per_second * factor,
                1 => better.client.cores = more(better.client.cores),
                2 => better.requests.slots = more(better.requests.slots),
                3 => better.requests.per_second *= factor,
                4 => better.link.latency = better.link.latency.div_f64(factor),
                5 => better.select.latency = better.select.latency.div_f64(factor),
                6 => better.select.csv_bytes_per_second =
                        better.select.csv_bytes_per_second * factor,
                _ => better.client.overlap += (1.0 - better.client.overlap) / factor,
            }
            prop_assert!(phase.predict(&better).total <= phase.predict(&hardware).total
                + Duration::from_nanos(10));
        }

        #[test]
        fn more_work_is_never_faster(
            phase in phases(), hardware in profiles(), factor in 1.0..100.0f64, which in 0..6,
        ) {
            let mut more = phase;
            match which {
                0 => more.got = more.got * factor,
                1 => more.scanned = more.scanned * factor,
                2 => more.scanned_rows = more.scanned_rows * factor,
                3 => more.returned = more.returned * factor,
                4 => more.terms += 1,
                _ => more.rounds += 1,
            }
            prop_assert!(more.predict(&hardware).total + Duration::from_nanos(10)
                >= phase.predict(&hardware).total);
        }
    }
}
