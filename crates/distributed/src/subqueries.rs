//! Scalar sub-queries as joins. Only joins can be sent to workers, but not every scalar sub-query can become a join,
//! and one that returns several rows must remain an error.

use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::unserializable::any_expression;

/// Replaces scalar sub-queries by joins. `None` if a sub-query may return several rows, or is used where no join is
/// possible. A query without scalar sub-queries is returned unchanged.
///
/// # Errors
///
/// If the query cannot be optimized.
pub(crate) fn as_joins(logical: &LogicalPlan, state: &SessionState) -> Result<Option<LogicalPlan>> {
    let is_value = |expr: &Expr| matches!(expr, Expr::ScalarSubquery(_));
    if !any_expression(logical, is_value)? {
        return Ok(Some(logical.clone()));
    }
    let may_be_several = |expr: &Expr| match expr {
        Expr::ScalarSubquery(query) => !has_one_row(&query.subquery),
        _ => false,
    };
    if any_expression(logical, may_be_several)? {
        return Ok(None);
    }
    let mut state = state.clone();
    let options = state.config_mut().options_mut();
    options.optimizer.enable_physical_uncorrelated_scalar_subquery = false;
    let joined = state.optimize(logical)?;
    Ok((!any_expression(&joined, is_value)?).then_some(joined))
}

/// Returns true if the query has at most one row, whatever its tables contain.
fn has_one_row(query: &LogicalPlan) -> bool {
    if query.max_rows().is_some_and(|rows| rows <= 1) {
        return true;
    }
    match query {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_) => query.inputs().into_iter().all(has_one_row),
        _ => false,
    }
}
