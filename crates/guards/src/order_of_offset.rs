//! Keeps ORDER BY below an OFFSET without LIMIT.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;

use super::{Case, CaseOutcome, Guard, PhysicalRule, insert_around};
use crate::rewrite::Rewrite;

pub(super) const GUARD: Guard = Guard {
    title: "ORDER BY … OFFSET without LIMIT loses its order in a subquery",
    upstream: &[],
    ours: "A sort whose first rows are skipped is kept.",
    cases: &[
        Case {
            setup: &[MANY],
            sql: "SELECT sum(c) FROM (SELECT c, v FROM offset_u ORDER BY v, c OFFSET 3) x",
            right: CaseOutcome::Rows(&["499488"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[MANY],
            sql: "WITH x AS (SELECT c, v FROM offset_u ORDER BY v, c OFFSET 990) SELECT min(c) FROM x",
            right: CaseOutcome::Rows(&["938"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

const MANY: &str = "CREATE TABLE offset_u AS \
     SELECT i * 7919 % 1000 AS c, i % 7 AS v FROM generate_series(0, 999) AS g(i)";

/// Keeps sorts below OFFSET while DataFusion adds and removes them.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) -> Result<()> {
    insert_around(
        rules,
        "EnsureRequirements",
        Arc::new(SortMarkPhase::Add),
        Arc::new(SortMarkPhase::Remove),
    )
}

/// A row limit that no table reaches. A sort with a row limit is not removed.
const ALL: usize = usize::MAX / 4;

/// The two rules, before and after sorts are removed.
#[derive(Debug, Clone, Copy)]
enum SortMarkPhase {
    Add,
    Remove,
}

impl PhysicalOptimizerRule for SortMarkPhase {
    fn optimize(&self, plan: Plan, _options: &ConfigOptions) -> Result<Plan> {
        plan.rewrite_up(&mut |node| match self {
            Self::Add => marked(node),
            Self::Remove => unmarked(node),
        })
        .data()
    }

    fn name(&self) -> &str {
        match self {
            Self::Add => "order_of_offset",
            Self::Remove => "order_of_offset(remove)",
        }
    }

    fn schema_check(&self) -> bool {
        true
    }
}

type Plan = Arc<dyn ExecutionPlan>;

fn marked(node: Plan) -> Result<Transformed<Plan>> {
    let input = match node.downcast_ref::<GlobalLimitExec>() {
        Some(limit) if limit.skip() > 0 && limit.fetch().is_none() => limit.input(),
        _ => return Ok(Transformed::no(node)),
    };
    Ok(match with_sort_marked(input)? {
        Some(input) => Transformed::yes(replace_children_if_necessary(node, vec![input])?),
        None => Transformed::no(node),
    })
}

/// Returns the plan with a mark on the sort that its order comes from, if there is one.
fn with_sort_marked(plan: &Plan) -> Result<Option<Plan>> {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let unlimited = ExecutionPlan::fetch(sort).is_none();
        return Ok(unlimited.then(|| Arc::new(sort.with_fetch(Some(ALL))) as Plan));
    }
    match (plan.children().as_slice(), plan.maintains_input_order().as_slice()) {
        ([child], [true]) => match with_sort_marked(child)? {
            Some(child) => Ok(Some(replace_children_if_necessary(Arc::clone(plan), vec![child])?)),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

fn unmarked(node: Plan) -> Result<Transformed<Plan>> {
    if node.fetch() != Some(ALL) {
        return Ok(Transformed::no(node));
    }
    // DataFusion turned an unnecessary sort into a limit.
    if let Some(limit) = node.downcast_ref::<GlobalLimitExec>()
        && limit.skip() == 0
    {
        return Ok(Transformed::yes(Arc::clone(limit.input())));
    }
    if let Some(limit) = node.downcast_ref::<LocalLimitExec>() {
        return Ok(Transformed::yes(Arc::clone(limit.input())));
    }
    Ok(match node.with_fetch(None) {
        Some(node) => Transformed::yes(node),
        None => Transformed::no(node),
    })
}
