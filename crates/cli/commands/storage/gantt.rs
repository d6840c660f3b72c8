//! Gantt charts of stages (ICPE 2020, Figs 11, 14, 16 and 19): measured, and with the device.

use sluicegate_costmodel::storage::{Schedule, Stage};
use sluicegate_traces::Query;

use super::DriveAssumptions;
use crate::output::chart::{self, Chart, Marks, Span};
use crate::output::escape::visible;

/// Marks stages on the critical path, for readers who do not see colours.
const MARK: &str = " *";
/// The longest name of a stage in a chart, in characters.
const MOST_NAME: usize = 48;

/// Draws a chart for each query, one below the other.
pub(super) fn svg(queries: &[Query], assumed: &DriveAssumptions) -> String {
    let charts: Vec<_> = queries.iter().map(|query| of(query, assumed)).collect();
    chart::svg(&charts)
}

fn of(query: &Query, assumed: &DriveAssumptions) -> Chart {
    let estimate = assumed.estimate(&query.graph);
    let spans = |group: &str, schedule: &Schedule| -> Vec<Span> {
        let stages = query.graph.stages().iter().zip(&schedule.times).enumerate();
        let span = |(place, (stage, (start, end))): (usize, (&Stage, &(f64, f64)))| {
            let is_marked = schedule.critical_path.contains(&place);
            let mark = if is_marked { MARK } else { "" };
            let name = format!("{}{mark}", name(stage.id, &stage.name));
            Span { group: group.to_owned(), name, start: *start, end: *end, is_marked }
        };
        stages.map(span).collect()
    };
    let mut all = spans("measured", &estimate.before);
    all.extend(spans(&format!("with {} (modelled)", assumed.device.name), &estimate.after));
    Chart {
        title: visible(&query.name).into_owned(),
        x: format!("seconds (orange and{MARK}: on the critical path)"),
        y: String::new(),
        logarithmic: [false; 2],
        marks: Marks::Spans(all),
    }
}

/// Returns a stage's number and name, shortened in the middle.
fn name(id: u64, name: &str) -> String {
    let name: Vec<char> = visible(name).chars().collect();
    let half = MOST_NAME / 2;
    if name.len() <= MOST_NAME {
        return format!("{id} {}", name.iter().collect::<String>());
    }
    let (first, last) = (&name[..half], &name[name.len() - half..]);
    format!("{id} {}…{}", first.iter().collect::<String>(), last.iter().collect::<String>())
}
