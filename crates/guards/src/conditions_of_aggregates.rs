//! Keeps conditions above aggregates that return a row even for no input.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Aggregate, Expr, GroupingSet, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::{Case, CaseOutcome, Guard, LogicalRule, rule};

pub(super) const GUARD: Guard = Guard {
    title: "A condition that names no column is moved below an aggregate of all rows",
    upstream: &[],
    ours: "A condition stays above an aggregate without GROUP BY, and above one with an empty grouping set, as ROLLUP has: \
           these have a row for no rows, which the condition may drop.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT min(a) FROM (VALUES (1)) t(a) HAVING min(a) = 1 AND min(a) = 2",
            right: CaseOutcome::Rows(&[]),
            theirs: CaseOutcome::Rows(&["NULL"]),
        },
        Case {
            setup: &[],
            sql: "SELECT count(*) FROM (SELECT min(a) AS o FROM (VALUES (1)) t(a)) d \
                  WHERE (SELECT max(x) FROM (VALUES (1)) u(x)) = 2",
            right: CaseOutcome::Rows(&["0"]),
            theirs: CaseOutcome::Rows(&["1"]),
        },
        Case {
            setup: &[],
            sql: "SELECT a, min(a) FROM (VALUES (1)) t(a) GROUP BY ROLLUP(a) \
                  HAVING (SELECT max(x) FROM (VALUES (1)) u(x)) = 2",
            right: CaseOutcome::Rows(&[]),
            theirs: CaseOutcome::Rows(&["NULL, NULL"]),
        },
    ],
};

/// Replaces the rule that pushes conditions down.
pub(super) fn install(rules: &mut [LogicalRule]) -> Result<()> {
    let push = rule(rules, "push_down_filter")?;
    *push = Arc::new(AboveAggregates { theirs: Arc::clone(push) });
    Ok(())
}

/// Pushes conditions down, but not below aggregates that return a row even for no input.
#[derive(Debug)]
struct AboveAggregates {
    theirs: LogicalRule,
}

impl OptimizerRule for AboveAggregates {
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
        if is_on_all_rows(&plan) {
            Ok(Transformed::no(plan))
        } else {
            self.theirs.rewrite(plan, config)
        }
    }
}

/// Returns true if a plan is a filter on an aggregate that returns a row even for no input.
fn is_on_all_rows(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = plan else { return false };
    match filter.input.as_ref() {
        LogicalPlan::Aggregate(aggregate) => has_row_for_none(aggregate),
        other => is_on_all_rows(other),
    }
}

fn has_row_for_none(aggregate: &Aggregate) -> bool {
    match aggregate.group_expr.as_slice() {
        [] | [Expr::GroupingSet(GroupingSet::Rollup(_) | GroupingSet::Cube(_))] => true,
        [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => sets.iter().any(Vec::is_empty),
        _ => false,
    }
}
