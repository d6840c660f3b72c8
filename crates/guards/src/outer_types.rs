//! Updates the types of outer columns in subqueries, which the planner takes from the query before it is rewritten.

use std::sync::Arc;

use crate::rewrite::{Rewrite, RewritePlan};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ExprSchema, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Gives columns of a node's inputs that its subqueries reference their current types.
pub(super) fn renew(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    plan.map_subqueries(|subquery| {
        subquery.rewrite_all_up(&mut |node| match node {
            LogicalPlan::Subquery(mut subquery) => {
                let columns = std::mem::take(&mut subquery.outer_ref_columns);
                let columns = columns.into_iter().map(|it| renewed(it, &schema).data);
                subquery.outer_ref_columns = columns.collect();
                Ok(Transformed::yes(LogicalPlan::Subquery(subquery)))
            }
            node => node.rewrite_expressions(&mut |expr| {
                expr.rewrite_up(&mut |it| Ok(renewed(it, &schema)))
            }),
        })
    })
}

fn renewed(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::OuterReferenceColumn(field, column) => match schema.field_from_column(&column) {
            Ok(known) if known.data_type() != field.data_type() => {
                Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(known), column))
            }
            _ => Transformed::no(Expr::OuterReferenceColumn(field, column)),
        },
        other => Transformed::no(other),
    }
}
