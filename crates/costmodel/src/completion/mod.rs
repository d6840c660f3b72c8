//! Predicts the completion time of a query whose rows go from workers through a pruning switch to a master. This is a
//! model behind Cheetah's figures 5 to 9 and 12 (SIGMOD 2020), which the paper draws from its testbed without a model.
//!
//! | part | takes |
//! |---|---|
//! | rules | one installation of the query's rules on the switch |
//! | workers | the time by which making packets exceeds sending them, because the two overlap |
//! | network | all packets over the workers' links, or the remaining ones over the master's, whichever is slower |
//! | master | the work that is left in its queue when the last packet arrives |
//! | drain | reading the result out of a switch that keeps it; only then can the master begin |
//!
//! All passes of a query but the last are pruned completely: they fill the filters. While packets arrive, the master
//! processes them at the rate of its algorithm. Its queue stays empty as long as few arrive; beyond that, its time
//! after the last packet rises faster than the unpruned fraction (figure 9).
//!
//! Constants are data with their sources ([`Testbed`]): published, measured with this project's own benchmark,
//! derived, or assumed. Times are modelled. The paper's text gives no times for Spark, so Spark is not modelled.

mod figures;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;

pub use self::figures::{Case, Figure, System};

use crate::rate::seconds;
use crate::{BytesPerSecond, data};

/// A number with its source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// The value of the constant.
    pub value: f64,
    /// `published: …`, `measured: …`, `counted: …`, `derived: …` or `assumed: …`.
    pub source: String,
}

/// The constants of workers, a switch and a master, as plain data with sources.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Testbed {
    /// The testbed's name.
    pub name: String,
    /// The number of workers.
    pub workers: Number,
    /// The rate of each machine's link, in bytes per second.
    pub link: Number,
    /// The bytes of one packet on the link.
    pub packet_bytes: Number,
    /// Packets per second that one worker makes from rows.
    pub serialized: Number,
    /// Seconds to install the rules of a query.
    pub rules_seconds: Number,
    /// Entries per second that the control plane reads out of the switch.
    pub drained: Number,
    /// Entries per second that the data plane passes on to the switch's processor.
    pub overflowed: Number,
    /// Packets per second that the master receives, parses and copies.
    pub received: Number,
    /// The fraction of TPC-H's query 3 that its join takes.
    pub join_part: Number,
    /// Entries per second that the master processes, by the name of its algorithm.
    pub master: BTreeMap<String, Number>,
    /// The queries, in the order of figure 5.
    pub queries: Vec<Query>,
    /// Other devices that could prune: table 3.
    pub devices: Vec<Device>,
}

/// A query as the switch sees it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// The query's name.
    pub name: String,
    /// The rows of the query's tables.
    pub entries: Number,
    /// The number of times that the rows are sent.
    pub passes: u32,
    /// The fraction of the entries of the last pass that the switch lets through.
    pub unpruned: Number,
    /// The master's algorithm, a key of [`Testbed::master`].
    pub master: String,
    /// The number of workers that send rows; `None` stands for all of them.
    #[serde(default)]
    pub workers: Option<u32>,
}

/// A device that could prune, as in table 3.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The device's name.
    pub name: String,
    /// The lowest and the highest rate, in bits per second.
    pub bits_per_second: [f64; 2],
    /// The shortest and the longest latency, in microseconds.
    pub latency_microseconds: [f64; 2],
    /// The publication of these numbers.
    pub source: String,
}

impl Device {
    /// The shortest and the longest time in which this many packets of the shortest frame, 64 bytes, pass the device.
    #[must_use]
    pub fn passing(&self, packets: f64) -> [Duration; 2] {
        let [slow, fast] = self.bits_per_second;
        let [short, long] = self.latency_microseconds;
        let bits = packets * 64.0 * 8.0;
        [(fast, short), (slow, long)].map(|(rate, latency)| seconds(bits / rate + latency * 1e-6))
    }
}

/// The parts of a completion time, which add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Completion {
    /// Time to install the rules.
    pub rules: Duration,
    /// Time to make packets, beyond the time of sending them.
    pub workers: Duration,
    /// Time to send the packets.
    pub network: Duration,
    /// Time of the master after the last packet.
    pub master: Duration,
    /// Time to read a result out of the switch.
    pub drain: Duration,
}

impl Completion {
    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.rules + self.workers + self.network + self.master + self.drain
    }
}

/// The ways in which entries leave the data plane of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// They are forwarded to the master, as in Cheetah.
    ToMaster,
    /// They are the result that the switch keeps, as in NetAccel: the control plane reads it at the end.
    Result,
    /// They do not fit the data plane, and go to the switch's processor, as in NetAccel.
    Overflow,
}

/// The parts of a testbed that a run may change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// The number of workers, at least 1.
    pub workers: f64,
    /// The rate of each machine's link.
    pub link: BytesPerSecond,
    /// Entries in a packet, at least 1.
    pub per_packet: f64,
}

impl Setup {
    const fn entries(&self) -> f64 {
        self.per_packet.max(1.0)
    }

    /// The fraction of the packets that the switch lets through: those with at least one unpruned entry.
    fn going(&self, unpruned: f64) -> f64 {
        1.0 - (1.0 - unpruned.clamp(0.0, 1.0)).powf(self.entries())
    }
}

static CHEETAH: LazyLock<Testbed> =
    LazyLock::new(|| data::embedded(include_str!("../../testbeds/cheetah.toml")));

impl Testbed {
    /// Cheetah's testbed: five workers and a master at a Tofino.
    #[must_use]
    pub fn cheetah() -> &'static Self {
        &CHEETAH
    }

    /// The testbed's own setup.
    #[must_use]
    pub const fn setup(&self) -> Setup {
        Setup {
            workers: self.workers.value,
            link: BytesPerSecond(self.link.value),
            per_packet: 1.0,
        }
    }

    /// The constants with their names, without those of queries.
    #[must_use]
    pub fn numbers(&self) -> Vec<(String, &Number)> {
        let plain = [
            ("workers", &self.workers),
            ("link, bytes/s", &self.link),
            ("packet on the link, bytes", &self.packet_bytes),
            ("packets made by a worker, /s", &self.serialized),
            ("rules, s", &self.rules_seconds),
            ("entries drained, /s", &self.drained),
            ("entries passed to the switch's processor, /s", &self.overflowed),
            ("packets received by the master, /s", &self.received),
            ("join's part of TPC-H query 3", &self.join_part),
        ];
        let plain = plain.into_iter().map(|(name, number)| (name.to_owned(), number));
        let master = self.master.iter().map(|(name, rate)| (format!("master's {name}, /s"), rate));
        plain.chain(master).collect()
    }

    /// The query of this name.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&Query> {
        self.queries.iter().find(|query| query.name == name)
    }

    /// Packets per second of one link.
    #[must_use]
    pub fn packets_per_second(&self, link: BytesPerSecond) -> f64 {
        link.0 / self.packet_bytes.value
    }

    /// The seconds in which the master processes these entries in these packets.
    fn mastered(&self, query: &Query, entries: f64, packets: f64) -> f64 {
        let rate = self.master.get(&query.master).map_or(f64::INFINITY, |rate| rate.value);
        packets / self.received.value + entries / rate
    }

    /// The completion time of a query through a switch that prunes.
    #[must_use]
    pub fn pruned(&self, query: &Query, setup: &Setup) -> Completion {
        let (making, sending, last) = self.sent(query, setup, query.unpruned.value);
        let left = query.entries.value * query.unpruned.value.clamp(0.0, 1.0);
        let network = sending.max(last);
        // Only the last pass fills the master's queue.
        let passes = f64::from(query.passes.max(1));
        let before = making.max(sending) * (passes - 1.0) / passes;
        let filling = making.max(network) - before;
        let arriving = query.entries.value / setup.entries() * setup.going(query.unpruned.value);
        let master = self.mastered(query, left, arriving) - filling;
        Completion {
            rules: seconds(self.rules_seconds.value),
            workers: seconds(making - network),
            network: seconds(network),
            master: seconds(master),
            drain: Duration::ZERO,
        }
    }

    /// The completion time of a query in a switch that keeps `result` entries, as NetAccel does.
    ///
    /// This is a lower bound: nothing overflows to the switch's processor, and the master has no work before
    /// everything is read out.
    #[must_use]
    pub fn kept(&self, query: &Query, setup: &Setup, result: f64) -> Completion {
        let (making, sending, _) = self.sent(query, setup, 0.0);
        Completion {
            rules: seconds(self.rules_seconds.value),
            workers: seconds(making - sending),
            network: seconds(sending),
            master: seconds(self.mastered(query, result, result / setup.entries())),
            drain: seconds(result / self.drained.value),
        }
    }

    /// The time in which `entries` leave the switch's data plane, as in appendix F (figure 12): to the master over its
    /// link; or, in a switch that keeps its result, through the control plane, which reads the result from registers,
    /// and passes what does not fit the data plane to the switch's processor. Only then is the result sent.
    #[must_use]
    pub fn leaving(&self, way: Leaving, setup: &Setup, entries: f64) -> Completion {
        let packets = entries / setup.entries();
        let network = seconds(packets / self.packets_per_second(setup.link));
        let drain = match way {
            Leaving::ToMaster => return Completion { network, ..Completion::default() },
            Leaving::Result => seconds(entries / self.drained.value),
            // The processor completes the query itself.
            Leaving::Overflow => {
                let drain = seconds(entries / self.overflowed.value);
                return Completion { drain, ..Completion::default() };
            }
        };
        Completion { network, drain, ..Completion::default() }
    }

    /// The completion time of two queries one after the other (A+B). Rules are installed once. Packets of the second
    /// query are made while the first is sent, and the master finishes the first meanwhile.
    #[must_use]
    pub fn together(&self, queries: [&Query; 2], setup: &Setup) -> Completion {
        let [first, second] = queries.map(|query| self.pruned(query, setup));
        let making: f64 = queries.iter().map(|query| self.sent(query, setup, 0.0).0).sum();
        let network = first.network + second.network;
        Completion { workers: seconds(making - network.as_secs_f64()), network, ..second }
    }

    /// The seconds of making packets, of sending them over the workers' links, and of sending the rest of the last
    /// pass over the master's link. The last number includes the earlier passes on the workers' links.
    fn sent(&self, query: &Query, setup: &Setup, unpruned: f64) -> (f64, f64, f64) {
        let workers = query.workers.map_or(setup.workers, f64::from).max(1.0);
        let rate = self.packets_per_second(setup.link);
        let packets = query.entries.value / setup.entries();
        let passes = f64::from(query.passes.max(1));
        let pass = packets / (workers * rate);
        let last = pass * (passes - 1.0) + packets * setup.going(unpruned) / rate;
        (packets * passes / (workers * self.serialized.value), pass * passes, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testbed() -> &'static Testbed {
        Testbed::cheetah()
    }

    fn close(found: f64, expected: f64, part: f64) {
        assert!((found / expected - 1.0).abs() <= part, "{found}, {expected} expected");
    }

    /// Section 7.1: 10 million packets per second at 10 Gbit/s, 5.1 Gbit/s of frames of 64 bytes.
    #[test]
    fn the_papers_rate() {
        let rate = testbed().packets_per_second(testbed().setup().link);
        close(rate, 10e6, 1e-9);
        close(rate * 64.0 * 8.0, 5.1e9, 0.005);
        // 31.7 million rows of five workers.
        let distinct = testbed().pruned(testbed().query("Distinct").unwrap(), &testbed().setup());
        close(distinct.network.as_secs_f64(), 0.634, 0.001);
    }

    /// Section 8.2.3: "when the speed is increased to 20G, the completion time improves by nearly 2x".
    #[test]
    fn the_network_is_the_bottleneck() {
        let setup = testbed().setup();
        let double = Setup { link: BytesPerSecond(2.0 * setup.link.0), ..setup };
        // Queries that are hardly pruned are bound by the master.
        for query in testbed().queries.iter().filter(|query| query.unpruned.value < 0.1) {
            let [slow, fast] = [setup, double].map(|s| testbed().pruned(query, &s));
            let faster = slow.total().as_secs_f64() / fast.total().as_secs_f64();
            assert!((1.5..=2.0).contains(&faster), "{}: {faster}", query.name);
        }
        let query = testbed().query("GroupBy").unwrap();
        let [slow, fast] = [setup, double].map(|s| testbed().pruned(query, &s).total());
        close(slow.as_secs_f64() / fast.as_secs_f64(), 2.0, 0.05);
    }

    /// Section 8.2.1: A+B takes less than A and B, and more than either.
    #[test]
    fn together_is_less_than_the_sum() {
        let setup = testbed().setup();
        let [a, b] = ["BigData A", "BigData B"].map(|name| testbed().query(name).unwrap());
        let (alone, both) = (
            [a, b].map(|query| testbed().pruned(query, &setup).total()),
            testbed().together([a, b], &setup).total(),
        );
        assert!(both < alone[0] + alone[1] && both > alone[0].max(alone[1]), "{alone:?} {both:?}");
    }

    /// Section 8.2.1: the join is 67 % of TPC-H's query 3, so no switch makes the query more than three times as
    /// fast.
    #[test]
    fn what_is_not_offloaded_bounds_query_3() {
        let bound = 1.0 / (1.0 - testbed().join_part.value);
        close(bound, 3.03, 0.001);
    }

    /// Section 8.2.4: a result that the switch keeps must be read out, which takes longer the larger the result is.
    #[test]
    fn draining_takes_longer_the_larger_the_result() {
        let (setup, query) = (testbed().setup(), testbed().query("GroupBy").unwrap());
        let pruned = testbed().pruned(query, &setup).total();
        let mut before = Duration::ZERO;
        for result in [1e3, 1e4, 1e5, 1e6] {
            let kept = testbed().kept(query, &setup, result).total();
            assert!(kept > pruned && kept - pruned > before, "{result}");
            before = kept - pruned;
        }
    }

    /// Appendix F: the master's link takes entries faster than the control plane and the switch's processor do.
    #[test]
    fn the_control_plane_is_slower_than_a_link() {
        let (testbed, setup) = (testbed(), testbed().setup());
        let time = |way, entries| testbed.leaving(way, &setup, entries).total().as_secs_f64();
        close(time(Leaving::ToMaster, 1e6), 0.1, 1e-6);
        close(time(Leaving::Result, 1e6), 1e6 / testbed.drained.value + 0.1, 1e-6);
        close(time(Leaving::Overflow, 1e6), 1e6 / testbed.overflowed.value, 1e-6);
        for entries in [1e3, 1e5, 1e7] {
            let [master, result, overflow] =
                [Leaving::ToMaster, Leaving::Result, Leaving::Overflow].map(|it| time(it, entries));
            assert!(master < overflow && master < result, "{entries}");
        }
    }

    /// Section 8.3: the master's time is super-linear in the unpruned rate.
    #[test]
    fn the_masters_queue_is_empty_until_it_is_not() {
        let distinct = testbed().query("Distinct").unwrap();
        let mastered = |unpruned: f64| {
            let unpruned = Number { value: unpruned, source: "assumed: a point".to_owned() };
            let query = Query { unpruned, ..distinct.clone() };
            testbed().pruned(&query, &testbed().setup()).master.as_secs_f64()
        };
        assert_eq!(mastered(0.01), 0.0);
        let [some, twice] = [0.15, 0.3].map(mastered);
        assert!(some > 0.0 && twice > 4.0 * some, "{some} {twice}");
    }

    /// More of any resource never takes longer, less of it never takes less.
    #[test]
    fn it_is_monotone() {
        let setup = testbed().setup();
        for query in &testbed().queries {
            let total = |setup: &Setup, query: &Query| testbed().pruned(query, setup).total();
            let here = total(&setup, query);
            // Each part is rounded to nanoseconds.
            let most = here + Duration::from_nanos(9);
            assert!(total(&Setup { workers: 10.0, ..setup }, query) <= most);
            assert!(total(&Setup { per_packet: 4.0, ..setup }, query) <= most);
            assert!(total(&Setup { link: BytesPerSecond(1e9), ..setup }, query) >= here);
            let more = Number { value: 2.0 * query.entries.value, ..query.entries.clone() };
            assert!(total(&setup, &Query { entries: more, ..query.clone() }) > here);
            let more = Number { value: query.unpruned.value + 0.3, ..query.unpruned.clone() };
            assert!(
                total(&setup, &Query { unpruned: more, ..query.clone() }) + Duration::from_nanos(9)
                    >= here
            );
        }
    }

    /// The devices are those of table 3.
    #[test]
    fn devices_are_those_of_table_3() {
        let row = |name: &str| {
            let device = testbed().devices.iter().find(|device| device.name == name).unwrap();
            (device.bits_per_second, device.latency_microseconds)
        };
        assert_eq!(row("Server"), ([10e9, 100e9], [10.0, 100.0]));
        assert_eq!(row("GPU"), ([40e9, 120e9], [8.0, 25.0]));
        assert_eq!(row("FPGA"), ([10e9, 100e9], [10.0, 10.0]));
        assert_eq!(row("SmartNIC"), ([10e9, 100e9], [5.0, 10.0]));
        assert_eq!(row("Tofino V2"), ([12.8e12, 12.8e12], [0.0, 1.0]));
        let [fast, slow] = testbed().devices[0].passing(1e6);
        close(fast.as_secs_f64(), 0.512e9 / 100e9, 0.01);
        assert!(slow > fast);
    }

    #[test]
    fn every_number_says_what_it_rests_on() {
        let testbed = testbed();
        let queries = testbed.queries.iter().flat_map(|it| [&it.entries, &it.unpruned]);
        let plain = testbed.numbers().into_iter().map(|(_, number)| number);
        for number in queries.chain(plain) {
            let kind = number.source.split_once(": ").map(|(kind, _)| kind);
            let kinds = ["published", "measured", "counted", "derived", "assumed"];
            assert!(kind.is_some_and(|kind| kinds.contains(&kind)), "{number:?}");
            assert!(number.value.is_finite() && number.value > 0.0, "{number:?}");
        }
        for query in &testbed.queries {
            assert!(testbed.master.contains_key(&query.master), "{}", query.name);
            assert!(query.passes >= 1 && query.unpruned.value <= 1.0);
        }
    }
}
