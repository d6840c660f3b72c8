//! The completion times of Figures 5 to 9 as tables and charts.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Case, Completion, Figure, System, Testbed};

use crate::chart::{Axis, Bar, Line, Marks};
use crate::{Chart, Results, ResultsError, Table};

/// The parts of a completion time, in the order in which they follow each other.
const PARTS: [&str; 5] = ["rules", "workers", "network", "master", "drain"];
/// A remark on the figures of completion times.
pub(super) const NO_TIMES: &str =
    "The paper's text has no times of this figure, neither of Cheetah nor of Spark.";
/// The least share of a bar that is drawn.
const SEEN: f64 = 0.01;
/// The greatest difference of points of lines that are drawn as one.
const EQUAL: f64 = 0.01;

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

/// Returns the points of a figure as bars with a part each, which `name` names. Parts that are too short to be seen are
/// named in the title.
pub(super) fn bars(title: &str, cases: &[Case], name: impl Fn(&Case) -> String) -> Chart {
    let is_seen = |part: usize| {
        let share =
            |case: &Case| parts(&case.completion)[part] / case.completion.total().as_secs_f64();
        cases.iter().any(|case| share(case) >= SEEN)
    };
    let (seen, hidden): (Vec<usize>, Vec<usize>) =
        (0..PARTS.len()).partition(|&part| is_seen(part));
    let bar = |case: &Case| {
        let parts = parts(&case.completion);
        Bar { name: name(case), lengths: seen.iter().map(|&part| parts[part]).collect() }
    };
    let hidden: Vec<&str> = hidden.into_iter().map(|part| PARTS[part]).collect();
    Chart {
        title: match hidden.as_slice() {
            [] => title.to_owned(),
            hidden => format!(
                "{title}; below {:.0} % of each bar and not drawn: {}",
                100.0 * SEEN,
                hidden.join(", ")
            ),
        },
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: seen.iter().map(|&part| PARTS[part].to_owned()).collect(),
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
        true => format!("{}, {}", case.system.name(), case.query),
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
        marks: Marks::Lines(merged(lines)),
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

/// Returns lines of which none hides another: lines whose points differ by less than 1 % become one with both names.
/// `Cheetah, Distinct` and `Cheetah, GroupBy` become `Cheetah, Distinct and GroupBy`.
pub(super) fn merged(lines: Vec<Line>) -> Vec<Line> {
    let mut merged: Vec<Line> = Vec::new();
    for line in lines {
        let Some(there) = merged.iter_mut().find(|it| coincide(it, &line)) else {
            merged.push(line);
            continue;
        };
        let prefix = there.name.split_once(", ").map(|(prefix, _)| format!("{prefix}, "));
        let rest = prefix.and_then(|prefix| line.name.strip_prefix(&prefix));
        there.name = format!("{} and {}", there.name, rest.unwrap_or(&line.name));
    }
    merged
}

fn coincide(one: &Line, other: &Line) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= EQUAL * a.abs().max(b.abs());
    let pairs = || one.points.iter().zip(&other.points);
    one.is_published == other.is_published
        && one.points.len() == other.points.len()
        && pairs().all(|(a, b)| near(a[0], b[0]) && near(a[1], b[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_coincide_are_one_with_both_names() {
        let line = |name: &str, factor: f64| Line::new(name, [(1.0, factor), (2.0, 3.0 * factor)]);
        let lines = merged(vec![
            line("Cheetah, Distinct", 1.0),
            line("NetAccel, Distinct", 5.0),
            line("Cheetah, GroupBy", 1.001),
            line("TopN", 1.005),
        ]);
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["Cheetah, Distinct and GroupBy and TopN", "NetAccel, Distinct"]);
    }

    #[test]
    fn bars_have_no_parts_that_cannot_be_seen() {
        let cases = cases(Figure::Links);
        let chart = bars("Links", &cases, |case| case.query.clone());
        let Marks::Bars { parts, bars, .. } = &chart.marks else { panic!("no bars") };
        assert_eq!(parts, &["network"]);
        assert!(bars.iter().all(|bar| bar.lengths.len() == 1));
        let title = "Links; below 1 % of each bar and not drawn: rules, workers, master, drain";
        assert_eq!(chart.title, title);
    }
}
