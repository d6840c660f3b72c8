//! Lets joins yield, so that a query whose client has left ends.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

/// Puts a [`CooperativeExec`] over each join. DataFusion's rule puts one over scans only, because an operator yields
/// when its input does. A join does not: it may return many batches for one of its input, and an aggregate over it
/// then runs for minutes without a point at which its task can be stopped.
#[derive(Debug)]
pub(crate) struct CooperativeJoins;

impl PhysicalOptimizerRule for CooperativeJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let cooperative = |node: Arc<dyn ExecutionPlan>| match node.name().ends_with("JoinExec") {
            true => Transformed::yes(Arc::new(CooperativeExec::new(node)) as _),
            false => Transformed::no(node),
        };
        plan.transform_up(|node| Ok(cooperative(node))).data()
    }

    fn name(&self) -> &str {
        "cooperative_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
