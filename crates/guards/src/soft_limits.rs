//! Supports SELECT DISTINCT … LIMIT over sorted rows.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;

use super::{Case, CaseOutcome, Guard, PhysicalRule};
use crate::rewrite::Rewrite;

pub(super) const GUARD: Guard = Guard {
    title: "SELECT DISTINCT … LIMIT with a window function fails",
    upstream: &["datafusion#25350"],
    ours: "Where rows reach DISTINCT in an order, DISTINCT reads all of them, and LIMIT comes after it.",
    cases: &[Case {
        setup: &["CREATE TABLE envs AS SELECT * FROM (VALUES ('a'), ('a'), ('b')) v(env)"],
        sql: "SELECT DISTINCT env, count(*) OVER (PARTITION BY env) AS n FROM envs LIMIT 30",
        right: CaseOutcome::Rows(&["a, 2", "b, 1"]),
        theirs: CaseOutcome::Error("Ordering direction required"),
    }],
};

/// Adds the rule at the end, when the order of rows is decided.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) {
    rules.push(Arc::new(SoftLimits));
}

/// Removes the limit of an aggregate whose rows have been ordered since. The limit only saved work.
#[derive(Debug)]
struct SoftLimits;

impl PhysicalOptimizerRule for SoftLimits {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.rewrite_up(&mut |node| {
            let Some(aggregate) = node.downcast_ref::<AggregateExec>() else {
                return Ok(Transformed::no(node));
            };
            let undirected = aggregate.limit_options().is_some_and(|it| it.descending.is_none());
            Ok(match undirected && !aggregate.is_unordered_unfiltered_group_by_distinct() {
                true => Transformed::yes(Arc::new(aggregate.with_new_limit_options(None)) as _),
                false => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "soft_limits"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
