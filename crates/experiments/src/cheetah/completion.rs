//! The completion times of Figures 5 to 9 as tables and charts.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Case, Completion, Figure, System, Testbed};

use crate::chart::{Axis, Bar, Line, Marks};
use crate::{Chart, Results, ResultsError, Table};

/// The parts of a completion time, in the order in which they follow each other.
const PARTS: [&str; 5] = ["rules", "workers", "network", "master", "drain"];

/// Returns the points of a figure on the paper's testbed.
pub(super) fn cases(figure: Figure) -> Vec<Case> {
    let testbed = Testbed::cheetah();
    figure.cases(testbed, &testbed.setup())
}

/// The provenance of these times.
pub(super) fn provenance() -> Provenance {
    Provenance::Modelled(Testbed::cheetah().name.clone().into())
}

/// Returns the seconds of the parts.
fn parts(completion: &Completion) -> [f64; 5] {
    let Completion { rules, workers, network, master, drain } = *completion;
    [rules, workers, network, master, drain].map(|part| part.as_secs_f64())
}

/// Returns the points of a figure as a table.
pub(super) fn table(figure: Figure, cases: &[Case]) -> Table {
    let row = |case: &Case| {
        let mut row =
            vec![case.query.clone(), case.system.name().to_owned(), case.value.to_string()];
        row.extend(parts(&case.completion).map(|part| format!("{part:.3}")));
        row.push(format!("{:.3}", case.completion.total().as_secs_f64()));
        row
    };
    // The axis of Figure 5 is the query.
    let axis = if figure == Figure::Queries { "number" } else { figure.axis() };
    let mut columns = vec!["query", "system", axis];
    columns.extend(PARTS);
    columns.push("seconds");
    Table {
        title: format!("Seconds of Figure {}", figure.number()),
        columns,
        rows: cases.iter().map(row).collect(),
        provenance: provenance(),
    }
}

/// Returns the points of a figure as bars with a part each, which `name` names.
pub(super) fn bars(title: &str, cases: &[Case], name: impl Fn(&Case) -> String) -> Chart {
    let bar = |case: &Case| Bar { name: name(case), lengths: parts(&case.completion).to_vec() };
    Chart {
        title: title.to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: PARTS.map(str::to_owned).to_vec(),
            bars: cases.iter().map(bar).collect(),
            is_stacked: true,
        },
        provenance: provenance(),
    }
}

/// Returns the points of a figure as a line for each query and system.
pub(super) fn lines(title: &str, x: Axis, cases: &[Case]) -> Chart {
    let has_systems = cases.iter().any(|case| case.system == System::Keeping);
    let name = |case: &Case| match has_systems {
        true => format!("{} {}", case.system.name(), case.query),
        false => case.query.clone(),
    };
    let mut lines: Vec<Line> = Vec::new();
    for case in cases {
        let (name, seconds) = (name(case), case.completion.total().as_secs_f64());
        let point = [case.value, seconds, seconds, seconds];
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { points: vec![point], ..Line::new(name, []) }),
        }
    }
    Chart {
        title: title.to_owned(),
        x,
        y: Axis::linear("seconds"),
        marks: Marks::Lines(lines),
        provenance: provenance(),
    }
}

/// The time of a query, as `switch time` prints it.
#[derive(Debug, Deserialize)]
pub(super) struct Seconds {
    pub(super) query: String,
    pub(super) seconds: f64,
}

/// Reads the times of a run of `switch time`.
pub(super) fn seconds_of(results: &Results, run: &str) -> Result<Vec<Seconds>, ResultsError> {
    results.output(run)
}
