//! Groups sorted rows correctly by ROLLUP, CUBE and GROUPING SETS.

use crate::rewrite::Rewrite;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, InputOrderMode};

use super::{Case, CaseOutcome, Guard, PhysicalRule};
use crate::ForgetfulExec;

pub(super) const GUARD: Guard = Guard {
    title: "ROLLUP, CUBE and GROUPING SETS of sorted rows give wrong groups",
    upstream: &["datafusion#24421"],
    ours: "Rows are grouped as if they were not sorted, since those of a smaller grouping set are not: \
           `ForgetfulExec` in EXPLAIN.",
    cases: &[Case {
        setup: &[
            "CREATE TABLE sets_t AS SELECT * FROM (VALUES (4, 1), (4, 2), (1, 3), (4, 3), (3, 2)) v(k, x)",
            "SET datafusion.execution.batch_size = 1",
        ],
        sql: "SELECT c1, max(c0) FROM (SELECT DISTINCT x AS c0, x AS c1 FROM sets_t ORDER BY c0, c1 LIMIT 1) t \
              GROUP BY GROUPING SETS ((c1), (c0), ())",
        right: CaseOutcome::Rows(&["1, 1", "NULL, 1", "NULL, 1"]),
        theirs: CaseOutcome::Varies,
    }],
};

/// Adds the rule before those that check sort orders.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) {
    rules.insert(0, Arc::new(Unsorted));
}

#[derive(Debug)]
struct Unsorted;

impl PhysicalOptimizerRule for Unsorted {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.rewrite_up(&mut |node| {
            let input = match node.downcast_ref::<AggregateExec>() {
                Some(aggregate)
                    if aggregate.group_expr().has_grouping_set()
                        && is_known(aggregate.input(), aggregate.input_order_mode()) =>
                {
                    Arc::clone(aggregate.input())
                }
                _ => return Ok(Transformed::no(node)),
            };
            let input: Arc<dyn ExecutionPlan> = Arc::new(ForgetfulExec::new(input, false));
            Ok(Transformed::yes(replace_children_if_necessary(node, vec![input])?))
        })
        .data()
    }

    fn name(&self) -> &str {
        "sorted_grouping_sets"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns true if the aggregate would rely on an order, or on constant or equal columns.
fn is_known(input: &Arc<dyn ExecutionPlan>, mode: &InputOrderMode) -> bool {
    let known = input.equivalence_properties();
    *mode != InputOrderMode::Linear
        || !known.constants().is_empty()
        || !known.eq_group().is_empty()
        || !known.oeq_class().is_empty()
}
