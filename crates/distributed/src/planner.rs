//! Conversion of a plan for one machine into a plan in stages.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{Explain, LogicalPlan};
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_distributed::{
    DistributedConfig, DistributedExec, NetworkBoundaryExt, SessionStateBuilderExt,
    display_plan_ascii,
};
use sluicegate_engine::choice::Journal;
use sluicegate_engine::{Endpoints, ErrorKind, UserError, leaf_tasks};

use crate::coordinator::ClusterExec;
use crate::{coalesce, keys, subqueries, switch, unserializable};

/// Plans queries with the engine's planner and cuts the plans into stages.
pub(crate) struct ClusterPlanner {
    inner: Arc<dyn QueryPlanner + Send + Sync>,
    workers: usize,
}

impl ClusterPlanner {
    pub(crate) fn new(inner: Arc<dyn QueryPlanner + Send + Sync>, workers: usize) -> Self {
        Self { inner, workers }
    }

    /// Plans a query that runs on the coordinator alone. Strategies are chosen, and times predicted, for one machine.
    async fn local_address(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut state = state(session)?.clone();
        let options = state.config_mut().options_mut();
        if let Some(journal) = Journal::from_options(options) {
            // The decisions so far were made for the whole cluster.
            drop(journal.take());
        }
        if let Some(endpoints) = Endpoints::from_options(options).map(Endpoints::on_one_machine) {
            options.extensions.insert(endpoints);
        }
        self.inner.create_physical_plan(logical, &state).await
    }

    async fn in_stages(
        &self,
        whole: Arc<dyn ExecutionPlan>,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if DistributedConfig::from_config_options(session.config_options())?.partial_reduce {
            return Err(partial_reduce());
        }
        let stays = |node: &Arc<dyn ExecutionPlan>| {
            Ok(has_constant_partition(node) || node.is::<RecursiveQueryExec>())
        };
        if whole.exists(stays)? || unserializable::is_any(&whole, logical)? {
            return Ok(whole);
        }
        let mut plan = Arc::clone(&whole);
        if plan.exists(|node| Ok(leaf_tasks::is_switch(node.as_ref())))? {
            let divided = switch::behind_workers(plan, self.workers, session.config())?;
            plan = divided.data;
            if !divided.transformed {
                return Ok(whole);
            }
        }
        let given = Arc::new(ExistingPlan { plan: coalesce::explicitly(plan)? });
        let mut planner =
            SessionStateBuilder::new().with_query_planner(given).with_distributed_planner();
        let Some(planner) = planner.query_planner().take() else {
            return internal_err!("datafusion-distributed has no planner");
        };
        let staged = planner.create_physical_plan(logical, session).await?;
        let is_cut = staged.exists(|node| Ok(node.is::<DistributedExec>()))?;
        if !is_cut || !unserializable::comes_back(&whole, &state(session)?.task_ctx()) {
            return Ok(whole);
        }
        let (plan, keys) = keys::within_stages(staged)?;
        Ok(Arc::new(ClusterExec::new(plan, self.workers, keys)))
    }
}

fn state(session: &dyn Session) -> Result<&SessionState> {
    match session.as_any().downcast_ref::<SessionState>() {
        Some(state) => Ok(state),
        None => internal_err!("a session of another kind"),
    }
}

fn is_staged(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|node| Ok(node.is_network_boundary()))
}

impl fmt::Debug for ClusterPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterPlanner").field("workers", &self.workers).finish_non_exhaustive()
    }
}

#[async_trait]
impl QueryPlanner for ClusterPlanner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let query = match logical {
            LogicalPlan::Explain(explained) => explained.plan.as_ref(),
            query => query,
        };
        let Some(joined) = subqueries::as_joins(query, state(session)?)? else {
            return self.local_address(logical, session).await;
        };
        let plan = self.inner.create_physical_plan(&joined, session).await?;
        let staged = self.in_stages(plan, &joined, session).await?;
        if !is_staged(&staged)? {
            return self.local_address(logical, session).await;
        }
        let LogicalPlan::Explain(explained) = logical else { return Ok(staged) };
        // EXPLAIN must show the plan that would run.
        let explained = Explain { plan: Arc::new(joined), ..explained.clone() };
        let explained = LogicalPlan::Explain(explained);
        let plan = self.inner.create_physical_plan(&explained, session).await?;
        let Some(shown) = plan.downcast_ref::<ExplainExec>() else { return Ok(plan) };
        let staged = display_plan_ascii(staged.as_ref(), false);
        let plans = shown.stringified_plans().iter().cloned().map(|shown| match shown.plan_type {
            PlanType::FinalPhysicalPlan => {
                let decided = shown.plan.split_once("\n\n").map(|(_, decided)| decided);
                let text = match decided {
                    Some(decided) => format!("{}\n\n{decided}", staged.trim_end()),
                    None => staged.clone(),
                };
                StringifiedPlan::new(PlanType::FinalPhysicalPlan, text)
            }
            _ => shown,
        });
        Ok(Arc::new(ExplainExec::new(shown.schema(), plans.collect(), shown.verbose())))
    }
}

/// With this option, workers add a node to their stages that the coordinator does not have. datafusion-distributed
/// 4.0 then assigns each node's metrics to the next node, and the last node's request counts are lost.
fn partial_reduce() -> DataFusionError {
    UserError {
        kind: ErrorKind::Setting,
        message:
            "with distributed.partial_reduce, what workers ask of the stores cannot be counted"
                .to_owned(),
        hint: Some("SET distributed.partial_reduce = false.".to_owned()),
    }
    .into()
}

/// Returns true if a window is partitioned by an expression that is constant over all rows. Its stage would lose the
/// ordering that the window relies on, and fail.
fn has_constant_partition(node: &Arc<dyn ExecutionPlan>) -> bool {
    let windows = unserializable::windows(node.as_ref());
    let inputs = node.children();
    let (Some(input), false) = (inputs.first(), windows.is_empty()) else { return false };
    let rows = input.equivalence_properties();
    let mut keys = windows.iter().flat_map(|it| it.partition_by());
    keys.any(|key| rows.is_expr_constant(key).is_some())
}

/// A planner that returns a finished plan.
#[derive(Debug)]
struct ExistingPlan {
    plan: Arc<dyn ExecutionPlan>,
}

#[async_trait]
impl QueryPlanner for ExistingPlan {
    async fn create_physical_plan(
        &self,
        _logical: &LogicalPlan,
        _session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::clone(&self.plan))
    }
}
