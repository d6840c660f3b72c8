//! Gantt charts of stages (ICPE 2020, Figs 11, 14, 16 and 19): measured, and with the device.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::storage::{Schedule, Stage};
use sluicegate_traces::Query;

use super::DriveAssumptions;
use crate::output::chart::{self, Axis, Chart, Marks, Task};
use crate::output::escape::visible;

/// The longest name of a stage in a chart, in characters.
const MOST_NAME: usize = 48;

/// Draws a chart for each query, one below the other.
pub(super) fn svg(queries: &[Query], assumed: &DriveAssumptions) -> String {
    let charts: Vec<_> = queries.iter().map(|query| of(query, assumed)).collect();
    chart::svg(&charts)
}

fn of(query: &Query, assumed: &DriveAssumptions) -> Chart {
    let estimate = assumed.estimate(&query.graph);
    let tasks = |series: &str, schedule: &Schedule| -> Vec<Task> {
        let stages = query.graph.stages().iter().zip(&schedule.times).enumerate();
        let task = |(place, (stage, (start, end))): (usize, (&Stage, &(f64, f64)))| Task {
            name: name(stage.id, &stage.name),
            span: [*start, *end],
            series: series.to_owned(),
            is_critical: schedule.critical_path.contains(&place),
        };
        stages.map(task).collect()
    };
    let mut all = tasks("measured", &estimate.before);
    all.extend(tasks(&format!("with {} (modelled)", assumed.device.name), &estimate.after));
    Chart {
        title: visible(&query.name).into_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Gantt(all),
        provenance: Provenance::Modelled(assumed.device.name.clone().into()),
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
