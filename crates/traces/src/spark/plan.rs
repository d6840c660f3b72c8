//! The plan of a query, cut where rows go from stage to stage.

use std::collections::BTreeSet;

use serde::Deserialize;

/// An operator as a log has it, with its inputs and subqueries.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlanInfo {
    #[serde(default)]
    node_name: String,
    #[serde(default)]
    children: Vec<PlanInfo>,
    #[serde(default)]
    metrics: Vec<MetricInfo>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricInfo {
    name: String,
    accumulator_id: u64,
    #[serde(default)]
    metric_type: String,
}

/// A time that tasks add to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timer {
    pub(super) metric: u64,
    /// What one of it is in seconds.
    pub(super) unit: f64,
}

/// Operators without an exchange between them: they run in one stage.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    /// Metrics that its tasks add to.
    pub(super) metrics: BTreeSet<u64>,
    /// Times of scans.
    pub(super) scans: Vec<Timer>,
    /// Times of generated code that scans, filters and projects, and does nothing else; with those of the
    /// scans in it.
    pub(super) filters: Vec<(Timer, Vec<Timer>)>,
    /// Fragments whose rows it needs, as places.
    pub(super) needs: Vec<usize>,
}

/// The fragments of a plan; the first one gives the answer.
pub(super) fn fragments(plan: &PlanInfo) -> Vec<Fragment> {
    let mut fragments = vec![Fragment::default()];
    add(plan, 0, &mut fragments);
    fragments
}

fn add(plan: &PlanInfo, place: usize, fragments: &mut Vec<Fragment>) {
    let place = if ends_a_stage(&plan.node_name) {
        let next = fragments.len();
        fragments[place].needs.push(next);
        fragments.push(Fragment::default());
        next
    } else {
        // An exchange has metrics of those who write and those who read.
        fragments[place].metrics.extend(plan.metrics.iter().map(|it| it.accumulator_id));
        place
    };
    if is_scan(&plan.node_name) {
        fragments[place].scans.extend(timer(plan, "scan time"));
    }
    if plan.node_name.starts_with("WholeStageCodegen")
        && let Some(timer) = timer(plan, "duration")
        && let Some(scans) = plan.children.iter().map(only_filters).collect::<Option<Vec<_>>>()
    {
        fragments[place].filters.push((timer, scans.concat()));
    }
    for child in &plan.children {
        add(child, place, fragments);
    }
}

fn ends_a_stage(name: &str) -> bool {
    let broadcasts = name.starts_with("Exchange") || name.ends_with("Exchange");
    let subquery = name.starts_with("Subquery") || name.starts_with("ScalarSubquery");
    (broadcasts || subquery) && name != "ReusedExchange"
}

fn is_scan(name: &str) -> bool {
    name.starts_with("Scan") || name.starts_with("BatchScan") || name.starts_with("FileScan")
}

fn timer(plan: &PlanInfo, name: &str) -> Option<Timer> {
    let metric = plan.metrics.iter().find(|it| it.name == name)?;
    let unit = if metric.metric_type == "nsTiming" { 1e-9 } else { 1e-3 };
    Some(Timer { metric: metric.accumulator_id, unit })
}

/// The times of the scans under an operator, if there is nothing else than filters and projections and at
/// least one scan.
fn only_filters(plan: &PlanInfo) -> Option<Vec<Timer>> {
    let name = plan.node_name.as_str();
    if is_scan(name) {
        return Some(timer(plan, "scan time").into_iter().collect());
    }
    let passes = matches!(name, "Filter" | "Project" | "ColumnarToRow" | "InputAdapter");
    if !passes || plan.children.is_empty() {
        return None;
    }
    let scans: Option<Vec<_>> = plan.children.iter().map(only_filters).collect();
    Some(scans?.concat())
}
