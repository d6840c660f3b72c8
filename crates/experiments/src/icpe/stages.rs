//! The stages of a query, as `sluice storage` lists them.

use serde::Deserialize;
use sluicegate_costmodel::storage::{Slots, Stage, StageGraph, schedule};

use super::plans::Plan;
use crate::{Results, ResultsError};

/// A stage as it was measured, with the estimate for a device.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct ListedStage {
    pub(super) stage: u64,
    /// The stages that must end before, with spaces between.
    pub(super) after: String,
    pub(super) measured_s: f64,
    pub(super) sfp_percent: f64,
    pub(super) estimated_s: f64,
    /// `before`, `with device`, `both`, or empty.
    pub(super) critical: String,
    #[serde(flatten)]
    pub(super) plan: Plan,
}

/// A stage in a schedule: its start and end in seconds, and true if it is on the critical path.
pub(super) type Scheduled = ([f64; 2], bool);

/// The stages of a query, scheduled as they were measured and as they are estimated.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stages {
    pub(super) stages: Vec<ListedStage>,
    pub(super) measured: Vec<Scheduled>,
    pub(super) estimated: Vec<Scheduled>,
}

impl Stages {
    /// Reads the stages of a run.
    pub(super) fn of(results: &Results, run: &str) -> Result<Self, ResultsError> {
        Ok(Self::new(results.output(run)?))
    }

    fn new(stages: Vec<ListedStage>) -> Self {
        let (measured, estimated) = (times(&stages, false), times(&stages, true));
        Self { stages, measured, estimated }
    }

    /// Returns the seconds as measured and as estimated.
    pub(super) fn seconds(&self) -> [f64; 2] {
        [&self.measured, &self.estimated]
            .map(|schedule| schedule.iter().map(|it| it.0[1]).fold(0.0, f64::max))
    }
}

/// Schedules stages without a limit to those that run at once, in their order.
fn times(listed: &[ListedStage], with_device: bool) -> Vec<Scheduled> {
    let seconds = |it: &ListedStage| if with_device { it.estimated_s } else { it.measured_s };
    let stage = |it: &ListedStage| Stage {
        id: it.stage,
        wall_seconds: seconds(it),
        after: it.after.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect(),
        ..Stage::default()
    };
    let Ok(graph) = StageGraph::new(listed.iter().map(stage).collect()) else {
        return Vec::new();
    };
    let takes: Vec<f64> = graph.stages().iter().map(|it| it.wall_seconds).collect();
    let schedule = schedule(&graph, &takes, Slots::Unlimited);
    let path = if with_device { "with device" } else { "before" };
    let time = |it: &ListedStage| {
        let place = graph.stages().iter().position(|stage| stage.id == it.stage)?;
        let (start, end) = schedule.times.get(place)?;
        Some(([*start, *end], it.critical == "both" || it.critical == path))
    };
    listed.iter().filter_map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_scheduled_before_and_with_the_device() {
        let stage = |stage, after: &str, measured_s, estimated_s, critical: &str| ListedStage {
            stage,
            after: after.to_owned(),
            measured_s,
            estimated_s,
            critical: critical.to_owned(),
            ..ListedStage::default()
        };
        let stages = Stages::new(vec![
            stage(0, "", 4.0, 1.0, "before"),
            stage(1, "", 3.0, 2.0, "with device"),
            stage(2, "0 1", 5.0, 5.0, "both"),
        ]);
        assert_eq!(stages.measured[2], ([4.0, 9.0], true));
        assert_eq!(stages.estimated, [([0.0, 1.0], false), ([0.0, 2.0], true), ([2.0, 7.0], true)]);
        assert_eq!(stages.seconds(), [9.0, 7.0]);
    }
}
