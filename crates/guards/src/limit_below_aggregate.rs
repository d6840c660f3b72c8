//! Keeps the LIMIT of groups from limiting the rows of these groups.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::{Case, CaseOutcome, Guard, PhysicalRule, insert_after};
use crate::rewrite::Rewrite;

pub(super) const GUARD: Guard = Guard {
    title: "GROUP BY or DISTINCT over sorted rows, with ORDER BY … LIMIT, loses groups",
    upstream: &["datafusion#24927"],
    ours: "Sorts between the halves of an aggregate keep all rows.",
    cases: &[
        Case {
            setup: &[],
            sql: "WITH s(x) AS (VALUES (0), (1), (2) ORDER BY 1 LIMIT 3), \
                  t AS (SELECT * FROM s UNION ALL SELECT * FROM s UNION ALL SELECT * FROM s) \
                  SELECT DISTINCT x FROM t ORDER BY x LIMIT 3",
            right: CaseOutcome::Rows(&["0", "1", "2"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[],
            sql: "WITH s(x, y) AS (VALUES (0, 2), (0, 4), (0, 7), (1, 1), (1, 3) ORDER BY 1, 2 LIMIT 5), \
                  t AS (SELECT * FROM s UNION ALL SELECT * FROM s UNION ALL SELECT * FROM s) \
                  SELECT x, min(y), sum(y) FROM t GROUP BY x ORDER BY x LIMIT 2",
            right: CaseOutcome::Rows(&["0, 2, 39", "1, 1, 12"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

/// Adds the rule after sorts are placed.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) -> Result<()> {
    insert_after(rules, "EnsureRequirements", Arc::new(AllRows))
}

type Plan = Arc<dyn ExecutionPlan>;

#[derive(Debug)]
struct AllRows;

impl PhysicalOptimizerRule for AllRows {
    fn optimize(&self, plan: Plan, _options: &ConfigOptions) -> Result<Plan> {
        plan.rewrite_up(&mut |node| {
            let Some(aggregate) = node.downcast_ref::<AggregateExec>() else {
                return Ok(Transformed::no(node));
            };
            let halves =
                matches!(aggregate.mode(), AggregateMode::Final | AggregateMode::FinalPartitioned);
            match with_all_rows(aggregate.input(), halves)? {
                Some(input) => {
                    Ok(Transformed::yes(replace_children_if_necessary(node, vec![input])?))
                }
                None => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &str {
        "limit_below_aggregate"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the input of an aggregate without row limits that the statement does not contain, or `None` if it has
/// none.
///
/// Between the two halves of an aggregate, no limit is from the statement. Elsewhere, rows that the statement limits
/// are in one partition.
fn with_all_rows(plan: &Plan, halves: bool) -> Result<Option<Plan>> {
    if plan.is::<AggregateExec>() || (!halves && plan.output_partitioning().partition_count() == 1)
    {
        return Ok(None);
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>()
        && ExecutionPlan::fetch(sort).is_some()
    {
        return Ok(plan.with_fetch(None));
    }
    let children = plan.children();
    let [child] = children.as_slice() else { return Ok(None) };
    let inner = with_all_rows(child, halves)?;
    let below = match &inner {
        Some(child) => replace_children_if_necessary(Arc::clone(plan), vec![Arc::clone(child)])?,
        None => Arc::clone(plan),
    };
    if halves && below.fetch().is_some() {
        return Ok(below.with_fetch(None).or(inner.map(|_| below)));
    }
    Ok(inner.map(|_| below))
}
