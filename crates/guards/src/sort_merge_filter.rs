//! Makes columns nullable in conditions of outer sort-merge joins.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{JoinType, Result};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::joins::utils::JoinFilter;

use super::{Case, CaseOutcome, Guard, PhysicalRule};
use crate::ForgetfulExec;
use crate::rewrite::Rewrite;

pub(super) const GUARD: Guard = Guard {
    title: "Outer joins with a condition fail if `prefer_hash_join` is off",
    upstream: &[],
    ours: "The condition is computed over columns that may be NULL, as those of rows without a partner are.",
    cases: &[Case {
        setup: &[
            "CREATE TABLE smj_l AS SELECT * FROM (VALUES (1, 1), (2, 5)) v(a, b)",
            "CREATE TABLE smj_r AS SELECT * FROM (VALUES (1, 2), (3, 3)) v(c, d)",
            "SET datafusion.optimizer.prefer_hash_join = false",
        ],
        sql: "SELECT * FROM smj_l LEFT JOIN smj_r ON a = c AND b < d",
        right: CaseOutcome::Rows(&["1, 1, 1, 2", "2, 5, NULL, NULL"]),
        theirs: CaseOutcome::Error("declared as non-nullable"),
    }],
};

/// Adds the rule before those that check joins.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) {
    rules.insert(0, Arc::new(NullableFilter));
}

#[derive(Debug)]
struct NullableFilter;

impl PhysicalOptimizerRule for NullableFilter {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if options.optimizer.prefer_hash_join {
            return Ok(plan);
        }
        plan.rewrite_up(&mut |node| match node.downcast_ref::<SortMergeJoinExec>() {
            Some(join) if join.filter.is_some() => {
                let join: Arc<dyn ExecutionPlan> = match with_nullable_filter(join)? {
                    Some(join) => Arc::new(join),
                    None => Arc::clone(&node),
                };
                // A projection that is pushed below the join would remove columns that its condition reads.
                let kept: Arc<dyn ExecutionPlan> = Arc::new(ForgetfulExec::new(join, true));
                Ok(Transformed::yes(kept))
            }
            _ => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "sort_merge_filter"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn with_nullable_filter(join: &SortMergeJoinExec) -> Result<Option<SortMergeJoinExec>> {
    let outer = matches!(join.join_type, JoinType::Left | JoinType::Right | JoinType::Full);
    let filter = match &join.filter {
        Some(filter) if outer => filter,
        _ => return Ok(None),
    };
    let fields = filter.schema().fields().iter();
    let fields: Vec<Field> =
        fields.map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let filter = JoinFilter::new(
        Arc::clone(filter.expression()),
        filter.column_indices().to_vec(),
        Arc::new(Schema::new(fields)),
    );
    let join = SortMergeJoinExec::try_new(
        Arc::clone(&join.left),
        Arc::clone(&join.right),
        join.on.clone(),
        Some(filter),
        join.join_type,
        join.sort_options.clone(),
        join.null_equality,
    )?;
    Ok(Some(join))
}
