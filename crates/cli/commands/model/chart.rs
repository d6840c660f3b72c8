//! Charts of seconds or dollars along an axis, with a line for each way.

use sluicegate_costmodel::uncertainty::Output;
use sluicegate_costmodel::{Objective, Provenance};

use super::prediction::{AxisPrediction, Case, QueryPrediction, at, strategies};
use crate::output::chart::{self, Axis, Chart, Line, Marks};

/// The longest title of a panel, in characters; the middle of a longer one is left out.
const TITLE: usize = 80;

/// Draws all sweeps of all operators, one panel below the other.
pub(super) fn svg(all: &[QueryPrediction]) -> String {
    let mut charts = Vec::new();
    for modelled in all {
        for case in &modelled.cases {
            for swept in &case.sweeps {
                let operators = 0..case.operators.len();
                charts.extend(operators.map(|it| chart(swept, modelled.objective, case, it)));
            }
        }
    }
    chart::svg(&charts)
}

/// Draws the sweep of an operator in characters; empty if it has no way that can be drawn.
pub(super) fn terminal(
    swept: &AxisPrediction,
    objective: Objective,
    case: &Case,
    operator: usize,
    colour: bool,
) -> String {
    chart::terminal(&chart(swept, objective, case, operator), colour)
}

/// Returns the lines of the ways with their intervals.
fn chart(swept: &AxisPrediction, objective: Objective, case: &Case, operator: usize) -> Chart {
    let shown = swept.shown(objective);
    let axis = &swept.sweep.axis;
    let (unit, size) = axis.unit();
    let mut lines = Vec::new();
    for strategy in strategies(&swept.points, operator) {
        let mut points = Vec::new();
        for point in swept.points.iter().filter(|point| point.value.is_finite()) {
            if let Some(way) = at(point, operator, strategy) {
                let (numbers, likely) = (&way.numbers, &way.likely);
                let [y, low, high] = match shown {
                    Output::Time => [numbers.time.total(), likely.time.p10, likely.time.p90]
                        .map(|time| time.as_secs_f64()),
                    Output::Dollars => {
                        [numbers.cost.total().0, likely.dollars.p10.0, likely.dollars.p90.0]
                    }
                };
                points.push([point.value / size, y, low, high]);
            }
        }
        lines.push(Line { name: strategy.to_owned(), points, is_published: false });
    }
    let operator = &case.operators[operator];
    let mut title = shortened(&format!("{} of {}", operator.operator, operator.subject));
    if let Some(what_if) = &case.assumed.what_if {
        title += &format!(" with {what_if}");
    }
    let x =
        if unit.is_empty() { axis.name().to_owned() } else { format!("{} ({unit})", axis.name()) };
    let y = match shown {
        Output::Time => "seconds",
        Output::Dollars => "dollars",
    };
    // A logarithmic axis cannot show zero.
    let positive = |[_, y, low, _]: &[f64; 4]| *y > 0.0 && *low > 0.0;
    let x = Axis { title: x, is_logarithmic: swept.points.iter().all(|point| point.value > 0.0) };
    let y = Axis {
        title: y.to_owned(),
        is_logarithmic: lines.iter().flat_map(|line| &line.points).all(positive),
    };
    let provenance = Provenance::Modelled(case.assumed.scenario.hardware.name.clone().into());
    Chart { title, x, y, marks: Marks::Lines(lines), provenance }
}

/// Shortens a text to its beginning and its end, if it is too long.
fn shortened(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= TITLE {
        return text.to_owned();
    }
    let half = (TITLE - 1) / 2;
    let (first, last) = (&all[..half], &all[all.len() - half..]);
    first.iter().chain(&['…']).chain(last).collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_title_keeps_its_end() {
        let bucket = "scan of s3://tpch/lineitem/";
        assert_eq!(shortened(bucket), bucket);
        let long =
            format!("aggregate of {} over s3://tpch/lineitem/", "sum(l_quantity), ".repeat(20));
        let short = shortened(&long);
        assert!(
            short.ends_with("over s3://tpch/lineitem/") && short.starts_with("aggregate of sum")
        );
        assert!(short.contains('…') && short.chars().count() <= TITLE);
    }
}
