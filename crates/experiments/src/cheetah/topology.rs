//! Section 9: several switches.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use super::sweep::percent;
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// Leaf switches, each before a part of the workers, and one before the master.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/topology",
    title: "What reaches the master through a tree of switches",
    place: "Cheetah §9",
    method: Method::Live { runs, evaluate },
};

/// The number of leaves of each tree; 0 is one switch.
const LEAVES: [u64; 4] = [0, 2, 4, 8];
/// The algorithms, with arguments of their own.
const ALGORITHMS: [(&str, &[&str]); 3] =
    [("distinct", &["--key-bits", "32"]), ("group-by", &[]), ("top-n-randomized", &["-n", "20"])];

fn runs(setting: &Setting) -> Vec<Run> {
    let input = setting.either(
        "generated:zipf:entries=40000:keys=4000",
        "generated:zipf:entries=400000:keys=4000",
    );
    let run = |(algorithm, more): (&str, &[&str])| {
        let mut arguments = vec!["switch", "topology", "--algorithm", algorithm, "--input", input];
        arguments.extend(["--leaves", "0,2,4,8", "-d", "256", "-w", "2"]);
        arguments.extend(more);
        arguments.extend(["--format", "json"]);
        Run::command(algorithm, &arguments)
    };
    ALGORITHMS.map(run).to_vec()
}

/// What a tree forwards.
#[derive(Debug, Deserialize)]
struct Tree {
    leaves: u64,
    entries: u64,
    past_leaves: Option<u64>,
    #[serde(rename = "forwarded_share")]
    forwarded: f64,
    answer: String,
}

impl Tree {
    /// Returns the share of the entries that passes the leaves.
    fn past_leaves(&self) -> String {
        let share = |passed| percent(passed as f64 / self.entries as f64);
        self.past_leaves.map_or_else(|| "-".to_owned(), share)
    }
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut all: Vec<(&str, Vec<Tree>)> = Vec::new();
    for (algorithm, _) in ALGORITHMS {
        all.push((algorithm, results.output(algorithm)?));
    }
    let share = |trees: &[Tree], leaves: u64| {
        trees.iter().find(|tree| tree.leaves == leaves).map_or(1.0, |tree| tree.forwarded)
    };
    let mut outcome = Outcome::default();
    let fewer = all.iter().all(|(_, trees)| share(trees, 2) < share(trees, 0));
    let found = all.iter().map(|(algorithm, trees)| {
        let [two, one] = [2, 0].map(|leaves| percent(share(trees, leaves)));
        format!("{algorithm} {two} instead of {one}")
    });
    outcome.decide("C44", found.collect::<Vec<_>>().join(", "), fewer);
    if !fewer {
        outcome
            .note("a tree has more memory, but some algorithm forwards no fewer of these entries");
    }
    let row = |algorithm: &str, tree: &Tree| {
        vec![
            algorithm.to_owned(),
            tree.leaves.to_string(),
            tree.entries.to_string(),
            tree.past_leaves(),
            percent(tree.forwarded),
            tree.answer.clone(),
        ]
    };
    outcome.tables.push(Table {
        title: "Shares of the entries that pass the leaves and that reach the master".to_owned(),
        columns: vec!["algorithm", "leaves", "entries", "past the leaves", "forwarded", "answer"],
        rows: all
            .iter()
            .flat_map(|(algorithm, trees)| trees.iter().map(|tree| row(algorithm, tree)))
            .collect(),
        provenance: Provenance::Counted,
    });
    let line = |(algorithm, trees): &(&str, Vec<Tree>)| {
        Line::new(*algorithm, LEAVES.map(|leaves| (leaves as f64, share(trees, leaves))))
    };
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: Axis::linear("leaf switches"),
        y: Axis::linear("share of the entries"),
        marks: Marks::Lines(all.iter().map(line).collect()),
        provenance: Provenance::Counted,
    });
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    #[test]
    fn a_tree_must_forward_less_than_one_switch() {
        let holds = |two: f64| {
            let mut results = Results::default();
            for (algorithm, _) in ALGORITHMS {
                let tree = |(leaves, share): (u64, f64)| {
                    let past = (leaves > 0).then_some(500);
                    json!({"leaves": leaves, "entries": 1000, "past_leaves": past, "forwarded_share": share,
                        "answer": "unchanged"})
                };
                let output = json!([(0, 0.2), (2, two), (4, 0.05), (8, 0.04)].map(tree));
                results.insert(algorithm, Record { output, ..Record::default() });
            }
            let outcome = evaluate(&Setting::QUICK, &results).unwrap();
            assert_eq!(outcome.tables[0].rows[1][3], "50.0 %");
            outcome.verdicts[0].holds
        };
        assert!(holds(0.1) && !holds(0.2));
    }
}
