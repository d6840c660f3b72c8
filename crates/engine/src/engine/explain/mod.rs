//! Explains a query before it runs.
//!
//! `statement` finds the query in any statement and plans it without effect. `planner` adds our decisions to SQL's
//! EXPLAIN.

mod planner;
mod statement;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::Schema;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use sluicegate_client::KnownRefusal;
use sluicegate_costmodel::{Dollars, Work};

pub(crate) use self::planner::ExplainPlanner;
pub use self::statement::Effect;
pub(crate) use self::statement::{effect, is_definition, only_reads};
use crate::context::choice::{Decision, Journal};
use crate::context::counters::CounterSnapshot;
pub(crate) use crate::context::expression::{aggregate_in_sql, in_sql, key_in_sql};
use crate::engine::analyze::Analyze;
use crate::engine::plan_graph::PlanGraph;
use crate::engine::sql;
use crate::operators::switch::SwitchEstimate;
use crate::operators::switch::demand::switched;
use crate::store::query_counters::QueryCounters;
use crate::{Engine, Result};

/// A plan, the statements that it would send, and its predicted work and cost.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The plan that would run; an empty one for a statement that reads nothing.
    pub plan: Arc<dyn ExecutionPlan>,
    /// The decision about each operator that has a choice, with its alternatives.
    pub decisions: Vec<Decision>,
    /// The traffic through the session's switch, if it has one, in numbers for predictions.
    pub switched: Vec<SwitchEstimate>,
    /// The statements that the store refused earlier in this session, and that are therefore not sent.
    pub refusals: Vec<KnownRefusal>,
    /// The requests of planning itself: listings, and reads for columns and statistics. No estimate includes them.
    pub planning: CounterSnapshot,
}

/// The predicted work of a query's scans.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate {
    /// The modelled requests and bytes.
    pub work: Work,
    /// The modelled cost in dollars.
    pub cost: Dollars,
    /// The modelled time if the scans ran one after the other.
    pub time: Duration,
}

impl Explanation {
    /// Returns the total predicted work of the chosen strategies.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let mut total = Estimate::default();
        for (place, way) in self.decisions.iter().filter_map(Decision::prediction).enumerate() {
            // The startup time is counted once.
            let started = if place == 0 { Duration::ZERO } else { way.time.startup };
            total.work += way.work;
            total.cost += way.cost.total();
            total.time = total.time.saturating_add(way.time.total().saturating_sub(started));
        }
        total
    }

    /// Returns the plan as data for drawing.
    #[must_use]
    pub fn plan_graph(&self) -> PlanGraph {
        PlanGraph::from_plan(&self.plan, &self.decisions)
    }

    /// Returns the settings that the plan does not follow, each with the reason, as sentences without a full stop:
    /// `scan of s3://bucket/t.csv: sluice.scan = 'select' is not followed: the store has no S3 Select`.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.decisions.iter().filter_map(Decision::warning)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", displayable(self.plan.as_ref()).indent(false))?;
        for decision in &self.decisions {
            write!(f, "{decision}")?;
        }
        for refusal in &self.refusals {
            writeln!(f, "refused before, so no longer sent: {refusal}")?;
        }
        Ok(())
    }
}

pub(crate) async fn explain(engine: &Engine, text: &str) -> Result<Explanation> {
    let journal = Journal::default();
    // The plan lists objects anew, as a query does.
    let counters = Arc::new(QueryCounters::default());
    let session = engine.session_of(&counters, &journal)?;
    let mut state = session.state();
    state.config_mut().options_mut().extensions.insert(engine.sizes.clone());
    let analyze = Analyze::parse(text)?;
    if analyze.is_some() {
        // ANALYZE TABLE fetches whole objects.
        state.config_mut().options_mut().set("sluice.scan", "get")?;
    }
    let query = analyze.map(|analyze| analyze.query());
    let statement = sql::logical_plan(&state, query.as_deref().unwrap_or(text)).await?;
    let plan: Arc<dyn ExecutionPlan> = match statement::work(engine.context(), statement).await? {
        Some(query) => state.create_physical_plan(&query).await?,
        None => Arc::new(EmptyExec::new(Arc::new(Schema::empty()))),
    };
    let endpoints = engine.endpoints().all();
    let refusals = endpoints.iter().flat_map(|endpoint| endpoint.client.refusals()).collect();
    let switched = switched(&plan, state.config_options())?;
    let (decisions, planning) = (journal.take(), counters.read());
    Ok(Explanation { plan, decisions, switched, refusals, planning })
}
