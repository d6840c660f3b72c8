//! Section 9: a graph of workers, whose edges share a switch.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use super::placed::Placed;
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// Two scans that are joined, and a top-N behind: each edge has a port and a program.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/dag",
    title: "A graph of workers, and the program of the switch between them",
    place: "Cheetah §9",
    method: Method::Live { runs, evaluate },
};

const RUN: &str = "graph";
const EDGES: [&str; 4] =
    ["0-2=filter", "1-2=distinct,key_bits=32", "2-3=group-by,w=4", "3-4=top-n-randomized"];

fn runs(_: &Setting) -> Vec<Run> {
    let arguments = [&["switch", "dag"], &EDGES[..], &["--format", "json"]].concat();
    vec![Run::command(RUN, &arguments)]
}

/// An edge, or all of them together.
#[derive(Debug, Deserialize)]
struct Edge {
    port: Option<u64>,
    from: Option<u64>,
    to: Option<u64>,
    program: String,
    #[serde(flatten)]
    placed: Placed,
}

impl Edge {
    /// The edge with the name of its program, whose parameters are in the table.
    fn short_name(&self) -> String {
        let program = self.program.split('(').next().unwrap_or_default().replace('_', " ");
        match (self.from, self.to) {
            (Some(from), Some(to)) => format!("{from} to {to}: {program}"),
            _ => "all in one switch".to_owned(),
        }
    }

    fn name(&self) -> String {
        match (self.from, self.to, self.port) {
            (Some(from), Some(to), Some(port)) => {
                format!("{from} to {to}, port {port}: {}", self.program)
            }
            _ => "all edges in one switch".to_owned(),
        }
    }
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let edges: Vec<Edge> = results.output(RUN)?;
    let row = |edge: &Edge| {
        let mut row = vec![edge.name(), edge.placed.fits.clone()];
        row.extend(edge.placed.cells());
        row
    };
    let bar = |edge: &Edge| Bar {
        name: edge.short_name(),
        lengths: vec![edge.placed.stages.map_or(0.0, |stages| stages as f64)],
    };
    Ok(Outcome {
        tables: vec![Table {
            title: "Resources of each edge's program on a Tofino 1, alone and together".to_owned(),
            columns: vec!["edge", "fits", "stages", "stateful ALUs", "KiB of registers", "rules"],
            rows: edges.iter().map(row).collect(),
            provenance: Provenance::Counted,
        }],
        charts: vec![Chart {
            title: EXPERIMENT.title.to_owned(),
            x: Axis::linear("stages"),
            y: Axis::default(),
            marks: Marks::Bars {
                parts: vec!["stages".to_owned()],
                bars: edges.iter().map(bar).collect(),
                is_stacked: true,
            },
            provenance: Provenance::Counted,
        }],
        ..Outcome::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    #[test]
    fn edges_are_listed_before_all_of_them() {
        let edge = |port: Option<u64>, stages: Option<u64>, fits: &str| {
            json!({"port": port, "from": port.map(|_| 0), "to": port, "program": "filter(…)", "fits": fits,
                "stages": stages, "stateful ALUs": stages, "register KiB": stages, "rules": stages})
        };
        let output =
            json!([edge(Some(1), Some(2), "yes"), edge(None, None, "no: needs 13 stages")]);
        let mut results = Results::default();
        results.insert(RUN, Record { output, ..Record::default() });
        let outcome = evaluate(&Setting::QUICK, &results).unwrap();
        let rows = &outcome.tables[0].rows;
        assert_eq!(rows[0][..3], ["0 to 1, port 1: filter(…)", "yes", "2"]);
        assert_eq!(rows[1][..3], ["all edges in one switch", "no: needs 13 stages", ""]);
        let Marks::Bars { bars, .. } = &outcome.charts[0].marks else { panic!("no bars") };
        let names: Vec<&str> = bars.iter().map(|bar| bar.name.as_str()).collect();
        assert_eq!(names, ["0 to 1: filter", "all in one switch"]);
    }
}
