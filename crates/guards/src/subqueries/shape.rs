//! Decides which subqueries DataFusion turns into joins correctly.
//!
//! DataFusion moves the correlated conditions from WHERE to the join. The operators in between must return the same
//! rows whether a condition is applied before or after them.

use datafusion::common::JoinType;
use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, FetchType, GroupingSet, LogicalPlan, Operator, SkipType,
};

use super::outer;

/// Returns true if the conditions of a subquery can be those of a semi, anti or mark join.
pub(super) fn can_be_joined(plan: &LogicalPlan) -> bool {
    lifts(plan, Intermediate::Nothing)
}

/// Returns true if the conditions of a subquery can be those of a lateral join, where the number of rows matters.
pub(super) fn can_be_lateral(plan: &LogicalPlan) -> bool {
    use datafusion::common::tree_node::TreeNode;
    let merges_rows = |node: &LogicalPlan| match node {
        LogicalPlan::Distinct(_) => true,
        LogicalPlan::Aggregate(aggregate) => aggregate.aggr_expr.is_empty(),
        _ => false,
    };
    can_be_joined(plan) && !plan.exists(|node| Ok(merges_rows(node))).unwrap_or(true)
}

/// Returns true for a scalar subquery that DataFusion correctly turns into a left join of grouped rows.
pub(super) fn is_scalar_to_join(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().all(is_null_for_null) && is_scalar_to_join(&projection.input)
        }
        LogicalPlan::Aggregate(aggregate) => {
            !aggregate.aggr_expr.is_empty()
                && aggregate.group_expr.is_empty()
                && !aggregate.aggr_expr.iter().any(outer::may_refer)
                && lifts(&aggregate.input, Intermediate::Aggregate)
        }
        _ => false,
    }
}

/// Returns true if a value over aggregates is one that DataFusion computes correctly for no rows, where its join
/// returns NULL.
fn is_null_for_null(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Alias(alias) => is_null_for_null(&alias.expr),
        Expr::Cast(cast) => is_null_for_null(&cast.expr),
        Expr::Negative(inner) => is_null_for_null(inner),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            op.is_numerical_operators() && is_null_for_null(left) && is_null_for_null(right)
        }
        _ => false,
    }
}

/// The operators between a condition and the join that it is moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intermediate {
    /// No operator combines rows.
    Nothing,
    /// Equal rows are merged.
    Distinct,
    /// Rows are aggregated. Only conditions that all rows of a group share can be moved.
    Aggregate,
}

fn lifts(plan: &LogicalPlan, between: Intermediate) -> bool {
    if outer::references(plan).is_ok_and(|found| found.is_empty()) {
        return true;
    }
    if outer::has_foreign_subquery(plan) {
        return false;
    }
    match plan {
        LogicalPlan::Filter(filter) => {
            let correlated = split_conjunction(&filter.predicate);
            let mut correlated = correlated.into_iter().filter(|expr| expr.contains_outer());
            let liftable = |expr: &Expr| {
                !super::has_subquery(expr)
                    && (between != Intermediate::Aggregate || is_equality(expr))
            };
            correlated.all(liftable) && lifts(&filter.input, between)
        }
        LogicalPlan::Projection(projection) => {
            !projection.expr.iter().any(outer::may_refer) && lifts(&projection.input, between)
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            between == Intermediate::Nothing && lifts(input, Intermediate::Distinct)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let exprs = || aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
            let one = aggregate.group_expr.is_empty();
            let sets = exprs().any(|expr| matches!(expr, Expr::GroupingSet(_)));
            let inner = match aggregate.aggr_expr.is_empty() {
                true => Intermediate::Distinct,
                false => Intermediate::Aggregate,
            };
            between == Intermediate::Nothing
                && !one
                && !sets
                && !exprs().any(outer::may_refer)
                && lifts(&aggregate.input, inner)
        }
        LogicalPlan::Join(join) => {
            let own = join.on.iter().any(|(l, r)| outer::may_refer(l) || outer::may_refer(r))
                || join.filter.as_ref().is_some_and(outer::may_refer);
            let alone = |plan| outer::references(plan).is_ok_and(|found| found.is_empty());
            // INTERSECT and EXCEPT are semi and anti joins. DataFusion assumes wrongly that they still have the
            // columns of the condition.
            let sides = match join.join_type {
                JoinType::Inner => true,
                JoinType::Left => alone(&join.right),
                JoinType::Right => alone(&join.left),
                _ => false,
            };
            // DataFusion drops any LIMIT that it visits after a condition.
            let later = !alone(&join.left) && has_limit(&join.right);
            !own && sides && !later && lifts(&join.left, between) && lifts(&join.right, between)
        }
        _ => false,
    }
}

fn has_limit(plan: &LogicalPlan) -> bool {
    use datafusion::common::tree_node::TreeNode;
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Limit(_)))).unwrap_or(true)
}

/// Returns true if a condition equates a column of the subquery with an expression without any.
fn is_equality(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else {
        return false;
    };
    let column = |expr: &Expr| match expr {
        Expr::Column(_) => true,
        Expr::Cast(cast) => matches!(cast.expr.as_ref(), Expr::Column(_)),
        _ => false,
    };
    (column(left) && !right.any_column_refs()) || (column(right) && !left.any_column_refs())
}

/// Returns true if a subquery has a row for all values of the outer columns.
pub(super) fn has_a_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_a_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_a_row(&alias.input),
        LogicalPlan::Sort(sort) => sort.fetch != Some(0) && has_a_row(&sort.input),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Aggregate(aggregate) => match aggregate.group_expr.as_slice() {
            [] => true,
            [Expr::GroupingSet(GroupingSet::Rollup(_) | GroupingSet::Cube(_))] => true,
            [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => sets.iter().any(Vec::is_empty),
            _ => false,
        },
        _ => false,
    }
}

/// Returns true if DataFusion detects that a scalar subquery may be NULL, or if it never is. DataFusion ignores that
/// a subquery without rows is NULL.
pub(super) fn is_known_to_be_null(plan: &LogicalPlan) -> bool {
    plan.schema().field(0).is_nullable() || has_a_row(plan)
}

/// Returns true if a subquery has at most one row for each value of the outer columns.
pub(super) fn has_one_row_at_most(plan: &LogicalPlan) -> bool {
    plan.max_rows().is_some_and(|rows| rows <= 1)
}

/// Returns the subquery without DISTINCT, ORDER BY and any LIMIT that does not affect whether it has rows; `None` if
/// it has none of these.
pub(super) fn without_limit(plan: &LogicalPlan) -> Option<LogicalPlan> {
    match plan {
        LogicalPlan::Limit(limit) => {
            let skips = !matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)));
            let none = !matches!(limit.get_fetch_type(), Ok(FetchType::Literal(None | Some(1..))));
            match skips || none {
                true => None,
                false => Some(
                    without_limit(&limit.input).unwrap_or_else(|| limit.input.as_ref().clone()),
                ),
            }
        }
        LogicalPlan::Projection(projection) => without_limit(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => without_limit(&alias.input),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            Some(without_limit(input).unwrap_or_else(|| input.as_ref().clone()))
        }
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
            Some(without_limit(&sort.input).unwrap_or_else(|| sort.input.as_ref().clone()))
        }
        _ => None,
    }
}
