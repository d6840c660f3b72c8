//! Keeps columns that are constant on one side of an outer join from counting as constant above it.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{JoinType, Result};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::{Case, CaseOutcome, Guard, PhysicalRule};
use crate::ForgetfulExec;
use crate::rewrite::Rewrite;

pub(super) const GUARD: Guard = Guard {
    title: "A condition `column = constant` below an outer join makes ORDER BY, GROUP BY and windows wrong",
    upstream: &[],
    ours: "Above the join, such a column is not taken for constant, since it is NULL in rows without a partner: \
           `ForgetfulExec` in EXPLAIN.",
    cases: &[
        Case {
            setup: &[L, R],
            sql: "SELECT l.k, r.y FROM outer_l l LEFT JOIN (SELECT y FROM outer_r WHERE y = 3) r ON l.x = r.y \
                  ORDER BY r.y, l.k",
            right: CaseOutcome::Rows(&["3, 3", "4, 3", "1, NULL", "2, NULL"]),
            theirs: CaseOutcome::Rows(&["1, NULL", "2, NULL", "3, 3", "4, 3"]),
        },
        Case {
            setup: &[L, R],
            sql: "SELECT l.k, row_number() OVER (ORDER BY r.y, l.k) FROM outer_l l \
                  LEFT JOIN (SELECT y FROM outer_r WHERE y = 3) r ON l.x = r.y",
            right: CaseOutcome::Rows(&["3, 1", "4, 2", "1, 3", "2, 4"]),
            theirs: CaseOutcome::Rows(&["1, 1", "2, 2", "3, 3", "4, 4"]),
        },
    ],
};

const L: &str =
    "CREATE TABLE outer_l AS SELECT * FROM (VALUES (1, 1), (2, 2), (3, 3), (4, 3)) v(k, x)";
const R: &str = "CREATE TABLE outer_r AS SELECT * FROM (VALUES (3), (5)) v(y)";

/// Adds the rule before those that check sort orders.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) {
    rules.insert(0, Arc::new(NotConstant));
}

#[derive(Debug)]
struct NotConstant;

impl PhysicalOptimizerRule for NotConstant {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.rewrite_up(&mut |node| {
            let Some(join_type) = join_type(&node) else { return Ok(Transformed::no(node)) };
            let may_be_null = match join_type {
                JoinType::Left => [false, true],
                JoinType::Right => [true, false],
                JoinType::Full => [true, true],
                _ => return Ok(Transformed::no(node)),
            };
            let mut changed = false;
            let children = node.children().into_iter().zip(may_be_null);
            let children = children.map(|(child, may_be_null)| {
                if may_be_null && !child.equivalence_properties().constants().is_empty() {
                    changed = true;
                    return Arc::new(ForgetfulExec::new(Arc::clone(child), true))
                        as Arc<dyn ExecutionPlan>;
                }
                Arc::clone(child)
            });
            let children: Vec<Arc<dyn ExecutionPlan>> = children.collect();
            Ok(match changed {
                true => Transformed::yes(replace_children_if_necessary(node, children)?),
                false => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "constants_of_outer_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn join_type(node: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = node.downcast_ref::<SortMergeJoinExec>() {
        return Some(join.join_type());
    }
    node.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type())
}
