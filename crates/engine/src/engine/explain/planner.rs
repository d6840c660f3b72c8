//! SQL's EXPLAIN, with the decisions of our rules.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::execution::SessionState;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};

use crate::context::choice::Journal;

/// Plans like another planner, and adds the decisions of the rules and their reasons to the plan that EXPLAIN shows.
#[derive(Debug)]
pub(crate) struct ExplainPlanner {
    inner: Option<Arc<dyn QueryPlanner + Send + Sync>>,
}

impl ExplainPlanner {
    /// Wraps a session's planner, or DataFusion's own if it has none.
    pub(crate) fn new(inner: Option<Arc<dyn QueryPlanner + Send + Sync>>) -> Self {
        Self { inner }
    }

    async fn plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match &self.inner {
            Some(inner) => inner.create_physical_plan(logical, session).await,
            None => DefaultPhysicalPlanner::default().create_physical_plan(logical, session).await,
        }
    }
}

#[async_trait]
impl QueryPlanner for ExplainPlanner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = session.as_any().downcast_ref::<SessionState>();
        let (LogicalPlan::Explain(_), Some(state)) = (logical, state) else {
            return self.plan(logical, session).await;
        };
        let journal = Journal::default();
        let mut state = state.clone();
        journal.keep(state.config_mut().options_mut());
        let plan = self.plan(logical, &state).await?;
        let Some(explained) = plan.downcast_ref::<ExplainExec>() else { return Ok(plan) };
        let mut said = String::new();
        let mut bases = Vec::new();
        for decision in journal.take() {
            // Writing to a string cannot fail.
            let _ = write!(said, "{decision}");
            bases.extend(decision.basis.filter(|basis| !bases.contains(basis)));
        }
        for basis in bases {
            let _ = writeln!(said, "modelled for {basis}");
        }
        if said.is_empty() {
            return Ok(plan);
        }
        let plans =
            explained.stringified_plans().iter().cloned().map(|shown| match shown.plan_type {
                PlanType::FinalPhysicalPlan => {
                    let text = format!("{}\n\n{}", shown.plan.trim_end(), said.trim_end());
                    StringifiedPlan::new(PlanType::FinalPhysicalPlan, text)
                }
                _ => shown,
            });
        Ok(Arc::new(ExplainExec::new(explained.schema(), plans.collect(), explained.verbose())))
    }
}
