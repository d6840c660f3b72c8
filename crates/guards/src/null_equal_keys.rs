//! Separates joins whose keys compare NULL as equal from conditions that do not.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::{Expr, Join, LogicalPlan, Projection};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::{Case, CaseOutcome, Guard, LogicalRule, rule};
use crate::rewrite::RewritePlan;

pub(super) const GUARD: Guard = Guard {
    title: "IS NOT DISTINCT FROM of one join changes the equality of others",
    upstream: &[],
    ours: "Equalities do not join keys that compare NULL as equal, and such joins are not merged with others.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT x.a, x.b FROM null_keys x JOIN null_keys y ON (x.a IS NOT DISTINCT FROM y.a) \
                  WHERE x.b = y.b",
            right: CaseOutcome::Rows(&["1, 1", "2, 2", "NULL, 3"]),
            theirs: CaseOutcome::Rows(&["1, 1", "2, 2", "NULL, 3", "1, NULL"]),
        },
        Case {
            setup: &[T],
            sql: "SELECT x.a, z.b FROM null_keys x JOIN null_keys y ON (x.a IS NOT DISTINCT FROM y.a) \
                  JOIN null_keys z ON y.b = z.b WHERE z.b = 3",
            right: CaseOutcome::Rows(&["NULL, 3"]),
            theirs: CaseOutcome::Rows(&[]),
        },
    ],
};

const T: &str = "CREATE TABLE null_keys AS \
     SELECT * FROM (VALUES (1, 1), (2, 2), (NULL, 3), (1, NULL)) v(a, b)";

/// Replaces the two rules that mix both kinds of equality.
pub(super) fn install(rules: &mut [LogicalRule]) -> Result<()> {
    let extract = rule(rules, "extract_equijoin_predicate")?;
    *extract = Arc::new(SeparateKeys { theirs: Arc::clone(extract) });
    let flatten = rule(rules, "eliminate_cross_join")?;
    *flatten = Arc::new(SeparateJoins { theirs: Arc::clone(flatten) });
    Ok(())
}

fn nulls_are_equal(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty()
}

/// Keeps equalities as conditions of joins whose keys compare NULL as equal.
#[derive(Debug)]
struct SeparateKeys {
    theirs: LogicalRule,
}

impl OptimizerRule for SeparateKeys {
    fn name(&self) -> &str {
        self.theirs.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.theirs.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match &plan {
            LogicalPlan::Join(join) if nulls_are_equal(join) => Ok(Transformed::no(plan)),
            _ => self.theirs.rewrite(plan, config),
        }
    }
}

/// Merges inner joins, except those whose keys compare NULL as equal.
#[derive(Debug)]
struct SeparateJoins {
    theirs: LogicalRule,
}

impl OptimizerRule for SeparateJoins {
    fn name(&self) -> &str {
        self.theirs.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.theirs.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let mixed = |plan: &LogicalPlan| matches!(plan, LogicalPlan::Join(join) if separate(join));
        let mut found = false;
        plan.apply_with_subqueries(|node| {
            found |= mixed(node);
            Ok(match found {
                true => TreeNodeRecursion::Stop,
                false => TreeNodeRecursion::Continue,
            })
        })?;
        if !found {
            return self.theirs.rewrite(plan, config);
        }
        let fenced = plan.rewrite_all_up(&mut |node| match node {
            LogicalPlan::Join(mut join) if separate(&join) => {
                for side in [&mut join.left, &mut join.right] {
                    if matches!(side.as_ref(), LogicalPlan::Join(_)) {
                        *side = Arc::new(fence(Arc::clone(side)));
                    }
                }
                Ok(Transformed::yes(fence(Arc::new(LogicalPlan::Join(join)))))
            }
            node => Ok(Transformed::no(node)),
        })?;
        let merged = self.theirs.rewrite(fenced.data, config)?;
        let changed = merged.transformed;
        let plan = merged
            .data
            .rewrite_all_up(&mut |node| match node {
                LogicalPlan::Projection(projection) if is_fence(&projection) => {
                    Ok(Transformed::yes(Arc::unwrap_or_clone(projection.input)))
                }
                node => Ok(Transformed::no(node)),
            })
            .data()?;
        Ok(Transformed::new_transformed(plan, changed))
    }
}

fn separate(join: &Join) -> bool {
    join.join_type == JoinType::Inner && nulls_are_equal(join)
}

/// Wraps a plan in a node that is no join and returns the same rows.
fn fence(plan: Arc<LogicalPlan>) -> LogicalPlan {
    let schema = Arc::clone(plan.schema());
    LogicalPlan::Projection(Projection::new_from_schema(plan, schema))
}

fn is_fence(projection: &Projection) -> bool {
    let columns = projection.input.schema().columns();
    matches!(projection.input.as_ref(), LogicalPlan::Join(_) | LogicalPlan::Projection(_))
        && columns.len() == projection.expr.len()
        && columns
            .iter()
            .zip(&projection.expr)
            .all(|(column, expr)| matches!(expr, Expr::Column(same) if same == column))
        && projection.schema.columns() == columns
}
