//! Makes EXCEPT ALL and INTERSECT ALL count equal rows.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{
    Distinct, Expr, ExprFunctionExt, Join, JoinConstraint, LogicalPlan, LogicalPlanBuilder,
    Projection,
};
use datafusion::optimizer::AnalyzerRule;

use super::{AnalysisRule, Case, CaseOutcome, Guard};
use crate::rewrite::RewritePlan;

pub(super) const GUARD: Guard = Guard {
    title: "EXCEPT ALL and INTERSECT ALL do not count equal rows",
    upstream: &[],
    ours: "Equal rows of each side are numbered, and the numbers are compared, too.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT * FROM (VALUES (1), (1), (2)) l(x) EXCEPT ALL SELECT * FROM (VALUES (1)) r(x)",
            right: CaseOutcome::Rows(&["1", "2"]),
            theirs: CaseOutcome::Rows(&["2"]),
        },
        Case {
            setup: &[],
            sql: "SELECT * FROM (VALUES (1), (NULL), (NULL)) l(x) INTERSECT ALL \
                  SELECT * FROM (VALUES (CAST(NULL AS BIGINT)), (2)) r(x)",
            right: CaseOutcome::Rows(&["NULL"]),
            theirs: CaseOutcome::Rows(&["NULL", "NULL"]),
        },
    ],
};

/// Adds the rule before types are coerced, which adds casts to the keys.
pub(super) fn install(rules: &mut Vec<AnalysisRule>) {
    rules.insert(0, Arc::new(SetOperations));
}

#[derive(Debug)]
struct SetOperations;

impl AnalyzerRule for SetOperations {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let (mut found, mut optimized) = (false, false);
        plan.apply_with_subqueries(|node| {
            found |= matches!(node, LogicalPlan::Join(join) if is_set_operation(join));
            optimized |= matches!(node, LogicalPlan::TableScan(scan) if scan.projection.is_some());
            Ok(TreeNodeRecursion::Continue)
        })?;
        // The optimizer also creates such joins for other conditions, and its plans may be analyzed again.
        if !found || optimized {
            return Ok(plan);
        }
        plan.rewrite_all_up(&mut |node| match node {
            LogicalPlan::Join(join) if is_set_operation(&join) => {
                Ok(Transformed::yes(rewritten(join)?))
            }
            node => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "set_operations"
    }
}

/// Returns true if a join is EXCEPT ALL or INTERSECT ALL. The planner makes them joins of all columns, and nothing
/// else in SQL becomes such a join.
fn is_set_operation(join: &Join) -> bool {
    let distinct = matches!(join.left.as_ref(), LogicalPlan::Distinct(Distinct::All(_)));
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && !distinct
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && join.on.len() == join.left.schema().fields().len()
        && join.on.len() == join.right.schema().fields().len()
        && !join.left.schema().has_column(&Column::from_name(NUMBER))
}

fn rewritten(join: Join) -> Result<LogicalPlan> {
    let columns = join.left.schema().columns().into_iter().map(Expr::Column).collect();
    let left = numbered(Arc::unwrap_or_clone(join.left), NUMBER)?;
    let right = numbered(Arc::unwrap_or_clone(join.right), NUMBER_ON_THE_RIGHT)?;
    let number = |name: &str| Expr::Column(Column::from_name(name));
    let mut on = join.on;
    on.push((number(NUMBER), number(NUMBER_ON_THE_RIGHT)));
    let joined = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        None,
        join.join_type,
        JoinConstraint::On,
        NullEquality::NullEqualsNull,
        false,
    )?;
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(LogicalPlan::Join(joined)))?))
}

/// Name of the column that numbers a row among equal rows.
const NUMBER: &str = "__number_among_equals";
const NUMBER_ON_THE_RIGHT: &str = "__number_among_equals_on_the_right";

fn numbered(plan: LogicalPlan, name: &str) -> Result<LogicalPlan> {
    let columns = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let number = row_number().partition_by(columns).build()?.alias(name);
    let numbered = LogicalPlanBuilder::from(plan).window(vec![number])?.build()?;
    debug_assert!(numbered.schema().has_column(&Column::from_name(name)), "it is the last");
    Ok(numbered)
}
