//! Section 6: BigData A and B in one switch.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Completion, Testbed};
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::deployment::Flow;
use sluicegate_pruning::deployment::pack::{Query, pack};
use sluicegate_pruning::switch::{Placement, Program, Target, fit};

use super::completion::provenance;
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// The filter of A beside the sums of B.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/ab",
    title: "BigData A, B and A+B in one pipeline",
    place: "Cheetah §6",
    method: Method::Computed(compute),
};

/// Packs queries of flows of their own into one program, and places it on a Tofino 1.
fn placed(programs: &[&Program]) -> Option<Placement> {
    let flows: Vec<[Flow; 1]> =
        (1_u16..).take(programs.len()).map(|fid| [Flow::from(fid)]).collect();
    let queries: Vec<Query<'_>> =
        programs.iter().zip(&flows).map(|(program, flows)| Query { program, flows }).collect();
    fit(&pack("A+B", &queries).ok()?, &Target::tofino1()).ok()
}

/// The placements of A, B and both, each behind the table that tells flows apart.
fn placements() -> Option<[Placement; 3]> {
    let of =
        |algorithm: Algorithm| Some(algorithm.configure(&Parameters::default()).ok()?.program());
    let (filter, sums) = (of(Algorithm::Filter)?, of(Algorithm::GroupSum)?);
    Some([placed(&[&filter])?, placed(&[&sums])?, placed(&[&sums, &filter])?])
}

fn compute() -> Outcome {
    let mut outcome = Outcome::default();
    let placements = placements();
    let [_, sums, both] = match &placements {
        Some([a, b, both]) => [Some(a), Some(b), Some(both)],
        None => [None; 3],
    };
    let stages = |it: Option<&Placement>| it.map_or(0, |it| it.stages.len());
    let alus = |it: Option<&Placement>| it.map_or(0, Placement::stateful_alus);
    let bits = |it: Option<&Placement>| it.map_or(0, |it| it.register_bits);
    let found = format!(
        "{} stages, {} ALUs and {} bits; with the filter {}, {} and {}",
        stages(sums),
        alus(sums),
        bits(sums),
        stages(both),
        alus(both),
        bits(both),
    );
    let holds = both.is_some()
        && stages(both) == stages(sums)
        && alus(both) == alus(sums) + 1
        && bits(both) == bits(sums) + 32;
    outcome.decide("C12", found, holds);
    outcome.note(
        "both are behind a table that tells flows apart: two queries over different tables must not see each other's \
         packets",
    );
    let names = ["A: filter", "B: SUM by group", "A+B"];
    let row = |(name, it): (&str, &Placement)| {
        let numbers = [it.stages.len() as u64, it.stateful_alus() as u64, it.register_bits];
        [vec![name.to_owned()], numbers.map(|it| it.to_string()).to_vec()].concat()
    };
    outcome.tables.push(Table {
        title: "Resources on a Tofino 1".to_owned(),
        columns: vec!["queries", "stages", "stateful ALUs", "bits of registers"],
        rows: names.into_iter().zip(placements.iter().flatten()).map(row).collect(),
        provenance: Provenance::Counted,
    });
    add_times(&mut outcome);
    outcome
}

/// Adds the completion times of A, B, and both one after the other.
fn add_times(outcome: &mut Outcome) {
    let testbed = Testbed::cheetah();
    let setup = testbed.setup();
    let (Some(a), Some(b)) = (testbed.query("BigData A"), testbed.query("BigData B")) else {
        return;
    };
    let both = testbed.together([a, b], &setup);
    let times = [("A", testbed.pruned(a, &setup)), ("B", testbed.pruned(b, &setup)), ("A+B", both)];
    let seconds = |it: &Completion| it.total().as_secs_f64();
    outcome.tables.push(Table {
        title: "Seconds of A, B, and both in one run".to_owned(),
        columns: vec!["queries", "seconds"],
        rows: times
            .iter()
            .map(|(name, it)| vec![(*name).to_owned(), format!("{:.3}", seconds(it))])
            .collect(),
        provenance: provenance(),
    });
    let bar = |(name, it): &(&str, Completion)| Bar {
        name: (*name).to_owned(),
        lengths: vec![seconds(it)],
    };
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: vec!["seconds".to_owned()],
            bars: times.iter().map(bar).collect(),
            is_stacked: true,
        },
        provenance: provenance(),
    });
}
