//! Section 9: several entries in a packet.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Setup, Testbed};
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::deployment::multi_entry::{LaneBy, multi_entry};
use sluicegate_pruning::rng::Rng;
use sluicegate_pruning::switch::{Interpreter, Packet, Target, fit};
use sluicegate_pruning::{Verdict, first_id};

use super::completion::provenance;
use super::sweep::percent;
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// The times are modelled, what is forwarded is counted.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/multi-entry",
    title: "Completion times and pruning with several entries in a packet",
    place: "Cheetah §9",
    method: Method::Computed(compute),
};

const COUNTS: [u8; 4] = [1, 2, 4, 8];
const ENTRIES: usize = 8_000;
const KEYS: u64 = 400;
/// Cells of each column of all lanes together.
const CELLS: u32 = 512;

fn compute() -> Outcome {
    let testbed = Testbed::cheetah();
    let seconds = |per_packet: u8| -> Vec<f64> {
        let setup = Setup { per_packet: per_packet.into(), ..testbed.setup() };
        let of = |query| testbed.pruned(query, &setup).total().as_secs_f64();
        testbed.queries.iter().map(of).collect()
    };
    let times = COUNTS.map(seconds);
    let [one, _, four, _] = &times;
    let mut outcome = Outcome::default();
    let ratios: Vec<f64> = one.iter().zip(four).map(|(one, four)| one / four).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    outcome.decide("C43", format!("{least:.2} to {most:.2} times as fast with 4"), least > 1.0);
    outcome.note(
        "packets with four entries are as long on the link as with one, which holds up to 64 bytes; a packet is \
         forwarded if one of its entries is. A lane for each entry prunes less: the second table",
    );
    let rows = testbed.queries.iter().enumerate().map(|(at, query)| {
        let mut row = vec![query.name.clone()];
        row.extend(times.iter().map(|times| format!("{:.3}", times[at])));
        row
    });
    outcome.tables.push(Table {
        title: "Seconds by the entries in a packet".to_owned(),
        columns: vec!["query", "1", "2", "4", "8"],
        rows: rows.collect(),
        provenance: provenance(),
    });
    outcome.tables.push(Table {
        title: format!(
            "Entries forwarded, and stages on a Tofino 1, of {ENTRIES} entries with {KEYS} keys"
        ),
        columns: vec!["algorithm", "lanes by", "1", "2", "4", "8", "stages with 4"],
        rows: [Algorithm::Distinct, Algorithm::GroupBy].into_iter().flat_map(counted).collect(),
        provenance: Provenance::Counted,
    });
    let line = |(at, query): (usize, &sluicegate_costmodel::completion::Query)| {
        let points = COUNTS.iter().zip(&times).map(|(count, times)| (f64::from(*count), times[at]));
        Line::new(query.name.clone(), points)
    };
    outcome.charts.push(Chart {
        title: "Completion times by the entries in a packet".to_owned(),
        x: Axis::linear("entries in a packet"),
        y: Axis::linear("seconds"),
        marks: Marks::Lines(testbed.queries.iter().enumerate().map(line).collect()),
        provenance: provenance(),
    });
    outcome
}

/// Returns a row for each way to choose an entry's lane: the shares that are forwarded.
fn counted(algorithm: Algorithm) -> Vec<Vec<String>> {
    let ways = [("position", LaneBy::Position), ("key", LaneBy::Values(1))];
    let row = |(name, lane_by): (&str, LaneBy)| {
        let mut row = vec![algorithm.name().to_owned(), name.to_owned()];
        let share =
            |count: u8| forwarded(algorithm, count, lane_by).map_or_else(String::new, percent);
        row.extend(COUNTS.map(share));
        row.push(
            stages(algorithm, lane_by).map_or_else(|| "do not fit".to_owned(), |it| it.to_string()),
        );
        row
    };
    ways.map(row).to_vec()
}

/// Returns the parameters of a lane, so that all lanes together have as many cells as one program.
fn lane(algorithm: Algorithm, count: u8) -> Parameters {
    let columns = if algorithm == Algorithm::GroupBy { 4 } else { 2 };
    Parameters {
        rows: Some(CELLS / u32::from(count)),
        columns: Some(columns),
        key_bits: Some(32),
        ..Parameters::default()
    }
}

fn stages(algorithm: Algorithm, lane_by: LaneBy) -> Option<usize> {
    let single = algorithm.configure(&lane(algorithm, 4)).ok()?.program();
    let program = multi_entry(&single, 4, lane_by).ok()?;
    Some(fit(&program, &Target::tofino1()).ok()?.stages.len())
}

/// Returns the share of the entries that is forwarded with `count` entries in a packet.
fn forwarded(algorithm: Algorithm, count: u8, lane_by: LaneBy) -> Option<f64> {
    let single = algorithm.configure(&lane(algorithm, count)).ok()?.program();
    let values = usize::from(single.values);
    let program = if count == 1 { single } else { multi_entry(&single, count, lane_by).ok()? };
    let mut switch = Interpreter::new(program).ok()?;
    let mut rng = Rng::new(9);
    let (mut left, per_packet) = (0_usize, usize::from(count));
    for packet in 0..ENTRIES / per_packet {
        let entries: Vec<u32> = (0..per_packet)
            .flat_map(|_| {
                let key = rng.below(KEYS).min(rng.below(KEYS)) as u32 + 1;
                [key, rng.below(1 << 20) as u32].into_iter().take(values)
            })
            .collect();
        let id = first_id(0).wrapping_add(u32::try_from(packet * per_packet).ok()?);
        let verdicts = switch.run_entries(&Packet::new(0, id, entries)).ok()?;
        left += verdicts.iter().filter(|it| **it == Verdict::Forward).count();
    }
    Some(left as f64 / ENTRIES as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_a_verdict() {
        for algorithm in [Algorithm::Distinct, Algorithm::GroupBy] {
            let [one, four] =
                [1, 4].map(|count| forwarded(algorithm, count, LaneBy::Position).unwrap());
            assert!(one < four && four < 1.0, "{algorithm}: {one} {four}");
            assert!(stages(algorithm, LaneBy::Position).is_some(), "{algorithm}");
        }
    }
}
