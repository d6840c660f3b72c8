//! Work above scan, filter and project that a device could take: aggregates, and joins with small tables.

use datafusion::common::JoinType;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::HashJoinExec;
use sluicegate_costmodel::storage::{ScannedTable, SemiJoin, Stage};

use super::cut::{Node, OperatorKind};
use crate::engine::plan_graph::title;

/// Adds what an operator does that a device could take.
pub(super) fn add(node: &Node, stage: &mut Stage) {
    if let Some(input) = aggregated(node) {
        stage.aggregate_seconds += node.clock.own();
        stage.aggregate_dropped_bytes += (input.clock.bytes() - node.clock.bytes()).max(0.0);
    }
    if let Some((build, probe)) = semi_join(node) {
        let dropped = 1.0 - matched(node, probe);
        stage.semi_joins.push(SemiJoin {
            build_bytes: build.clock.bytes(),
            seconds: node.clock.own() * dropped,
            dropped_bytes: scanned_bytes(probe) * dropped,
        });
    }
}

/// Returns the table below filters and projections, and the rows that `top`, the last of these, passes on.
pub(super) fn table(top: &Node) -> Option<ScannedTable> {
    let mut node = top;
    while node.part != OperatorKind::Scan {
        node = &node.inputs.first()?.node;
    }
    let (subject, _) = node.reads.as_ref()?;
    let rows = node.rows.or_else(|| node.reads_all.then(|| node.clock.rows()));
    Some(ScannedTable { table: subject.clone(), rows, kept: top.clock.rows() })
}

/// Returns the rows of the files of a scan if their footers have them.
pub(super) fn rows_in_footers(config: &FileScanConfig) -> Option<u64> {
    let rows = config.statistics().num_rows;
    rows.get_value().filter(|_| has_footers(config)).map(|rows| *rows as u64)
}

/// Returns whether files tell the number of their rows. Other files are read whole.
pub(super) fn has_footers(config: &FileScanConfig) -> bool {
    config.file_source().file_type() == "parquet"
}

/// Returns the input of an aggregate that works on the rows of a scan.
fn aggregated(node: &Node) -> Option<&Node> {
    let mode = node.plan.downcast_ref::<AggregateExec>()?.mode();
    let takes_rows = matches!(
        mode,
        AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned
    );
    let [input] = node.inputs.as_slice() else { return None };
    let is_of_a_scan = !input.ends && input.node.part != OperatorKind::Other;
    (takes_rows && is_of_a_scan).then_some(&input.node)
}

/// Returns the build side and the probe side of a join that drops rows of a scan which have no match.
fn semi_join(node: &Node) -> Option<(&Node, &Node)> {
    let join = node.plan.downcast_ref::<HashJoinExec>()?;
    let drops = matches!(join.join_type(), JoinType::Inner | JoinType::RightSemi);
    let [build, probe] = node.inputs.as_slice() else { return None };
    let is_of_a_scan = !probe.ends && passes_scanned_rows(&probe.node);
    (drops && is_of_a_scan).then_some((&build.node, &probe.node))
}

/// Returns whether all rows are those of a scan, perhaps joined with other tables.
fn passes_scanned_rows(node: &Node) -> bool {
    if node.part != OperatorKind::Other || semi_join(node).is_some() {
        return true;
    }
    match node.inputs.as_slice() {
        [input] => {
            title::hands_on(node.plan.as_ref()) && !input.ends && passes_scanned_rows(&input.node)
        }
        _ => false,
    }
}

/// Returns the bytes of a scan that are left when all joins up to a node have dropped rows.
fn scanned_bytes(node: &Node) -> f64 {
    if node.part != OperatorKind::Other {
        return node.clock.bytes();
    }
    match semi_join(node) {
        Some((_, probe)) => scanned_bytes(probe) * matched(node, probe),
        None => node.inputs.first().map_or(0.0, |input| scanned_bytes(&input.node)),
    }
}

/// Returns the fraction of rows that have a match, 0 to 1, if each of them has at most one.
fn matched(join: &Node, probe: &Node) -> f64 {
    let probed = probe.clock.rows() as f64;
    if probed > 0.0 { (join.clock.rows() as f64 / probed).min(1.0) } else { 1.0 }
}
