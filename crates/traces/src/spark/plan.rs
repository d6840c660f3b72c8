//! Cuts the plan of a query where rows go from stage to stage.

use std::collections::BTreeSet;

use serde::Deserialize;
use sluicegate_costmodel::storage::{OperatorCounts, OperatorKind};

/// An operator as logged, with its inputs and subqueries.
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

/// A time metric that tasks add to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timer {
    pub(super) metric: u64,
    /// The length of one unit of the metric in seconds.
    pub(super) unit: f64,
}

/// Operators without an exchange between them, which run in one stage.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    /// The metrics that its tasks add to.
    pub(super) metrics: BTreeSet<u64>,
    pub(super) scans: Vec<Scan>,
    /// The metrics of scans of cached data.
    pub(super) cached: BTreeSet<u64>,
    pub(super) codes: Vec<Code>,
    pub(super) operators: OperatorCounts,
    /// The positions of the fragments whose rows it needs.
    pub(super) needs: Vec<usize>,
}

/// A scan of a table.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) metrics: BTreeSet<u64>,
    /// The scan's own time, which only columnar scans have.
    pub(super) time: Option<Timer>,
}

/// Generated code that only scans, filters and projects.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) time: Timer,
    /// The times of the scans in it.
    pub(super) scans: Vec<Timer>,
    /// True if `scans` has the times of all its scans.
    pub(super) knows_scans: bool,
}

/// Returns the fragments of a plan. The first one returns the answer.
pub(super) fn fragments(plan: &PlanInfo) -> Vec<Fragment> {
    let mut fragments = vec![Fragment::default()];
    add(plan, "", 0, &mut fragments);
    fragments
}

fn add(plan: &PlanInfo, above: &str, place: usize, fragments: &mut Vec<Fragment>) {
    let metrics = plan.metrics.iter().map(|it| it.accumulator_id);
    let place = if ends_a_stage(&plan.node_name) {
        let next = fragments.len();
        fragments[place].needs.push(next);
        fragments.push(Fragment::default());
        next
    } else {
        // An exchange has metrics of its writers and its readers, so they identify neither.
        fragments[place].metrics.extend(metrics.clone());
        place
    };
    if let Some(kind) = kind(&plan.node_name) {
        fragments[place].operators.add(kind);
    }
    if is_scan(&plan.node_name) {
        let time = timer(plan, "scan time");
        fragments[place].scans.push(Scan { metrics: metrics.collect(), time });
    } else if plan.node_name == "InMemoryTableScan" {
        fragments[place].cached.extend(metrics);
    }
    if plan.node_name.starts_with("WholeStageCodegen")
        && takes_rows_as_they_are(above)
        && let Some(time) = timer(plan, "duration")
        && let Some(scans) = plan.children.iter().map(only_filters).collect::<Option<Vec<_>>>()
    {
        let scans = scans.concat();
        let knows_scans = scans.iter().all(Option::is_some);
        let scans = scans.into_iter().flatten().collect();
        fragments[place].codes.push(Code { time, scans, knows_scans });
    }
    for child in &plan.children {
        add(child, &plan.node_name, place, fragments);
    }
}

/// Returns the kind of an operator in counts; `None` for wrappers of others.
fn kind(name: &str) -> Option<OperatorKind> {
    Some(match name {
        _ if is_scan(name) => OperatorKind::Scan,
        "Filter" => OperatorKind::Filter,
        "Project" => OperatorKind::Project,
        "Sort" | "TakeOrderedAndProject" => OperatorKind::Sort,
        "Window" => OperatorKind::Window,
        "Union" => OperatorKind::Union,
        "CollectLimit" | "GlobalLimit" | "LocalLimit" => OperatorKind::Limit,
        "CartesianProduct" => OperatorKind::Join,
        "ReusedExchange" => return None,
        _ if name.ends_with("Aggregate") => OperatorKind::Aggregate,
        _ if name.ends_with("Join") => OperatorKind::Join,
        _ if name.ends_with("Exchange") => OperatorKind::Exchange,
        _ => return None,
    })
}

/// Returns whether the operator above generated code does little work for its rows. The code's clock runs from its
/// start to its last row, so it includes joins, sorts, and writing a shuffle, a file or a cache.
fn takes_rows_as_they_are(above: &str) -> bool {
    above.is_empty()
        || matches!(above, "AdaptiveSparkPlan" | "BroadcastExchange" | "ResultQueryStage")
        || above.starts_with("Subquery")
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

/// Returns the times of the scans under an operator. Returns `None` if there is any operator other than filters and
/// projections, or no scan.
fn only_filters(plan: &PlanInfo) -> Option<Vec<Option<Timer>>> {
    let name = plan.node_name.as_str();
    if is_scan(name) {
        return Some(vec![timer(plan, "scan time")]);
    }
    let passes = matches!(name, "Filter" | "Project" | "ColumnarToRow" | "InputAdapter");
    if !passes || plan.children.is_empty() {
        return None;
    }
    let scans: Option<Vec<_>> = plan.children.iter().map(only_filters).collect();
    Some(scans?.concat())
}
