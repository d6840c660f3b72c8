//! Supports ORDER BY above a UNION ALL of equal columns.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::{Case, CaseOutcome, Guard, PhysicalRule};
use crate::ForgetfulExec;
use crate::rewrite::Rewrite;

pub(super) const GUARD: Guard = Guard {
    title: "ORDER BY two equal columns of a UNION ALL is refused (SanityCheckPlan)",
    upstream: &[],
    ours: "Below the union, equal columns are sorted by all keys, since the union does not know that they are equal: \
           `ForgetfulExec` in EXPLAIN.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT a AS x, a AS y FROM unions UNION ALL SELECT b AS x, b AS y FROM unions ORDER BY x, y",
            right: CaseOutcome::Rows(&["1, 1", "2, 2", "3, 3", "4, 4", "5, 5", "5, 5"]),
            theirs: CaseOutcome::Error("SanityCheckPlan"),
        },
        Case {
            setup: &[T],
            sql: "SELECT a, b FROM unions WHERE a = b UNION ALL SELECT b, a FROM unions WHERE a < b ORDER BY 1, 2",
            right: CaseOutcome::Rows(&["3, 1", "4, 2", "5, 5"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

const T: &str = "CREATE TABLE unions AS SELECT * FROM (VALUES (1, 3), (2, 4), (5, 5)) v(a, b)";

/// Adds the rule before those that check sort orders.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) {
    rules.insert(0, Arc::new(NotEqual));
}

#[derive(Debug)]
struct NotEqual;

impl PhysicalOptimizerRule for NotEqual {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.rewrite_up(&mut |node| {
            if !node.is::<UnionExec>() || !node.children().into_iter().any(has_equal_columns) {
                return Ok(Transformed::no(node));
            }
            let children =
                node.children().into_iter().map(|child| match has_equal_columns(child) {
                    true => Arc::new(ForgetfulExec::new(Arc::clone(child), true))
                        as Arc<dyn ExecutionPlan>,
                    false => Arc::clone(child),
                });
            let children = children.collect();
            Ok(Transformed::yes(replace_children_if_necessary(node, children)?))
        })
        .data()
    }

    fn name(&self) -> &str {
        "order_of_unions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn has_equal_columns(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.equivalence_properties().eq_group().iter().any(|class| {
        class.iter().filter(|expr| expr.downcast_ref::<Column>().is_some()).count() > 1
    })
}
