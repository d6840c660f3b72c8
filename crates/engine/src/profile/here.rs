//! What an operator over a scan evaluates here.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::BinaryExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::projection::ProjectionExec;
use sluicegate_costmodel::Terms;

use super::{selectivity, table_rows};
use crate::datasource::s3_scan::as_select_scan;

/// What a node over a scan, with nothing but projections and filters between, evaluates here for all
/// rows that pass the scan's filters, if it does `itself` that for each.
#[must_use]
pub fn evaluated_here(
    node: &Arc<dyn ExecutionPlan>,
    itself: Terms,
    options: &ConfigOptions,
) -> Terms {
    let (each, scan) = of_row(node, itself);
    match as_select_scan(scan.as_ref()) {
        Some((config, source)) => {
            each.times(table_rows(config) * selectivity(config, source, options))
        }
        None => Terms::NONE,
    }
}

/// What a node and the projections below evaluate for each row of the scan, and that scan.
pub(super) fn of_row(
    node: &Arc<dyn ExecutionPlan>,
    itself: Terms,
) -> (Terms, &Arc<dyn ExecutionPlan>) {
    let (mut below, mut each) = (node, itself);
    while let Some(child) = below.children().into_iter().next() {
        below = child;
        if let Some(projection) = below.downcast_ref::<ProjectionExec>() {
            each = each + arithmetic(projection.expr().iter().map(|it| &it.expr));
        }
    }
    (each, below)
}

/// What an aggregation does for each row: arithmetic, a key for each column of the groups and of
/// DISTINCT, and an update for each aggregate of a group. (Those of all rows are no trouble.)
#[must_use]
pub fn of_aggregate(aggregate: &AggregateExec) -> Terms {
    let all = aggregate.aggr_expr();
    let arguments: Vec<_> = all.iter().flat_map(|it| it.expressions()).collect();
    let arguments = arithmetic(&arguments);
    let distinct = all.iter().filter(|it| it.is_distinct()).count();
    let keys = aggregate.group_expr().expr().len();
    let updates = if keys == 0 { 0 } else { all.len() };
    Terms { updates: updates as f64, keys: (keys + distinct) as f64, ..arguments }
}

/// The arithmetic of some expressions for each row.
fn arithmetic<'a>(all: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>) -> Terms {
    let mut operations: u32 = 0;
    for expr in all {
        // Nothing in here fails.
        let _: Result<TreeNodeRecursion> = expr.apply(|part| {
            let of = part.downcast_ref::<BinaryExpr>().map(BinaryExpr::op);
            let is_arithmetic = matches!(
                of,
                Some(
                    Operator::Plus
                        | Operator::Minus
                        | Operator::Multiply
                        | Operator::Divide
                        | Operator::Modulo
                )
            );
            operations += u32::from(is_arithmetic);
            Ok(TreeNodeRecursion::Continue)
        });
    }
    Terms::from(operations)
}
