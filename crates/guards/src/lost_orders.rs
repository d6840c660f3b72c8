//! Sorts again where a plan has lost a required order.

use crate::rewrite::Rewrite;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::physical_expr::{LexOrdering, LexRequirement};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::{Case, CaseOutcome, Guard, PhysicalRule};
use crate::ForgetfulExec;

pub(super) const GUARD: Guard = Guard {
    title: "ORDER BY two expressions of a column beside DISTINCT is refused (SanityCheckPlan)",
    upstream: &[],
    ours: "Before a plan is checked, what needs an order that its input is not known to have gets it sorted. So do orders \
           by an expression of a column that statistics say is constant.",
    cases: &[Case {
        setup: &[T],
        sql: "SELECT DISTINCT abs(c / 4) AS q, c FROM lost_t ORDER BY c + 1, abs(c / 4)",
        right: CaseOutcome::Rows(&["1, 5", "1, 6", "1, 7"]),
        theirs: CaseOutcome::Error("SanityCheckPlan"),
    }],
};

const T: &str = "CREATE TABLE lost_t AS SELECT * FROM (VALUES (5), (6), (7)) v(c)";

/// Adds the rule just before the plan is checked, when no rule changes it any more.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) -> Result<()> {
    let check = rules.iter().position(|rule| rule.name() == "SanityCheckPlan");
    let check = check.ok_or_else(|| internal_datafusion_err!("there is no SanityCheckPlan"))?;
    rules.insert(check, Arc::new(Sorted));
    Ok(())
}

#[derive(Debug)]
struct Sorted;

impl PhysicalOptimizerRule for Sorted {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.rewrite_up(&mut |node| {
            let mut changed = false;
            let mut children = Vec::new();
            for (child, required) in node.children().into_iter().zip(node.required_input_ordering())
            {
                let sorted = match required {
                    Some(required) => sorted(child, required.into_single())?,
                    None => None,
                };
                changed |= sorted.is_some();
                children.push(sorted.unwrap_or_else(|| Arc::clone(child)));
            }
            Ok(match changed {
                true => Transformed::yes(replace_children_if_necessary(node, children)?),
                false => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "lost_orders"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns an input sorted in the required order, or `None` if it is known to have that order.
fn sorted(
    child: &Arc<dyn ExecutionPlan>,
    required: LexRequirement,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if child.equivalence_properties().ordering_satisfy_requirement(required.clone())? {
        return Ok(None);
    }
    let (input, fetch) = match child.downcast_ref::<SortExec>() {
        // The input is sorted, but its other properties hide that.
        Some(sort) => {
            let input = ForgetfulExec::new(Arc::clone(sort.input()), false);
            (Arc::new(input) as Arc<dyn ExecutionPlan>, sort.fetch())
        }
        None => (Arc::clone(child), None),
    };
    let several = child.output_partitioning().partition_count() > 1;
    let sort = SortExec::new(LexOrdering::from(required), input);
    Ok(Some(Arc::new(sort.with_preserve_partitioning(several).with_fetch(fetch))))
}
