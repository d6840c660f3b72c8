//! Work that an operator over a scan does in the engine.

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
use sluicegate_guards::overflow::arithmetic::checked_operators;

use super::{selectivity, table_rows};
use crate::scan::s3_scan::as_select_scan;

/// Returns the work that a node over a scan does in the engine for all rows that pass the scan's filters. Only
/// projections and filters may stand in between. `itself` is the node's own work per row.
#[must_use]
pub fn evaluated_locally(
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

/// Returns the work of a node and the projections below for each row of the scan, and that scan.
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

/// Returns the work of an aggregation per row: arithmetic, one key for each grouping column and each DISTINCT, and
/// one update for each aggregate of a group. Aggregates without groups are cheap and do not count.
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

/// Counts the arithmetic operations of some expressions per row.
fn arithmetic<'a>(all: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>) -> Terms {
    let mut operations: u32 = 0;
    for expr in all {
        // The visitor never fails.
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
            operations += u32::from(is_arithmetic) + checked_operators(part.as_ref()) as u32;
            Ok(TreeNodeRecursion::Continue)
        });
    }
    Terms::from(operations)
}
