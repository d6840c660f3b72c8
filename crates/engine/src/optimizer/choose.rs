//! Chooses plans: each operator takes the strategy that the cost model predicts to be best, or the one that the
//! session forces. No other module chooses.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;

use super::key_paths::KeyPaths;
use super::{adaptive, aggregate, group_by, join, scan, top_k};
use crate::context::choice::Journal;
use crate::store::chooser::{Chooser, OperatorChoice};
use crate::store::endpoint::Endpoint;

/// A plan, as strategies build it.
pub(super) type Plan = Arc<dyn ExecutionPlan>;

/// A choice of an operator, and the endpoint of its store.
pub(super) struct EndpointChoice {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) question: OperatorChoice<Plan>,
}

/// Returns the choice of an operator for a node of the plan, if the node is of its kind. The arguments are the node,
/// the node above, the paths of join keys in the plan, and the session's options.
type ChoiceFn =
    fn(&Plan, Option<&Plan>, &KeyPaths, &ConfigOptions) -> Result<Option<EndpointChoice>>;

/// All operators with a choice. The first one that returns a choice decides about the node and everything below it
/// that its strategies rebuild. For example, an aggregate decides about its scan.
const OPERATORS: [ChoiceFn; 4] =
    [aggregate::question, group_by::question, top_k::question, scan::question];

/// Replaces each operator with a choice by its best strategy.
#[derive(Debug)]
pub(crate) struct Choose;

impl PhysicalOptimizerRule for Choose {
    fn optimize(&self, plan: Plan, options: &ConfigOptions) -> Result<Plan> {
        let paths = KeyPaths::find(&plan, options)?;
        join::note_unfollowed(&plan, &paths, options);
        choose(plan, None, &paths, options)
    }

    fn name(&self) -> &str {
        "choose"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn choose(
    node: Plan,
    above: Option<&Plan>,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Result<Plan> {
    // A join decides about each scan that its keys reach separately.
    let mut asked = join::question(&node, above, paths, options)?;
    for ask in OPERATORS {
        if asked.is_none() {
            asked = ask(&node, above, paths, options)?;
        }
    }
    if let Some(EndpointChoice { endpoint, question }) = asked {
        let (plan, mut decision) = Chooser::for_endpoint(&endpoint, options).choose(question)?;
        decision.notes.extend(adaptive::note(&plan, &endpoint, options));
        Journal::note(options, || decision);
        return Ok(plan);
    }
    let children: Vec<Plan> = node.children().into_iter().cloned().collect();
    let children = children
        .into_iter()
        .map(|child| choose(child, Some(&node), paths, options))
        .collect::<Result<Vec<_>>>()?;
    replace_children_if_necessary(node, children)
}
