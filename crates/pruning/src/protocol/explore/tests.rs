use super::*;
use crate::protocol::{Gap, OnReboot, Recovery, SmallPruner};

type Row = (u8, u64, u64);

fn run(query: Query, rules: Rules, rows: &[&[Row]], faults: [u8; 3]) -> Exploration {
    let entry = |&(table, key, value): &Row| Entry { pass: 0, table, key, value };
    let rows: Vec<Vec<Entry>> = rows.iter().map(|rows| rows.iter().map(entry).collect()).collect();
    let [losses, duplicates, reboots] = faults;
    let budget = Budget { losses, duplicates, reboots, states: 400_000 };
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

    // The class of the algorithm: going on with an empty filter, or with lost counts.
    let go_on = Rules { on_reboot: Some(OnReboot::Continue), ..REPAIRED };
    wrong(Query::Join, go_on, &[&[(0, 1, 0), (1, 1, 0)]], [0, 0, 1]);
    let between = [(0, 1, 3), (0, 2, 1), (0, 1, 3)];
    wrong(Query::HavingSum { above: 5 }, go_on, &[&between], [0, 0, 1]);

    // Replay: an insertion that was skipped is missing from the filter.
    let once = Rules { replay: false, ..REPAIRED };
    wrong(Query::Join, once, &[&[(0, 1, 0), (1, 1, 0)]], [0, 0, 0]);
    // Where the switch waits instead, each is inserted in its turn.
    safe(
        Query::Join,
        Rules { gap: Gap::Wait, recovery: Recovery::Zero, ..once },
        &[&[(0, 1, 0), (1, 1, 0)]],
        [1, 0, 0],
    );
}
