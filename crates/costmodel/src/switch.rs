//! A switch between workers and a master that drops rows which the master does not need.

use std::time::Duration;

use crate::rate::seconds;
use crate::simulation::pruning::Pruning;
use crate::uncertainty::{Interval, percentiles};
use crate::{
    Bytes, Candidate, HardwareProfile, Phase, Resource, ResourceUse, Rows, Scenario, Steps,
};

const WORKER: Resource = Resource::new("worker rows");
const WORKER_PACKETS: Resource = Resource::new("worker packets");
const WORKER_LINK: Resource = Resource::new("worker link");
const PIPELINE: Resource = Resource::new("switch pipeline");
const RULES: Resource = Resource::new("switch rules");
const MASTER_LINK: Resource = Resource::new("master link");
const MASTER_PACKETS: Resource = Resource::new("master packets");
const MASTER: Resource = Resource::new("master rows");

/// The resources that the `[capacities]` of a profile may name.
pub(crate) const ALL: [Resource; 8] =
    [WORKER, WORKER_PACKETS, WORKER_LINK, PIPELINE, RULES, MASTER_LINK, MASTER_PACKETS, MASTER];

const PACKETS_PER_SECOND: f64 = 10e6;
const PIPELINE_PACKETS_PER_SECOND: f64 = 9.67e9;
const RULES_PER_SECOND: f64 = 1000.0;
const ROW_SECONDS: f64 = 50e-9;

/// The rows of one operator that workers send to a master, with and without a switch between them.
///
/// Without a switch, workers reduce their rows themselves where they can (groups, the best rows, a filter) and send
/// the rest. With a switch, each row is a packet and the switch lets some of them through. The master then fetches
/// the columns of these rows that no packet holds. Every worker, and the master, is a machine with the link and the
/// cores of the profile's client, unless the profile's `[capacities]` name other rates:
///
/// | capacity | in | where the profile does not name it |
/// |---|---|---|
/// | `worker rows`, `master rows` | rows per second that one machine groups or compares | its cores by `client.key_seconds`, or by 50 ns (assumed) |
/// | `worker packets`, `master packets` | packets per second of one machine | 10 million: Cheetah's workers (SIGMOD 2020, section 8); assumed of the master |
/// | `worker link`, `master link` | bytes per second | `link.bytes_per_second` |
/// | `switch pipeline` | packets per second | 9.67e9: 6.5 Tbit/s of the shortest packets |
/// | `switch rules` | times per second that rules can be installed | 1000: less than a millisecond (section 3) |
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchDemand {
    /// The number of workers, at least 1; rows are spread evenly among them.
    pub workers: u32,
    /// The crossings of the switch, one after the other. A join has two: its probe side is pruned once the switch has
    /// all keys of the build side.
    pub crossings: Vec<Crossing>,
}

/// A set of rows on their way to the master.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The name of the rows, as phases show it: `build`, `probe`.
    pub name: &'static str,
    /// The number of rows that all workers have.
    pub rows: f64,
    /// Bytes of a packet on the wire, which holds one row.
    pub packet_bytes: f64,
    /// The fraction of the rows that the switch lets through, 0 to 1.
    pub unpruned: f64,
    /// Bytes that the master fetches for each row that the switch lets through, because no packet holds them.
    pub late_bytes: f64,
    /// The number of rows that workers send without a switch.
    pub reduced: f64,
    /// Bytes of each row that workers send without a switch.
    pub row_bytes: f64,
    /// True if the workers must look at all their rows to reduce them.
    pub reduces: bool,
}

/// Amounts that cross the links, and the rows that the master handles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flow {
    /// Rows that all workers send together.
    pub sent: Rows,
    /// Bytes that all workers send together.
    pub sent_bytes: Bytes,
    /// Rows that the master handles.
    pub handled: Rows,
    /// Bytes over the master's link.
    pub handled_bytes: Bytes,
}

impl Crossing {
    fn unpruned(&self) -> f64 {
        self.rows * self.unpruned.clamp(0.0, 1.0)
    }

    fn pruned_flow(&self) -> [f64; 4] {
        let (left, packets) = (self.unpruned(), self.rows * self.packet_bytes);
        let late = left * self.late_bytes;
        [self.rows, packets + late, left, left * self.packet_bytes + late]
    }

    fn plain_flow(&self) -> [f64; 4] {
        let bytes = self.reduced * self.row_bytes;
        [self.reduced, bytes, self.reduced, bytes]
    }
}

impl SwitchDemand {
    /// The names of the strategies in [`Self::candidates`].
    pub const STRATEGIES: [&'static str; 2] = ["off", "prune"];

    /// The two strategies: without the switch, where workers send their rows reduced or unreduced, and through the
    /// switch.
    #[must_use]
    pub fn candidates(&self, hardware: &HardwareProfile) -> [Candidate<&'static str>; 2] {
        let rates = Rates(hardware);
        let plain = self.crossings.iter().map(|it| self.plain(it, &rates)).collect();
        let rules = Phase { name: "rules", ..phase(&rates, [(RULES, 1.0)]) };
        let pruned = self.crossings.iter().map(|it| self.pruned(it, &rates));
        let pruned = std::iter::once(rules.into()).chain(pruned).collect();
        let [off, prune] = Self::STRATEGIES;
        [
            Candidate { strategy: off, steps: Steps::InTurn(plain) },
            Candidate { strategy: prune, steps: Steps::InTurn(pruned) },
        ]
    }

    fn plain(&self, crossing: &Crossing, rates: &Rates) -> Steps {
        let workers = f64::from(self.workers.max(1));
        let [_, bytes, handled, _] = crossing.plain_flow();
        let looked_at = if crossing.reduces { crossing.rows / workers } else { 0.0 };
        let uses = [
            (WORKER, looked_at),
            (WORKER_LINK, bytes / workers),
            (MASTER_LINK, bytes),
            (MASTER, handled),
        ];
        Phase { name: crossing.name, ..phase(rates, uses) }.into()
    }

    fn pruned(&self, crossing: &Crossing, rates: &Rates) -> Steps {
        let workers = f64::from(self.workers.max(1));
        let [packets, sent_bytes, handled, handled_bytes] = crossing.pruned_flow();
        let uses = [
            (WORKER_PACKETS, packets / workers),
            (WORKER_LINK, sent_bytes / workers),
            (PIPELINE, packets),
            (MASTER_LINK, handled_bytes),
            (MASTER_PACKETS, handled),
            (MASTER, handled),
        ];
        Phase { name: crossing.name, ..phase(rates, uses) }.into()
    }

    /// The amounts that cross the links with the switch.
    #[must_use]
    pub fn with_switch(&self) -> Flow {
        self.flow(Crossing::pruned_flow)
    }

    /// The amounts that cross the links without the switch.
    #[must_use]
    pub fn without_switch(&self) -> Flow {
        self.flow(Crossing::plain_flow)
    }

    fn flow(&self, of: fn(&Crossing) -> [f64; 4]) -> Flow {
        let mut sum = [0.0; 4];
        for crossing in &self.crossings {
            sum.iter_mut().zip(of(crossing)).for_each(|(sum, more)| *sum += more);
        }
        let [sent, sent_bytes, handled, handled_bytes] = sum;
        Flow {
            sent: Rows::from_f64(sent),
            sent_bytes: Bytes::from_f64(sent_bytes),
            handled: Rows::from_f64(handled),
            handled_bytes: Bytes::from_f64(handled_bytes),
        }
    }

    /// Adds every capacity that [`Self::candidates`] uses to the hardware, so that each is a constant with a name.
    /// Capacities that the profile lacks get the defaults listed at [`SwitchDemand`].
    #[must_use]
    pub fn on(scenario: &Scenario) -> Scenario {
        let mut all = scenario.clone();
        let hardware = &mut all.hardware;
        for resource in ALL {
            let (name, rate) = (resource.name(), Rates(&scenario.hardware).rate(resource));
            if !hardware.capacities.contains_key(name) {
                hardware.capacities.insert(name.to_owned(), rate);
                if let Some(calibration) = hardware.calibration.as_deref_mut() {
                    calibration.assumed.push(format!("capacities.{name}"));
                }
            }
        }
        all
    }

    /// Simulates one of the [`Self::candidates`] on this hardware several times, see [`Pruning::simulate`].
    ///
    /// The rows that the switch lets through and the master's times vary by `scatter`, a fraction of their means. The
    /// seeds are `seed` and the numbers after it.
    #[must_use]
    pub fn simulate_often(
        &self,
        way: &str,
        hardware: &HardwareProfile,
        scatter: f64,
        seed: u64,
        runs: u32,
    ) -> Interval<Duration> {
        let (rates, prunes) = (Rates(hardware), way == Self::STRATEGIES[1]);
        let rules = if prunes { 1.0 / rates.rate(RULES) } else { 0.0 };
        let before = hardware.client.startup.as_secs_f64() + rules;
        let all: Vec<_> =
            self.crossings.iter().map(|it| self.as_pruning(it, &rates, prunes)).collect();
        let one = |run: u32| {
            let seed = seed.wrapping_add(run.into());
            before + all.iter().map(|it| it.simulate(scatter, seed).seconds).sum::<f64>()
        };
        percentiles((0..runs.max(1)).map(one).collect()).map(seconds)
    }

    /// Combines the slowest resource on each side of the switch into a [`Pruning`].
    fn as_pruning(&self, crossing: &Crossing, rates: &Rates, prunes: bool) -> Pruning {
        let workers = f64::from(self.workers.max(1));
        let per_row = |bytes: f64, rows: f64| if rows > 0.0 { bytes / rows } else { 0.0 };
        let flow = if prunes { crossing.pruned_flow() } else { crossing.plain_flow() };
        let [rows, sent_bytes, handled, handled_bytes] = flow;
        let over = |link, bytes: f64| rates.rate(link) / bytes.max(f64::MIN_POSITIVE);
        let link = workers * over(WORKER_LINK, per_row(sent_bytes, rows));
        let master_link = over(MASTER_LINK, per_row(handled_bytes, handled));
        let master = rates.rate(MASTER).min(master_link);
        let (sent, switched, handles) = match (prunes, crossing.reduces) {
            (true, _) => (
                workers * rates.rate(WORKER_PACKETS),
                rates.rate(PIPELINE),
                rates.rate(MASTER_PACKETS),
            ),
            // Workers send rows at the rate at which they look at them, times the fraction that they send.
            (false, true) => {
                let part = per_row(rows, crossing.rows).clamp(f64::MIN_POSITIVE, 1.0);
                (workers * rates.rate(WORKER) * part, f64::MAX, f64::MAX)
            }
            (false, false) => (f64::MAX, f64::MAX, f64::MAX),
        };
        Pruning {
            rows,
            sent_per_second: sent.min(link),
            switched_per_second: switched,
            unpruned: if rows > 0.0 { (handled / rows).min(1.0) } else { 0.0 },
            handled_per_second: master.min(handles),
        }
    }
}

fn phase<const N: usize>(rates: &Rates, amounts: [(Resource, f64); N]) -> Phase {
    let used =
        |(resource, amount)| ResourceUse { resource, amount, per_second: rates.rate(resource) };
    Phase { uses: amounts.into_iter().map(used).collect(), ..Phase::default() }
}

/// The rates of the resources, per second.
struct Rates<'a>(&'a HardwareProfile);

impl Rates<'_> {
    fn rate(&self, resource: Resource) -> f64 {
        let client = &self.0.client;
        if let Some(known) = self.0.capacities.get(resource.name()) {
            return *known;
        }
        match resource {
            WORKER | MASTER => {
                let row = client.per_key.map_or(ROW_SECONDS, |time| time.as_secs_f64());
                f64::from(client.cores.get()) / row.max(f64::MIN_POSITIVE)
            }
            WORKER_LINK | MASTER_LINK => self.0.link.bytes_per_second.0,
            PIPELINE => PIPELINE_PACKETS_PER_SECOND,
            RULES => RULES_PER_SECOND,
            _ => PACKETS_PER_SECOND,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PriceBook, predict};
    use proptest::prelude::*;

    /// Cheetah's DISTINCT: 31.7 million rows of five workers, few of which are new.
    fn distinct() -> SwitchDemand {
        let crossing = Crossing {
            name: "pass",
            rows: 31.7e6,
            packet_bytes: 84.0,
            unpruned: 0.001,
            late_bytes: 0.0,
            reduced: 5.0 * 31_700.0,
            row_bytes: 40.0,
            reduces: true,
        };
        SwitchDemand { workers: 5, crossings: vec![crossing] }
    }

    fn hardware() -> HardwareProfile {
        let mut hardware = HardwareProfile::paper().clone();
        hardware.client.startup = Duration::ZERO;
        hardware.client.overlap = 1.0;
        hardware
    }

    fn seconds_of(demand: &SwitchDemand, hardware: &HardwareProfile) -> [f64; 2] {
        demand.candidates(hardware).map(|it| predict(&it.steps, hardware).total().as_secs_f64())
    }

    /// 31.7 million packets of five workers that send ten million a second each take 0.634 s, plus a millisecond.
    #[test]
    fn workers_of_the_paper_send_as_fast_as_they_did() {
        let [_, prune] = seconds_of(&distinct(), &hardware());
        assert!((prune - 0.635).abs() < 0.001, "{prune}");
        // A link of 1 Gbit/s holds 1.49 million packets of 84 bytes.
        let mut slow = hardware();
        slow.capacities.insert("worker link".to_owned(), 125e6);
        let [_, prune] = seconds_of(&distinct(), &slow);
        assert!((prune - 4.261).abs() < 0.001, "{prune}");
        let flow = distinct().with_switch();
        assert_eq!((flow.sent, flow.handled), (Rows(31_700_000), Rows(31_700)));
        assert_eq!(flow.sent_bytes, Bytes(31_700_000 * 84));
        assert_eq!(distinct().without_switch().handled_bytes, Bytes(5 * 31_700 * 40));
    }

    /// A slow master binds, and more pipelines do not help.
    #[test]
    fn a_master_that_falls_behind_binds() {
        let mut all_pass = distinct();
        all_pass.crossings[0].unpruned = 1.0;
        let mut hardware = hardware();
        hardware.capacities.insert("master rows".to_owned(), 1e6);
        let time =
            |demand: &SwitchDemand| predict(&demand.candidates(&hardware)[1].steps, &hardware);
        let time = time(&all_pass);
        assert_eq!(time.bound_by(), Some(MASTER));
        assert!((time.total().as_secs_f64() - 31.701).abs() < 0.001);
    }

    #[test]
    fn every_capacity_gets_a_name() {
        let scenario = Scenario::new(&hardware(), PriceBook::paper());
        let named = SwitchDemand::on(&scenario);
        for resource in ALL {
            let key = format!("capacities.{}", resource.name());
            assert!(named.get(&key).is_some_and(|it| it >= 1.0), "{key}");
        }
        assert_eq!(
            seconds_of(&distinct(), &scenario.hardware),
            seconds_of(&distinct(), &named.hardware)
        );
        // Capacities of the profile are kept.
        let mut known = scenario;
        known.set("capacities.switch pipeline", 5.0).unwrap();
        assert_eq!(SwitchDemand::on(&known).get("capacities.switch pipeline"), Some(5.0));
    }

    /// If one resource binds and nothing scatters, a run takes the predicted time.
    #[test]
    fn a_run_is_as_predicted() {
        let mut of_master = distinct();
        of_master.crossings[0].unpruned = 1.0;
        let mut hardware = hardware();
        hardware.capacities.insert("master rows".to_owned(), 1e6);
        for demand in [distinct(), of_master] {
            let predicted = seconds_of(&demand, &hardware);
            for (way, predicted) in SwitchDemand::STRATEGIES.into_iter().zip(predicted) {
                let run = demand.simulate_often(way, &hardware, 0.0, 1, 3).p50.as_secs_f64();
                assert!((run / predicted - 1.0).abs() < 0.01, "{way}: {run} {predicted}");
            }
        }
    }

    fn crossings() -> impl Strategy<Value = Crossing> {
        (0.0..1e9f64, 64.0..300.0f64, 0.0..1.0f64, 0.0..200.0f64, 0.0..1.0f64, any::<bool>())
            .prop_map(|(rows, packet_bytes, unpruned, late_bytes, reduced, reduces)| Crossing {
                name: "pass",
                rows,
                packet_bytes,
                unpruned,
                late_bytes,
                reduced: rows * reduced,
                row_bytes: 50.0,
                reduces,
            })
    }

    proptest! {
        #[test]
        fn more_capacity_is_never_slower_and_more_rows_are_never_faster(
            crossings in proptest::collection::vec(crossings(), 1..3), workers in 1u32..64,
            which in 0..ALL.len(), factor in 1.0..100.0f64,
        ) {
            let demand = SwitchDemand { workers, crossings };
            let scenario = SwitchDemand::on(&Scenario::new(&hardware(), PriceBook::paper()));
            let before = seconds_of(&demand, &scenario.hardware);
            let mut better = scenario.clone();
            let key = format!("capacities.{}", ALL[which].name());
            better.set(&key, scenario.get(&key).unwrap() * factor).unwrap();
            let mut more = demand.clone();
            for crossing in &mut more.crossings {
                match which % 3 {
                    0 => (crossing.rows, crossing.reduced) = (crossing.rows * factor, crossing.reduced * factor),
                    1 => crossing.unpruned = (crossing.unpruned * factor).min(1.0),
                    _ => crossing.late_bytes *= factor,
                }
            }
            let wide = SwitchDemand { workers: workers * 2, ..demand.clone() };
            let least = |a: [f64; 2], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| *a <= b * (1.0 + 1e-9) + 1e-6);
            prop_assert!(least(seconds_of(&demand, &better.hardware), before));
            prop_assert!(least(before, seconds_of(&more, &scenario.hardware)));
            prop_assert!(least(seconds_of(&wide, &scenario.hardware), before));
        }
    }
}
