use proptest::prelude::*;

use super::*;
use crate::protocol::config::MOST_ROWS;
use crate::protocol::{Gap, Name, OnReboot, Query, Recovery, Rules};

/// The variable that sets the number of runs (such as 100000) for a longer test.
const RUNS_VARIABLE: &str = "SLUICEGATE_PROTOCOL_RUNS";

fn query() -> impl Strategy<Value = Query> {
    (0..Query::ALL.len(), 0u64..120, 1usize..12).prop_map(|(index, bound, n)| {
        match Query::ALL[index] {
            Query::Filter { .. } => Query::Filter { at_least: bound },
            Query::TopN { .. } => Query::TopN { n },
            Query::HavingSum { .. } => Query::HavingSum { above: 3 * bound },
            other => other,
        }
    })
}

/// Returns rules that must be as good as the repaired ones.
fn rules(query: Query) -> impl Strategy<Value = Rules> {
    let survives = query.on_reboot(0) == OnReboot::Continue;
    let on_reboot = prop_oneof![
        3 => Just(None),
        1 => Just(Some(if query.holds() { OnReboot::Restart } else { OnReboot::Forward })),
        1 => Just(Some(OnReboot::Restart)),
        1 => Just(survives.then_some(OnReboot::Continue)),
    ];
    let gap = prop_oneof![3 => Just(Gap::Skip), 1 => Just(Gap::Wait)];
    (on_reboot, gap).prop_map(|(on_reboot, gap)| Rules { on_reboot, gap, ..Rules::repaired() })
}

fn config() -> impl Strategy<Value = Config> {
    let bursts = prop_oneof![3 => Just(0), 1 => 0u64..40];
    let links = (0.0..0.4, 0.0..0.3, 0u64..5, 0u64..60, bursts);
    let link = links.prop_map(|(loss, duplication, min_delay, spread, burst)| Link {
        // A burst multiplies the losses.
        loss: if burst > 0 { loss / 20.0 } else { loss },
        duplication,
        min_delay,
        max_delay: min_delay + spread,
        burst,
    });
    let queue = prop_oneof![2 => Just(None), 1 => (1usize..20).prop_map(Some)];
    let first_id = prop_oneof![2 => Just(0), 1 => u32::MAX - 20..=u32::MAX];
    let reboots = prop_oneof![
        Just(Reboots::At(Vec::new())),
        (0u32..6, 1u64..2000).prop_map(|(count, until)| Reboots::Random { count, until }),
        prop::collection::vec(0u64..600, 0..4).prop_map(Reboots::At),
    ];
    let sizes = (1u16..6, 0usize..40, 1usize..20, 10u64..300, 0u64..30);
    let query = query().prop_flat_map(|query| (Just(query), rules(query)));
    (query, link, reboots, sizes, queue, first_id).prop_map(
        |((query, rules), link, reboots, sizes, queue, first_id)| {
            let (workers, rows, window, timeout, downtime) = sizes;
            Config {
                query,
                workers,
                rows,
                rules,
                link,
                window,
                timeout,
                reboots,
                downtime,
                patience: 500,
                queue,
                first_id,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn repaired_is_right_whatever_the_network_does(config in config(), seed: u64) {
        let report = simulate(&config, seed).unwrap();
        prop_assert_eq!(report.outcome, Outcome::Correct, "{:#?}", report);
        prop_assert!(report.sent >= report.retransmitted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn same_seed_same_run(config in config(), seed: u64) {
        prop_assert_eq!(simulate(&config, seed), simulate(&config, seed));
    }
}

/// Three workers without rows, on links without faults, send FINs, and the master has room for one. With a constant
/// timeout they would retransmit in step, and the same FIN would come through every time.
#[test]
fn workers_do_not_overflow_the_queue_in_step_for_ever() {
    for query in Query::ALL {
        for (workers, rows) in [(3, 0), (3, 1), (5, 10), (40, 0), (40, 3)] {
            for (timeout, window) in [(1, 1), (10, 1), (10, 20), (300, 8)] {
                let config = Config {
                    workers,
                    rows,
                    link: Link {
                        loss: 0.0,
                        duplication: 0.0,
                        min_delay: 0,
                        max_delay: 0,
                        burst: 0,
                    },
                    window,
                    timeout,
                    queue: Some(1),
                    reboots: Reboots::At(Vec::new()),
                    ..Config::new(query, Rules::repaired())
                };
                for seed in 0..5 {
                    let report = simulate(&config, seed).unwrap();
                    assert_eq!(report.outcome, Outcome::Correct, "{config:?}:\n{report}");
                }
            }
        }
    }
}

/// Counts the outcomes: correct, wrong, stuck.
fn outcomes(config: &Config, seeds: u64) -> [u64; 3] {
    let mut counts = [0; 3];
    for seed in 0..seeds {
        counts[simulate(config, seed).unwrap().outcome as usize] += 1;
    }
    counts
}

#[test]
fn repaired_has_no_wrong_answer_in_many_runs() {
    let runs = std::env::var(RUNS_VARIABLE).ok().and_then(|runs| runs.parse().ok()).unwrap_or(3500);
    let each = u64::max(runs / Query::ALL.len() as u64, 1);
    for query in Query::ALL {
        let mut totals = [0; 4];
        for seed in 0..each {
            let mut config = Config::new(query, Rules::repaired());
            config.reboots = Reboots::Random { count: (seed % 4) as u32, until: 1000 };
            let report = simulate(&config, seed).unwrap();
            assert_eq!(report.outcome, Outcome::Correct, "{query:?}, seed {seed}:\n{report}");
            let counts = [report.pruned, report.lost, report.duplicated, report.reboots];
            totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        assert!(totals.iter().all(|&total| total >= each), "{query:?} is not tested: {totals:?}");
    }
}

#[test]
fn paper_is_right_without_faults() {
    for query in Query::ALL {
        let mut config = Config::new(query, Rules::paper());
        config.link = Link { loss: 0.0, duplication: 0.0, min_delay: 1, max_delay: 1, burst: 0 };
        config.reboots = Reboots::At(Vec::new());
        assert_eq!(outcomes(&config, 50), [50, 0, 0], "{query:?}");
    }
}

#[test]
fn paper_gets_stuck_after_a_reboot() {
    let mut config = Config::new(Query::Distinct, Rules::paper());
    config.reboots = Reboots::At(vec![20]);
    let [correct, wrong, stuck] = outcomes(&config, 100);
    assert!(stuck >= 95, "{correct} {wrong} {stuck}");
    config.reboots = Reboots::At(Vec::new());
    assert_eq!(outcomes(&config, 100), [100, 0, 0], "DISTINCT without a reboot is right");
}

#[test]
fn paper_counts_entries_twice() {
    for query in [Query::Filter { at_least: 60 }, Query::TopN { n: 5 }, Query::Join] {
        let mut config = Config::new(query, Rules::paper());
        config.reboots = Reboots::At(Vec::new());
        let [correct, wrong, stuck] = outcomes(&config, 100);
        assert!(wrong >= 50 && stuck == 0, "{query:?}: {correct} {wrong} {stuck}");
        config.rules.deduplicate = true;
        assert_eq!(outcomes(&config, 100), [100, 0, 0], "{query:?} with de-duplication");
    }
}

#[test]
fn going_on_with_empty_state_is_wrong_for_join_and_having() {
    for query in [Query::Join, Query::HavingSum { above: 300 }] {
        let mut config = Config::new(query, Rules::repaired());
        // There are few entries in flight, which would all be forwarded and make candidates of their keys.
        (config.rows, config.workers, config.window) = (40, 2, 1);
        config.reboots = Reboots::Random { count: 1, until: 2000 };
        config.rules.on_reboot = Some(OnReboot::Continue);
        let [_, wrong, stuck] = outcomes(&config, 200);
        assert!(wrong >= 10 && stuck == 0, "{query:?}: {wrong} wrong, {stuck} stuck");
        for right in [OnReboot::Forward, OnReboot::Restart] {
            config.rules.on_reboot = Some(right);
            assert_eq!(outcomes(&config, 200), [200, 0, 0], "{query:?} {right:?}");
        }
    }
}

#[test]
fn adopting_a_sequence_number_without_epochs_is_not_enough() {
    let mut config = Config::new(Query::Distinct, Rules::repaired());
    config.rules.recovery = Recovery::Adopt;
    config.workers = 3;
    config.rows = 1;
    config.link = Link { loss: 0.5, duplication: 0.5, min_delay: 0, max_delay: 300, burst: 0 };
    config.reboots = Reboots::Random { count: 4, until: 1000 };
    let [_, wrong, _] = outcomes(&config, 6000);
    assert!(wrong > 0);
    config.rules.recovery = Recovery::Epoch;
    assert_eq!(outcomes(&config, 6000), [6000, 0, 0]);
}

#[test]
fn waiting_for_lost_packets_is_dear() {
    let mut config = Config::new(Query::Distinct, Rules::repaired());
    config.workers = 1;
    config.rows = 2000;
    config.window = 32;
    config.link = Link { loss: 0.1, duplication: 0.0, min_delay: 1, max_delay: 1, burst: 0 };
    config.reboots = Reboots::At(Vec::new());
    let mut sends = |gap| {
        config.rules.gap = gap;
        let report = simulate(&config, 1).unwrap();
        assert_eq!(report.outcome, Outcome::Correct);
        report.sends_per_row()
    };
    let (wait, skip) = (sends(Gap::Wait), sends(Gap::Skip));
    assert!(wait > 2.5 && skip < 1.5, "{wait} {skip}");
}

/// A window's burst meets a queue of two; packets without room are sent again.
#[test]
fn a_full_queue_costs_retransmissions_and_nothing_else() {
    let mut config = Config::new(Query::Filter { at_least: 0 }, Rules::repaired());
    config.link = Link { loss: 0.0, duplication: 0.0, min_delay: 1, max_delay: 1, burst: 0 };
    config.reboots = Reboots::At(Vec::new());
    let report = simulate(&config, 1).unwrap();
    assert_eq!((report.outcome, report.overflowed), (Outcome::Correct, 0));
    config.queue = Some(2);
    let report = simulate(&config, 1).unwrap();
    assert_eq!(report.outcome, Outcome::Correct);
    assert!(report.overflowed > 0 && report.retransmitted > 0, "{report}");
}

#[test]
fn a_burst_loses_what_follows_a_loss() {
    let lost = |burst| {
        let mut config = Config::new(Query::Distinct, Rules::repaired());
        config.link.burst = burst;
        config.link.loss = 0.01;
        let reports = (0..50).map(|seed| simulate(&config, seed).unwrap());
        reports
            .map(|report| {
                assert_eq!(report.outcome, Outcome::Correct);
                report.lost
            })
            .sum::<u64>()
    };
    assert!(lost(20) > 5 * lost(0), "{} {}", lost(20), lost(0));
}

#[test]
fn impossible_configurations_are_refused() {
    let good = Config::new(Query::Distinct, Rules::repaired());
    let check = |change: &dyn Fn(&mut Config)| {
        let mut config = good.clone();
        change(&mut config);
        simulate(&config, 0).unwrap_err()
    };
    assert_eq!(check(&|c| c.workers = 0), ConfigError::Zero("the number of workers"));
    assert_eq!(check(&|c| c.window = 0), ConfigError::Zero("the window"));
    assert_eq!(check(&|c| c.queue = Some(0)), ConfigError::Zero("the master's queue"));
    assert_eq!(check(&|c| c.link.loss = 1.0), ConfigError::Probability("loss"));
    assert_eq!(check(&|c| c.link.loss = f64::NAN), ConfigError::Probability("loss"));
    assert_eq!(check(&|c| c.link.min_delay = 21), ConfigError::Delays);
    // The check comes before rows are made, which would not fit into memory.
    assert_eq!(check(&|c| c.rows = usize::MAX), ConfigError::Rows(u64::MAX));
    assert_eq!(check(&|c| c.rows = u32::MAX as usize), ConfigError::Rows(3 * u64::from(u32::MAX)));
    let most = |c: &mut Config| (c.workers, c.rows) = (1, MOST_ROWS as usize + 1);
    assert_eq!(check(&most), ConfigError::Rows(MOST_ROWS + 1));
}

#[test]
fn other_pruners_can_be_plugged_in() {
    struct Everything;
    impl Pruner for Everything {
        fn prune(&mut self, _: &Name, _: &Entry) -> bool {
            true
        }
        fn reset(&mut self) {}
    }
    let config = Config::new(Query::Distinct, Rules::repaired());
    let rows = vec![vec![Entry { pass: 0, table: 0, key: 1, value: 1 }]];
    let report = simulate_with(&config, rows, Everything, 1).unwrap();
    assert_eq!((report.outcome, report.rows), (Outcome::Wrong, 1));
}
