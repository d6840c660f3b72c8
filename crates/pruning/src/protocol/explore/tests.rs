use super::*;
use crate::Ties;
use crate::algorithm::{distinct, filter, group_by, group_sum, having, join, skyline, top_n};
use crate::protocol::{Gap, OnReboot, Programmed, Recovery, SmallPruner};
use crate::switch::{Program, Relation};

type Row = (u8, u64, u64);

fn run(query: Query, rules: Rules, rows: &[&[Row]], faults: [u8; 3]) -> Exploration {
    let [losses, duplicates, reboots] = faults;
    let budget = Budget { losses, duplicates, reboots, ..Budget::faultless(1_000_000) };
    within(query, rules, rows, budget)
}

fn within(query: Query, rules: Rules, rows: &[&[Row]], budget: Budget) -> Exploration {
    let entry = |&(table, key, value): &Row| Entry { pass: 0, table, key, value };
    let rows: Vec<Vec<Entry>> = rows.iter().map(|rows| rows.iter().map(entry).collect()).collect();
    explore(query, rules, &rows, &SmallPruner::new(query), budget)
}

fn safe(query: Query, rules: Rules, rows: &[&[Row]], faults: [u8; 3]) {
    let found = run(query, rules, rows, faults);
    assert!(found.is_safe(), "{query:?} {rules:?} {faults:?}: {found:#?}");
}

fn wrong(query: Query, rules: Rules, rows: &[&[Row]], faults: [u8; 3]) -> Vec<String> {
    let found = run(query, rules, rows, faults);
    found.wrong_run.unwrap_or_else(|| panic!("{query:?} {rules:?} {faults:?} is never wrong"))
}

const REPAIRED: Rules = Rules::repaired();
/// The first row prunes the second.
const SURVIVORS: [(Query, [Row; 3]); 5] = [
    (Query::Filter { at_least: 5 }, [(0, 1, 7), (0, 2, 1), (0, 1, 7)]),
    (Query::Distinct, [(0, 1, 0), (0, 1, 0), (0, 2, 0)]),
    (Query::TopN { n: 1 }, [(0, 1, 7), (0, 2, 5), (0, 2, 7)]),
    (Query::GroupByMax, [(0, 1, 7), (0, 1, 5), (0, 2, 7)]),
    (Query::Skyline, [(0, 4, 4), (0, 3, 3), (0, 5, 1)]),
];

#[test]
fn repaired_survivors_are_safe_in_one_flow() {
    for (query, rows) in SURVIVORS {
        safe(query, REPAIRED, &[&rows[..2]], [2, 1, 2]);
        safe(query, REPAIRED, &[&rows], [1, 0, 1]);
        safe(query, Rules { gap: Gap::Wait, ..REPAIRED }, &[&rows], [1, 0, 1]);
    }
}

#[test]
fn repaired_survivors_are_safe_in_two_flows() {
    for (query, rows) in SURVIVORS {
        safe(query, REPAIRED, &[&rows[..1], &rows[1..2]], [2, 1, 1]);
    }
}

#[test]
fn repaired_join_and_having_are_safe() {
    let (a, b): (Row, Row) = ((0, 1, 0), (1, 1, 0));
    let having = Query::HavingSum { above: 5 };
    let (c, d): (Row, Row) = ((0, 1, 3), (0, 1, 3));
    for (query, first, second) in [(Query::Join, a, b), (having, c, d)] {
        for faults in [[1, 1, 1], [0, 0, 2]] {
            safe(query, REPAIRED, &[&[first, second]], faults);
        }
        safe(query, REPAIRED, &[&[first], &[second]], [1, 0, 1]);
    }
}

#[test]
fn forwarding_the_rest_is_always_safe() {
    let rules = Rules { on_reboot: Some(OnReboot::Forward), ..REPAIRED };
    safe(Query::Join, rules, &[&[(0, 1, 0), (1, 1, 0)]], [1, 0, 1]);
    safe(Query::HavingSum { above: 5 }, rules, &[&[(0, 1, 3), (0, 1, 3)]], [1, 0, 1]);
    safe(Query::Distinct, rules, &[&[(0, 1, 0), (0, 1, 0)]], [1, 1, 1]);
}

#[test]
fn paper_deadlocks_after_a_reboot() {
    let found = run(Query::Distinct, Rules::paper(), &[&[(0, 1, 0), (0, 2, 0)]], [0, 0, 1]);
    let stuck = found.stuck_run.unwrap();
    assert!(stuck.iter().any(|event| event.contains("reboots")), "{stuck:#?}");
    let found = run(Query::Distinct, Rules::paper(), &[&[(0, 1, 0), (0, 2, 0)]], [2, 1, 0]);
    assert_eq!(found.stuck, 0, "without a reboot it always ends");
}

#[test]
fn paper_counts_twice_when_an_acknowledgement_is_lost() {
    let query = Query::Filter { at_least: 5 };
    let lost = wrong(query, Rules::paper(), &[&[(0, 1, 7)]], [1, 0, 0]);
    assert!(lost.iter().any(|event| event.starts_with("ACK") && event.contains("lost")));
    wrong(Query::TopN { n: 2 }, Rules::paper(), &[&[(0, 1, 7), (0, 1, 5)]], [1, 0, 0]);
    wrong(query, Rules { deduplicate: false, ..REPAIRED }, &[&[(0, 1, 7)]], [1, 0, 0]);
}

#[test]
fn every_repair_is_needed() {
    // Epochs: two flows prune each other's lost entries, one before and one after the reboot.
    let adopt = Rules { recovery: Recovery::Adopt, ..REPAIRED };
    let twins: [&[Row]; 2] = [&[(0, 1, 0)], &[(0, 1, 0)]];
    let circle = wrong(Query::Distinct, adopt, &twins, [2, 1, 1]);
    assert!(circle.iter().any(|event| event.contains("reboots")), "{circle:#?}");
    safe(Query::Distinct, adopt, &twins, [2, 1, 0]);

    // The algorithm must not go on with an empty filter, or with lost counts.
    let go_on = Rules { on_reboot: Some(OnReboot::Continue), ..REPAIRED };
    wrong(Query::Join, go_on, &[&[(0, 1, 0), (1, 1, 0)]], [0, 0, 1]);
    let between = [(0, 1, 3), (0, 2, 1), (0, 1, 3)];
    wrong(Query::HavingSum { above: 5 }, go_on, &[&between], [0, 0, 1]);

    // Without replay, a skipped insertion is missing from the filter.
    let once = Rules { replay: false, ..REPAIRED };
    wrong(Query::Join, once, &[&[(0, 1, 0), (1, 1, 0)]], [0, 0, 0]);
    // If the switch waits instead, each entry is inserted in its turn.
    safe(
        Query::Join,
        Rules { gap: Gap::Wait, recovery: Recovery::Zero, ..once },
        &[&[(0, 1, 0), (1, 1, 0)]],
        [1, 0, 0],
    );
}

/// The switch must add an entry once, acknowledge copies, and return the sums. The first two rows are in one group;
/// the third row's group has no cell, or has the other.
#[test]
fn held_sums_are_neither_lost_nor_counted_twice() {
    let query = Query::GroupSum { cells: 1 };
    let rows = [(0, 1, 3), (0, 1, 4), (0, 2, 5)];
    safe(query, REPAIRED, &[&rows], [2, 1, 1]);
    safe(query, REPAIRED, &[&rows[..1], &rows[1..]], [1, 0, 1]);
    safe(query, REPAIRED, &[&[rows[0], rows[0], rows[0]]], [1, 1, 0]);
    // By the paper's rule a copy is forwarded unprocessed, though its value is in the sum.
    let paper = run(query, Rules::paper(), &[&rows[..2]], [1, 0, 0]);
    assert!(paper.wrong > 0, "{paper:#?}");
    // The sums of a rebooted switch are lost.
    let go_on = Rules { on_reboot: Some(OnReboot::Continue), ..REPAIRED };
    wrong(query, go_on, &[&rows[..2]], [0, 0, 1]);
    let forward = Rules { on_reboot: Some(OnReboot::Forward), ..REPAIRED };
    wrong(query, forward, &[&rows[..2]], [0, 0, 1]);
}

/// Workers that retransmit in step overflow the master's queue in the same way every time. In any other order all
/// packets arrive.
#[test]
fn a_queue_that_overflows_needs_timeouts_that_do_not_end_together() {
    let cases: [(Query, &[&[Row]]); 4] = [
        (Query::Join, &[&[], &[], &[]]),
        (Query::Distinct, &[&[], &[], &[]]),
        (Query::Distinct, &[&[(0, 1, 0)], &[(0, 2, 0)]]),
        (Query::GroupSum { cells: 1 }, &[&[(0, 1, 3)], &[(0, 2, 5)]]),
    ];
    for (query, rows) in cases {
        let explored = |queue, in_step| {
            let budget = Budget { queue: Some(queue), in_step, ..Budget::faultless(1_000_000) };
            within(query, REPAIRED, rows, budget)
        };
        let livelock = explored(1, true);
        assert!(livelock.stuck > 0 && livelock.correct == 0, "{query:?}: {livelock:#?}");
        let roomy = explored(3, true);
        assert!(roomy.is_safe(), "{query:?}: {roomy:#?}");
        let apart = explored(1, false);
        assert!(apart.is_safe(), "{query:?}: {apart:#?}");
    }
}

/// Three equal rows count three times, and a fourth copy makes the count wrong.
#[test]
fn equal_rows_are_counted_as_often_as_they_are() {
    let query = Query::Filter { at_least: 5 };
    let row = (0, 1, 7);
    for copies in [&[row, row][..], &[row, row, row]] {
        wrong(query, Rules::paper(), &[copies], [1, 0, 0]);
        safe(query, REPAIRED, &[copies], [1, 0, 1]);
    }
}

/// Returns every algorithm of the crate, at a size at which rows evict each other and collide.
pub(crate) fn programs() -> Vec<(&'static str, Query, Program)> {
    let distinct = |columns, width, policy| {
        distinct::Config::new(2, columns, width, policy).unwrap().program()
    };
    let group_by = |wide| {
        let extreme = group_by::Extreme::Max;
        group_by::Config::new(2, 1, extreme, Ties::Keep, wide).unwrap().program()
    };
    let points = |score| skyline::Config::new(2, 2, score, Ties::Keep).unwrap().program();
    let shape = join::Shape::new(join::Kind::Inner, join::Passes::Two, false);
    let at_least = filter::Formula::compare(0, Relation::Ge, 5);
    let filter = filter::Config::new(&at_least, 1, None).unwrap().program();
    let having = having::sum::Config::new(2, 2, 5, having::sum::Aggregate::Sum, false);
    let (bits32, bits64) = (distinct::Width::Bits32, distinct::Width::Bits64);
    let (lru, fifo) = (distinct::Policy::Lru, distinct::Policy::Fifo);
    let top_1 = Query::TopN { n: 1 };
    vec![
        ("filter", Query::Filter { at_least: 5 }, filter),
        ("distinct", Query::Distinct, distinct(1, bits32, lru)),
        ("distinct, 64 bits", Query::Distinct, distinct(1, bits64, lru)),
        ("distinct-fifo", Query::Distinct, distinct(2, bits32, fifo)),
        ("skyline-sum", Query::Skyline, points(skyline::Score::Sum)),
        ("skyline-aph", Query::Skyline, points(skyline::Score::Product)),
        ("skyline-baseline", Query::Skyline, points(skyline::Score::First)),
        ("top-n-deterministic", top_1, top_n::deterministic::Config::new(1, 2).unwrap().program()),
        (
            "top-n-randomized",
            top_1,
            top_n::randomized::Config::new(2, 1, Ties::Keep, 7).unwrap().program(),
        ),
        ("group-by", Query::GroupByMax, group_by(false)),
        ("group-by, 64 bits", Query::GroupByMax, group_by(true)),
        (
            "group-sum",
            Query::GroupSum { cells: 2 },
            group_sum::Config::new(2, 1).unwrap().program(),
        ),
        ("join-bloom", Query::Join, join::bloom::Config::new(shape, 4, 2).unwrap().program()),
        (
            "join-register-bloom",
            Query::Join,
            join::register_bloom::Config::new(shape, 2, 2, 4).unwrap().program(),
        ),
        ("having", Query::HavingSum { above: 5 }, having.unwrap().program()),
        (
            "having-extreme",
            Query::HavingMax { above: 5 },
            having::extreme::Config::new(Relation::Gt, 5, 2, 1).unwrap().program(),
        ),
    ]
}

/// Returns rows of which earlier ones make later ones superfluous, and rows that are all equal.
const fn rows(query: Query) -> [[Row; 3]; 2] {
    match query {
        Query::Join => [[(0, 1, 0), (1, 1, 0), (1, 2, 0)], [(0, 1, 0), (1, 1, 0), (1, 1, 0)]],
        Query::HavingSum { .. } => [[(0, 1, 3), (0, 1, 4), (0, 2, 5)], [(0, 1, 3); 3]],
        Query::Skyline => [[(0, 4, 4), (0, 3, 3), (0, 5, 1)], [(0, 4, 4); 3]],
        _ => [[(0, 1, 7), (0, 1, 6), (0, 2, 7)], [(0, 1, 7); 3]],
    }
}

fn explore_program(
    (name, query, program): &(&str, Query, Program),
    rules: Rules,
    rows: &[&[Row]],
    budget: Budget,
) -> Exploration {
    let entry = |&(table, key, value): &Row| Entry { pass: 0, table, key, value };
    let rows: Vec<Vec<Entry>> = rows.iter().map(|rows| rows.iter().map(entry).collect()).collect();
    let pruner = Programmed::new(*query, program.clone()).unwrap();
    let found = explore(*query, rules, &rows, &pruner, budget);
    println!("{name:<22} {:>9} states, {:>7} ends", found.states, found.correct + found.wrong);
    found
}

/// The variable that sets the number of states (such as 20000000). Then every program is explored over three rows
/// with two losses and a reboot, and with crashes, which takes minutes and some gigabytes.
const STATES_VARIABLE: &str = "SLUICEGATE_PROTOCOL_STATES";

fn most_states() -> Option<usize> {
    std::env::var(STATES_VARIABLE).ok().and_then(|states| states.parse().ok())
}

#[test]
fn every_program_is_safe_in_the_repaired_protocol() {
    let (length, losses) = if most_states().is_some() { (3, 2) } else { (2, 1) };
    let states = most_states().unwrap_or(1_000_000);
    let budget = Budget { losses, reboots: 1, ..Budget::faultless(states) };
    for program in programs() {
        for rows in rows(program.1) {
            let found = explore_program(&program, REPAIRED, &[&rows[..length]], budget);
            assert!(found.is_safe(), "{}: {found:#?}", program.0);
        }
    }
}

#[test]
fn programs_are_safe_when_workers_or_the_master_crash() {
    let none = Budget::faultless(most_states().unwrap_or(1_000_000));
    // One algorithm for each rule of the protocol.
    let few = ["filter", "distinct", "join-bloom", "having", "group-sum"];
    let of_all = |name: &str| most_states().is_some() || few.contains(&name);
    for program in programs().into_iter().filter(|(name, ..)| of_all(name)) {
        let [rows, _] = rows(program.1);
        for budget in [
            Budget { worker_crashes: 1, reboots: 1, ..none },
            Budget { worker_crashes: 1, losses: 1, ..none },
            Budget { master_crashes: 1, ..none },
            Budget { losses: 1, first_id: u32::MAX - 1, ..none },
        ] {
            let found = explore_program(&program, REPAIRED, &[&rows[..2]], budget);
            assert!(found.is_safe(), "{}, {budget:?}: {found:#?}", program.0);
        }
    }
}

/// Without a number of the query, packets of an earlier one are counted, or end the later one.
#[test]
fn crashes_need_their_repairs() {
    let count = programs().swap_remove(0);
    let crash = Budget { master_crashes: 1, ..Budget::faultless(1_000_000) };
    let rules = Rules { query_numbers: false, ..REPAIRED };
    let found = explore_program(&count, rules, &[&[(0, 1, 7), (0, 2, 8)]], crash);
    assert!(found.wrong + found.broken > 0, "{found:#?}");
}

/// Three crashes, two losses, a reboot and a late acknowledgement: two rows of one key are each dropped because the
/// other had passed, in different boots. The rows before them carry the new boot to their workers.
#[test]
fn a_crashed_worker_forgets_for_which_boot_it_first_sent_an_entry() {
    let run = |rules: Rules| -> bool {
        let row = |key| Entry { pass: 0, table: 0, key, value: 0 };
        let worker = |fid, rows: [Entry; 2]| {
            Worker::new(fid, rules, Query::Distinct, 0, Arc::from(rows.as_slice()))
        };
        let mut workers = [worker(0, [row(3), row(1)]), worker(1, [row(2), row(1)])];
        let mut switch = Switch::new(rules, Query::Distinct, 0, SmallPruner::new(Query::Distinct));
        let mut master = Master::new(rules, Query::Distinct, 2);
        // Returns the acknowledgement of the switch or, unless the packet is lost, of the master.
        let mut send = |packet: Packet, switch: &mut Switch<SmallPruner>, lost: bool| {
            let Packet::Entry { name, entry, .. } = packet else { return None };
            let stamp = switch.boot();
            if switch.on_entry(&name, &entry) == Action::Prune {
                return Some(Packet::Ack { name, stamp });
            }
            let mut replies = Vec::new();
            if !lost {
                master.on_entry(&name, &entry, stamp, &mut replies);
            }
            replies.pop()
        };
        let mut late = None;
        for worker in &mut workers {
            worker.next(9).unwrap();
            late = send(worker.next(9).unwrap(), &mut switch, true);
        }
        switch.reboot();
        for worker in workers.iter_mut().rev() {
            worker.crash();
            let first = send(worker.next(9).unwrap(), &mut switch, false).unwrap();
            worker.on_packet(&first);
            let second = send(worker.next(9).unwrap(), &mut switch, true);
            if let Some(second) = second {
                worker.on_packet(&second);
            }
        }
        workers[1].crash();
        let first = send(workers[1].next(9).unwrap(), &mut switch, false).unwrap();
        workers[1].next(9).unwrap();
        workers[1].on_packet(&first);
        workers[1].on_packet(&late.unwrap());
        workers.iter().all(|worker| worker.unacknowledged().next().is_none())
    };
    assert!(run(Rules { forget_after_crash: false, ..REPAIRED }), "key 1 is nowhere");
    assert!(!run(REPAIRED), "someone still asks");
}

/// Held sums are nowhere else: three rows, of which some are equal, two losses and a reboot.
#[test]
fn held_sums_of_the_program_are_safe() {
    let budget = Budget { reboots: 1, ..Budget::faultless(4_000_000) };
    let program = programs().into_iter().find(|(name, ..)| *name == "group-sum").unwrap();
    for rows in rows(program.1) {
        for (workers, losses) in [(&[&rows[..]][..], 2), (&[&rows[..1], &rows[1..]], 1)] {
            let budget = Budget { losses, ..budget };
            let found = explore_program(&program, REPAIRED, workers, budget);
            assert!(found.is_safe(), "{found:#?}");
        }
    }
}
