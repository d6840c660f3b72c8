//! The one place where plans are chosen: each operator of ours goes the way that the cost model
//! predicts to be better, or the way that the session forces.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;

use super::key_paths::KeyPaths;
use super::{aggregate, group_by, join, scan, top_k, turning};
use crate::choice::Journal;
use crate::choice::chooser::{Chooser, Question};
use crate::endpoint::Endpoint;

/// A plan, as ways build it.
pub(super) type Plan = Arc<dyn ExecutionPlan>;

/// What an operator wants to know, and the store that it is about.
pub(super) struct Asked {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) question: Question<Plan>,
}

/// The question of an operator about a node of the plan, if the node is one of its kind. The node
/// above is given, too, and the paths of keys in the plan that it is in.
type Ask = fn(&Plan, Option<&Plan>, &KeyPaths, &ConfigOptions) -> Result<Option<Asked>>;

/// Every operator that has a choice. The first whose question it is decides about a node and all
/// below it that its ways rebuild: an aggregate decides about its scan.
const OPERATORS: [Ask; 4] =
    [aggregate::question, group_by::question, top_k::question, scan::question];

/// Asks every operator of ours which ways it has, and takes the best of each.
#[derive(Debug)]
pub struct Choose;

impl PhysicalOptimizerRule for Choose {
    fn optimize(&self, plan: Plan, options: &ConfigOptions) -> Result<Plan> {
        let paths = KeyPaths::of(&plan, options)?;
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
    // A join decides about the scans that its keys reach, each by itself.
    let mut asked = join::question(&node, above, paths, options)?;
    for ask in OPERATORS {
        if asked.is_none() {
            asked = ask(&node, above, paths, options)?;
        }
    }
    if let Some(Asked { endpoint, question }) = asked {
        let (plan, mut decision) = Chooser::of(&endpoint, options).choose(question)?;
        decision.notes.extend(turning::note(&plan, &endpoint, options));
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
