//! Estimates the time of a query whose scans run on a device.

use super::graph::{share, times};
use super::{Device, Schedule, Setup, Slots, Stage, StageGraph, schedule};
use crate::Bytes;

/// The formula for the remaining time of a stage (ICPE 2020, §5.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Formula {
    /// The measured time, minus the share of scan, filter and project, plus the device's time: `measured · (1 − S/F/P
    /// ÷ all) + set-up + transfer`.
    #[default]
    Intended,
    /// The formula as printed, for a stage that scans: `set-up + measured · S/F/P ÷ all`.
    ///
    /// It leaves out the remaining work: aggregates, sorts and joins. The paper's Q72, whose Scan Ratio is 0, would
    /// take a second instead of the 8190 in the paper's Table 2, and its worked example 17 seconds instead of the 12
    /// in Fig. 5.
    AsPrinted,
}

/// A stage before and after offloading.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatedStage {
    /// The measured seconds.
    pub measured: f64,
    /// The measured seconds of the operations that the device takes, by their share of the thread time. With the
    /// paper's device, these are scan, filter and project.
    pub taken: f64,
    /// The thread seconds of these operations.
    pub thread_taken: f64,
    /// The bytes that the device sends.
    pub sent: Bytes,
    /// The estimated seconds with the device.
    pub estimated: f64,
    /// True if the device runs the stage's scan.
    pub offloaded: bool,
}

/// A query before and after offloading, with bounds of the speed-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The stages, in the order of [`StageGraph::stages`].
    pub stages: Vec<EstimatedStage>,
    /// The schedule of the measured stages, in the same slots.
    pub before: Schedule,
    /// The schedule with the device.
    pub after: Schedule,
    /// The schedule with the device and unlimited slots, as in the paper.
    pub unlimited: Schedule,
    /// The speed-up of the query: seconds before over seconds after.
    pub speedup: f64,
    /// The speed-up of the query if slots are unlimited before and after.
    pub unlimited_speedup: f64,
    /// Amdahl's law, `1 ÷ (1 − f)`: a bound for any device and any number of slots.
    ///
    /// `1 − f` is the fraction of the measured time that the stages on the measured critical path take without the
    /// device's operations (scan, filter and project). The bound is infinite if these stages do nothing else.
    pub amdahl: f64,
    /// The largest speed-up that any device with these operations and any number of slots allow: the measured time
    /// over the longest path without the operations.
    ///
    /// It is at most [`Self::amdahl`], because another path may be the longest without them. It is infinite if no
    /// path has other work. It bounds [`Formula::Intended`] only, because [`Formula::AsPrinted`] leaves that other
    /// work out.
    pub bound: f64,
    /// The bytes that the device sends: the results of the offloaded stages.
    pub sent: Bytes,
}

/// Estimates a query with the device's operations offloaded from the stages that scan.
#[must_use]
pub fn estimate(
    graph: &StageGraph,
    device: &Device,
    setup: Setup,
    formula: Formula,
    slots: Slots,
) -> Estimate {
    let stages: Vec<EstimatedStage> =
        graph.stages().iter().map(|stage| one(stage, device, setup, formula)).collect();
    let seconds = |of: fn(&EstimatedStage) -> f64| stages.iter().map(of).collect::<Vec<_>>();
    let (measured, estimated) = (seconds(|it| it.measured), seconds(|it| it.estimated));
    let rest = seconds(|it| it.measured - it.taken);
    let before = schedule(graph, &measured, slots);
    let after = schedule(graph, &estimated, slots);
    let unlimited = schedule(graph, &estimated, Slots::Unlimited);
    let unlimited_before = schedule(graph, &measured, Slots::Unlimited).makespan;
    let least = schedule(graph, &rest, Slots::Unlimited).critical_seconds;
    let on_path = before.critical_path.iter().filter_map(|place| rest.get(*place)).sum();
    let offloaded = stages.iter().filter(|it| it.offloaded);
    Estimate {
        speedup: times(before.makespan, after.makespan),
        unlimited_speedup: times(unlimited_before, unlimited.makespan),
        amdahl: times(before.makespan, on_path),
        bound: times(before.makespan, least),
        sent: Bytes::from_f64(offloaded.map(|it| it.sent.as_f64()).sum()),
        stages,
        before,
        after,
        unlimited,
    }
}

fn one(stage: &Stage, device: &Device, setup: Setup, formula: Formula) -> EstimatedStage {
    let measured = stage.wall_seconds;
    let part = stage.part(&device.offloads, device.semi_join.as_f64());
    let taken = measured
        * share(
            part.thread_seconds + stage.wait_seconds,
            stage.thread_seconds + stage.wait_seconds,
        );
    let sent = Bytes::from_f64(part.sent);
    let thread_taken = part.thread_seconds;
    let stays = EstimatedStage {
        measured,
        taken,
        thread_taken,
        sent,
        estimated: measured,
        offloaded: false,
    };
    if !stage.scans() {
        return stays;
    }
    let keys = Bytes::from_f64(part.keys) / device.link;
    let transfer = device.transfer(Bytes::from_f64(stage.read_bytes), sent);
    let estimated = match formula {
        Formula::Intended => measured - taken + (device.setup + keys + transfer).as_secs_f64(),
        Formula::AsPrinted => device.setup.as_secs_f64() + taken,
    };
    if setup == Setup::OnlyIfBeneficial && estimated > measured {
        return stays;
    }
    EstimatedStage { estimated, offloaded: true, ..stays }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::{Offloads, Operation, SemiJoin};
    use super::*;
    use crate::BytesPerSecond;

    /// Stages with their seconds of scan, filter and project, their other seconds, and the stages that they wait for.
    fn graph(stages: &[(f64, f64, &[u64])]) -> StageGraph {
        let stage = |(id, (sfp, rest, after)): (u64, &(f64, f64, &[u64]))| Stage {
            id,
            wall_seconds: sfp + rest,
            thread_seconds: sfp + rest,
            scan_seconds: *sfp,
            after: after.to_vec(),
            ..Stage::default()
        };
        StageGraph::new((0..).zip(stages).map(stage).collect()).unwrap()
    }

    /// Fig. 4 and 5: 1, 5 and 8 seconds of scan, filter and project, the edges, and 18 → 12 are the paper's. The
    /// other durations are chosen to fit.
    fn worked_example() -> StageGraph {
        graph(&[
            (1.0, 2.0, &[]),
            (5.0, 2.0, &[]),
            (8.0, 2.0, &[]),
            (0.0, 5.0, &[1]),
            (0.0, 4.0, &[2]),
            (0.0, 4.0, &[0, 3, 4]),
        ])
    }

    fn paper(graph: &StageGraph, formula: Formula) -> Estimate {
        let device = Device::by_name("icpe-2020").unwrap();
        estimate(graph, device, Setup::Always, formula, Slots::Unlimited)
    }

    #[test]
    fn the_worked_example_takes_12_of_18_seconds() {
        let found = paper(&worked_example(), Formula::Intended);
        assert_eq!((found.before.makespan, found.after.makespan), (18.0, 12.0));
        // The critical path moves from the larger table to the smaller one.
        assert_eq!(found.before.critical_path, [2, 4, 5]);
        assert_eq!(found.after.critical_path, [1, 3, 5]);
        assert_eq!(found.speedup, 1.5);
        let printed = paper(&worked_example(), Formula::AsPrinted);
        assert_eq!(printed.after.makespan, 17.0);
    }

    /// Table 2: nearly all of Q72 is joins.
    #[test]
    fn what_is_no_scan_stays() {
        let q72 = graph(&[(16.0, 8189.0, &[])]);
        assert_eq!(paper(&q72, Formula::Intended).after.makespan, 8190.0);
        assert_eq!(paper(&q72, Formula::AsPrinted).after.makespan, 17.0);
    }

    /// Tables 2 and 3: seconds before and after, and the printed speed-ups. Two of Table 3 are misprints.
    #[test]
    fn the_papers_speedups_are_the_ratios_of_its_seconds() {
        let spark =
            [(212.36, 26.0, 8.17), (89.0, 25.0, 3.61), (849.0, 780.0, 1.09), (298.0, 144.0, 2.07)];
        let presto = [(338.0, 64.0, 5.28), (1126.0, 19.0, 59.3), (314.0, 43.0, 7.3)];
        for (before, after, printed) in spark.into_iter().chain(presto) {
            let whole = graph(&[(before - after, after, &[])]);
            let ideal = Device::by_name("ideal").unwrap();
            let found = estimate(&whole, ideal, Setup::Always, Formula::Intended, Slots::Unlimited);
            assert!((found.speedup / printed - 1.0).abs() < 0.015, "{} {printed}", found.speedup);
        }
        // The paper prints 6.1 and 2.05.
        for (before, after, recomputed) in [(719.0, 125.0, 5.75), (1555.0, 821.0, 1.89)] {
            let ratio: f64 = before / after;
            assert!((ratio - recomputed).abs() < 0.005, "{ratio}");
        }
    }

    #[test]
    fn a_stage_that_would_be_slower_can_stay() {
        let short = graph(&[(0.5, 1.0, &[])]);
        let device = Device::by_name("icpe-2020").unwrap();
        let with = |setup| estimate(&short, device, setup, Formula::Intended, Slots::Unlimited);
        assert_eq!(with(Setup::Always).after.makespan, 2.0);
        let stays = with(Setup::OnlyIfBeneficial);
        assert_eq!((stays.after.makespan, stays.stages[0].offloaded), (1.5, false));
    }

    /// The result of a stage is sent only if its scan is offloaded.
    #[test]
    fn what_the_device_sends_is_of_stages_that_it_scans() {
        let scan = Stage {
            wall_seconds: 10.0,
            thread_seconds: 10.0,
            scan_seconds: 5.0,
            result_bytes: 1e6,
            ..Stage::default()
        };
        let after = Stage { id: 1, after: vec![0], result_bytes: 9e9, ..Stage::default() };
        let graph = StageGraph::new(vec![scan, after]).unwrap();
        let slow = Device {
            setup: Duration::from_secs(100),
            ..Device::by_name("icpe-2020").unwrap().clone()
        };
        let sent = |setup| estimate(&graph, &slow, setup, Formula::Intended, Slots::Unlimited).sent;
        assert_eq!(
            (sent(Setup::Always), sent(Setup::OnlyIfBeneficial)),
            (Bytes(1_000_000), Bytes(0))
        );
    }

    /// Ten seconds of scans, five of aggregates and five of joins, of which the device takes more and more.
    #[test]
    fn operations_beyond_the_papers_take_more() {
        use Operation::{Aggregate, Decode, Filter};
        let stage = Stage {
            wall_seconds: 22.0,
            thread_seconds: 22.0,
            scan_seconds: 8.0,
            filter_project_seconds: 2.0,
            aggregate_seconds: 5.0,
            semi_joins: vec![SemiJoin { build_bytes: 3e6, seconds: 4.0, dropped_bytes: 2e9 }],
            scanned_bytes: 9e9,
            result_bytes: 3e9,
            aggregate_dropped_bytes: 9e8,
            ..Stage::default()
        };
        let graph = StageGraph::new(vec![stage]).unwrap();
        let device = Device::by_name("icpe-2020-what-if").unwrap();
        let with = |operations: &[Operation]| {
            let offloads = Offloads::try_from(operations.to_vec()).unwrap();
            let device = Device { offloads, ..device.clone() };
            let found =
                estimate(&graph, &device, Setup::Always, Formula::Intended, Slots::Unlimited);
            (found.after.makespan, found.sent)
        };
        // The link sends 3 GB/s: what is left, a second of set-up, and the transfer.
        assert_eq!(with(&[Decode]), (14.0 + 1.0 + 3.0, Bytes(9_000_000_000)));
        assert_eq!(with(&[Decode, Filter]), (12.0 + 1.0 + 1.0, Bytes(3_000_000_000)));
        let (seconds, sent) = with(&[Decode, Filter, Aggregate]);
        assert!((seconds - (7.0 + 1.0 + 0.7)).abs() < 1e-9, "{seconds}");
        assert_eq!(sent, Bytes(2_100_000_000));
        // The small table is sent first, in a millisecond.
        let (seconds, sent) = with(&Operation::ALL);
        assert!((seconds - (3.0 + 1.0 + 0.001 + 0.1 / 3.0)).abs() < 1e-6, "{seconds}");
        assert_eq!(sent, Bytes(100_000_000));
        let paper = Device::by_name("icpe-2020").unwrap();
        let found = estimate(&graph, paper, Setup::Always, Formula::Intended, Slots::Unlimited);
        assert_eq!(found.after.makespan, 14.0);
    }

    #[test]
    fn amdahls_law_is_on_the_clock_of_the_critical_path() {
        // A scan of 10 seconds beside one second of many threads: by thread time, Amdahl's law would give 1.10.
        let stage = |id, wall_seconds, thread_seconds, scan_seconds| Stage {
            id,
            wall_seconds,
            thread_seconds,
            scan_seconds,
            ..Stage::default()
        };
        let of = |stages: Vec<Stage>| {
            let ideal = Device::by_name("ideal").unwrap();
            let graph = StageGraph::new(stages).unwrap();
            estimate(&graph, ideal, Setup::Always, Formula::Intended, Slots::Unlimited)
        };
        let beside = of(vec![stage(0, 10.0, 10.0, 10.0), stage(1, 1.0, 100.0, 0.0)]);
        assert_eq!((beside.speedup, beside.bound, beside.amdahl), (10.0, 10.0, f64::INFINITY));
        // The wait of scans is shortened as well: by thread time, Amdahl's law would give 2.
        let waits = Stage { wait_seconds: 8.0, ..stage(0, 10.0, 2.0, 1.0) };
        let waits = of(vec![waits]);
        assert!((waits.speedup - 10.0).abs() < 1e-9);
        assert_eq!((waits.bound, waits.amdahl), (waits.speedup, waits.speedup));
    }

    #[test]
    fn what_rounding_leaves_of_a_stage_takes_no_time() {
        let stage = Stage {
            wall_seconds: 1.0,
            thread_seconds: 0.3,
            scan_seconds: 0.1,
            filter_project_seconds: 0.2 - 1e-16,
            ..Stage::default()
        };
        let graph = StageGraph::new(vec![stage]).unwrap();
        let ideal = Device::by_name("ideal").unwrap();
        let found = estimate(&graph, ideal, Setup::Always, Formula::Intended, Slots::Unlimited);
        assert_eq!((found.speedup, found.bound), (f64::INFINITY, f64::INFINITY));
        assert_eq!(found.after.makespan, 0.0);
    }

    fn graphs() -> impl Strategy<Value = StageGraph> {
        // Some stages do nothing but scan.
        let rest = prop_oneof![Just(0.0), 0.0..10.0f64];
        let stage = (0.0..10.0f64, rest, proptest::collection::vec(0u64..8, 0..3));
        proptest::collection::vec(stage, 1..8).prop_map(|stages| {
            let after: Vec<Vec<u64>> = (0u64..)
                .zip(&stages)
                .map(|(id, (_, _, after))| after.iter().copied().filter(|it| *it < id).collect())
                .collect();
            let all: Vec<_> = stages
                .iter()
                .zip(&after)
                .map(|((sfp, rest, _), after)| (*sfp, *rest, after.as_slice()))
                .collect();
            graph(&all)
        })
    }

    proptest! {
        #[test]
        fn bounds_are_ordered_and_better_devices_are_not_slower(
            graph in graphs(), setup in 0.0..3.0f64, rate in 1e6..1e9f64, slots in 1usize..5,
            read in 0.0..1e9f64, threads in 1.0..100.0f64, waits in 0.0..10.0f64,
        ) {
            // Every second stage has several threads, and scans wait, so that shares of thread time differ from
            // shares of elapsed time.
            let stages = graph.stages().iter().map(|stage| {
                let threads = if stage.id % 2 == 0 { threads } else { 1.0 };
                Stage {
                    read_bytes: read,
                    result_bytes: read / 10.0,
                    thread_seconds: stage.thread_seconds * threads,
                    scan_seconds: stage.scan_seconds * threads,
                    wait_seconds: if stage.scan_seconds > 0.0 { waits } else { 0.0 },
                    ..stage.clone()
                }
            });
            let graph = StageGraph::new(stages.collect()).unwrap();
            let device = |setup: f64, rate: f64| Device {
                setup: Duration::from_secs_f64(setup),
                media: BytesPerSecond(rate),
                link: BytesPerSecond(rate),
                ..Device::by_name("ideal").unwrap().clone()
            };
            let number = NonZeroUsize::new(slots).unwrap();
            let of = |device: &Device, policy, slots| {
                estimate(&graph, device, policy, Formula::Intended, slots)
            };
            let now = of(&device(setup, rate), Setup::Always, Slots::Finite(number));
            prop_assert!(now.speedup <= now.bound * (1.0 + 1e-6));
            prop_assert!(now.bound <= now.amdahl * (1.0 + 1e-6));
            let ideal = of(&device(0.0, 1e18), Setup::Always, Slots::Unlimited);
            prop_assert!(ideal.speedup <= ideal.bound * (1.0 + 1e-6));
            let slack = 1e-6;
            prop_assert!(now.after.critical_seconds <= now.after.makespan + slack);
            prop_assert!(now.after.makespan <= now.after.graham_bound(number) + slack);
            prop_assert!(now.unlimited.makespan <= now.after.makespan + slack);
            let free = |device: &Device, policy| of(device, policy, Slots::Unlimited).after.makespan;
            let here = free(&device(setup, rate), Setup::Always);
            prop_assert!(free(&device(setup / 2.0, rate), Setup::Always) <= here + slack);
            prop_assert!(free(&device(setup, rate * 2.0), Setup::Always) <= here + slack);
            prop_assert!(free(&device(setup, rate), Setup::OnlyIfBeneficial) <= here + slack);
            let measured = of(&device(setup, rate), Setup::OnlyIfBeneficial, Slots::Unlimited);
            prop_assert!(measured.after.makespan <= measured.before.makespan + slack);
            prop_assert!(measured.speedup <= measured.bound * (1.0 + slack));
        }
    }
}
