//! Values of sub-queries. Planned as joins, as datafusion-distributed has it, they reach workers; but not all of
//! them can be, and a sub-query of several rows must be an error.

use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::uncarried::any_expression;

/// The query with joins in place of values of sub-queries; none if a sub-query may have several rows, or its value
/// is where no join can be. A query without any is what it is.
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

/// Whether a query has at most one row, whatever its tables have.
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
