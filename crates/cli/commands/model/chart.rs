//! Seconds along an axis, a line for each way.

use super::modelled::{Case, Modelled, Swept, at, strategies};
use crate::output::chart::{self, Chart, Line};

/// The longest title of a panel, in characters.
const TITLE: usize = 60;

/// All sweeps of all operators, one panel below the other.
pub(super) fn svg(all: &[Modelled]) -> String {
    let mut charts = Vec::new();
    for case in all.iter().flat_map(|modelled| &modelled.cases) {
        for swept in &case.sweeps {
            charts.extend((0..case.operators.len()).map(|operator| chart(swept, case, operator)));
        }
    }
    chart::svg(&charts)
}

/// The sweep of an operator in characters; nothing without ways that can be drawn.
pub(super) fn terminal(swept: &Swept, case: &Case, operator: usize, colour: bool) -> String {
    chart::terminal(&chart(swept, case, operator), colour)
}

/// The lines of the ways with their intervals.
fn chart(swept: &Swept, case: &Case, operator: usize) -> Chart {
    let axis = &swept.sweep.axis;
    let (unit, size) = axis.unit();
    let mut lines = Vec::new();
    for strategy in strategies(&swept.points, operator) {
        let mut points = Vec::new();
        for point in swept.points.iter().filter(|point| point.value.is_finite()) {
            if let Some(way) = at(point, operator, strategy) {
                let likely = &way.likely.time;
                let seconds = [way.numbers.time.total(), likely.p10, likely.p90];
                let [y, low, high] = seconds.map(|time| time.as_secs_f64());
                points.push([point.value / size, y, low, high]);
            }
        }
        lines.push(Line { name: strategy.to_owned(), points });
    }
    let operator = &case.operators[operator];
    let title = format!("{} of {}", operator.operator, operator.subject);
    let mut title: String = title.chars().take(TITLE).collect();
    if let Some(what_if) = &case.assumed.what_if {
        title += &format!(" with {what_if}");
    }
    let x =
        if unit.is_empty() { axis.name().to_owned() } else { format!("{} ({unit})", axis.name()) };
    let is_logarithmic = swept.points.iter().all(|point| point.value > 0.0);
    Chart { title, x, y: "seconds".to_owned(), logarithmic: [is_logarithmic, true], lines }
}
