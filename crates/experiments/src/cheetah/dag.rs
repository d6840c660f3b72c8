//! Section 9: a graph of workers, whose edges share a switch.

use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::deployment::topology::Dag;
use sluicegate_pruning::switch::{Placement, Program, Target, fit};

use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// Two scans that are joined, and a top-N behind: each edge has a port and a program.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/dag",
    title: "A graph of workers, and the program of the switch between them",
    place: "Cheetah §9",
    method: Method::Computed(compute),
};

/// The edges: from, to, port and algorithm.
const EDGES: [(u32, u32, u16, Algorithm); 4] = [
    (0, 2, 1, Algorithm::Filter),
    (1, 2, 2, Algorithm::Distinct),
    (2, 3, 3, Algorithm::GroupBy),
    (3, 4, 4, Algorithm::TopNRandomized),
];

fn program(algorithm: Algorithm) -> Option<Program> {
    let columns = (algorithm == Algorithm::GroupBy).then_some(4);
    let key_bits = (algorithm == Algorithm::Distinct).then_some(32);
    let given = Parameters { columns, key_bits, ..Parameters::default() };
    Some(algorithm.configure(&given).ok()?.program())
}

fn place(program: &Program) -> Option<Placement> {
    fit(program, &Target::tofino1()).ok()
}

/// Returns the graph, and whether it refuses an edge that closes a cycle.
fn graph() -> Option<(Dag, bool)> {
    let mut dag = Dag::new();
    for (from, to, port, algorithm) in EDGES {
        dag.edge(from, to, port, program(algorithm)?).ok()?;
    }
    let closing = dag.edge(4, 0, 5, program(Algorithm::Filter)?);
    Some((dag, closing.is_err()))
}

fn compute() -> Outcome {
    let numbers = |name: String, placed: Option<&Placement>| {
        let mut row = vec![name];
        row.extend(match placed {
            Some(it) => [
                it.stages.len().to_string(),
                it.stateful_alus().to_string(),
                (it.register_bits / 8192).to_string(),
            ],
            None => ["does not fit", "", ""].map(str::to_owned),
        });
        row
    };
    let alone = EDGES.map(|(from, to, port, algorithm)| {
        let name = format!("{from} to {to}, port {port}: {}", algorithm.name());
        (name, program(algorithm).and_then(|it| place(&it)))
    });
    let together = graph().and_then(|(dag, _)| place(&dag.program("graph").ok()?));
    let refuses = graph().is_some_and(|(_, refuses)| refuses);
    let mut rows: Vec<Vec<String>> =
        alone.iter().map(|(name, placed)| numbers(name.clone(), placed.as_ref())).collect();
    rows.push(numbers("all edges in one switch".to_owned(), together.as_ref()));
    let cycle = if refuses { "refused" } else { "taken" };
    rows.push(vec![
        "an edge from 4 to 0, which closes a cycle".to_owned(),
        cycle.to_owned(),
        String::new(),
        String::new(),
    ]);
    let stages = |placed: Option<&Placement>| placed.map_or(0.0, |it| it.stages.len() as f64);
    let mut bars: Vec<Bar> = alone
        .iter()
        .map(|(name, placed)| Bar { name: name.clone(), lengths: vec![stages(placed.as_ref())] })
        .collect();
    bars.push(Bar { name: "all edges".to_owned(), lengths: vec![stages(together.as_ref())] });
    Outcome {
        tables: vec![Table {
            title: "Resources of each edge's program on a Tofino 1, alone and together".to_owned(),
            columns: vec!["edge", "stages", "stateful ALUs", "KiB of registers"],
            rows,
            provenance: Provenance::Counted,
        }],
        charts: vec![Chart {
            title: EXPERIMENT.title.to_owned(),
            x: Axis::linear("stages"),
            y: Axis::default(),
            marks: Marks::Bars { parts: vec!["stages".to_owned()], bars, is_stacked: true },
            provenance: Provenance::Counted,
        }],
        ..Outcome::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_fits_one_switch() {
        let (dag, refuses) = graph().unwrap();
        assert!(refuses);
        assert!(place(&dag.program("graph").unwrap()).is_some());
    }
}
