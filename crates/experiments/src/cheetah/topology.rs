//! Section 9: several switches.

use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::deployment::topology::Tree;
use sluicegate_pruning::rng::Rng;
use sluicegate_pruning::{Entries, Selection, first_id};

use super::sweep::percent;
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// Leaf switches, each before a part of the workers, and one before the master.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/topology",
    title: "What reaches the master through a tree of switches",
    place: "Cheetah §9",
    method: Method::Computed(compute),
};

const LEAVES: [usize; 4] = [0, 2, 4, 8];
const ENTRIES: usize = 40_000;
const KEYS: u64 = 4_000;
const BATCH: usize = 1_000;
const ALGORITHMS: [Algorithm; 3] =
    [Algorithm::Distinct, Algorithm::GroupBy, Algorithm::TopNRandomized];

fn parameters(algorithm: Algorithm) -> Parameters {
    let key_bits = (algorithm == Algorithm::Distinct).then_some(32);
    Parameters {
        rows: Some(256),
        columns: Some(2),
        key_bits,
        n: (algorithm == Algorithm::TopNRandomized).then_some(20),
        ..Parameters::default()
    }
}

/// The key, then the value of each entry; keys are skewed.
fn stream() -> [Vec<u32>; 2] {
    let mut rng = Rng::new(17);
    let mut skewed = || (0..3).map(|_| rng.below(KEYS)).min().unwrap_or(0) as u32 + 1;
    let keys = (0..ENTRIES).map(|_| skewed()).collect();
    let mut rng = Rng::new(18);
    [keys, (0..ENTRIES).map(|_| rng.below(1 << 30) as u32).collect()]
}

/// Returns the share of the entries that passes a tree with this many leaves, or one switch without any.
fn passed(algorithm: Algorithm, leaves: usize, stream: &[Vec<u32>; 2]) -> Option<f64> {
    let configured = algorithm.configure(&parameters(algorithm)).ok()?;
    let mut root = configured.pruner();
    let columns = &stream[match (algorithm, root.values()) {
        (Algorithm::TopNRandomized, _) => 1..2,
        (_, 1) => 0..1,
        _ => 0..2,
    }];
    let mut tree = match leaves {
        0 => None,
        _ => Some(
            Tree::new((0..leaves).map(|_| configured.pruner()).collect(), configured.pruner())
                .ok()?,
        ),
    };
    let (mut selection, mut left) = (Selection::new(), 0);
    for (number, start) in (0..ENTRIES).step_by(BATCH).enumerate() {
        let end = ENTRIES.min(start + BATCH);
        let slices: Vec<&[u32]> = columns.iter().map(|column| &column[start..end]).collect();
        let id = first_id(0).wrapping_add(u32::try_from(start).ok()?);
        let entries = Entries::new(0, id, &slices).ok()?;
        match &mut tree {
            Some(tree) => tree.prune(number % leaves, &entries, &mut selection).ok()?,
            None => root.prune(&entries, &mut selection).ok()?,
        }
        left += selection.iter().count();
    }
    Some(left as f64 / ENTRIES as f64)
}

fn compute() -> Outcome {
    let stream = stream();
    let shares = |algorithm| LEAVES.map(|leaves| passed(algorithm, leaves, &stream).unwrap_or(1.0));
    let all = ALGORITHMS.map(|algorithm| (algorithm, shares(algorithm)));
    let mut outcome = Outcome::default();
    let fewer = all.iter().all(|(_, [one, two, ..])| two < one);
    let found = all.iter().map(|(algorithm, [one, two, ..])| {
        format!("{} {} instead of {}", algorithm.name(), percent(*two), percent(*one))
    });
    outcome.decide("C44", found.collect::<Vec<_>>().join(", "), fewer);
    if !fewer {
        outcome
            .note("a tree has more memory, but some algorithm forwards no fewer of these entries");
    }
    outcome.tables.push(Table {
        title: format!(
            "Shares of {ENTRIES} entries that reach the master, by the leaves of the tree"
        ),
        columns: vec!["algorithm", "one switch", "2 leaves", "4 leaves", "8 leaves"],
        rows: all
            .iter()
            .map(|(algorithm, shares)| {
                [vec![algorithm.name().to_owned()], shares.map(percent).to_vec()].concat()
            })
            .collect(),
        provenance: Provenance::Counted,
    });
    let line = |(algorithm, shares): &(Algorithm, [f64; 4])| {
        Line::new(algorithm.name(), LEAVES.iter().map(|it| *it as f64).zip(*shares))
    };
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: Axis::linear("leaf switches"),
        y: Axis::linear("share of the entries"),
        marks: Marks::Lines(all.iter().map(line).collect()),
        provenance: Provenance::Counted,
    });
    outcome
}
