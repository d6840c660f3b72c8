//! One query with counters of its requests to the stores.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::execution::{SendableRecordBatchStream, SessionState};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};

use crate::Result;
use crate::context::choice::{Decision, Journal};
use crate::context::counters::CounterSnapshot;
use crate::context::panics;
use crate::context::timeline::RequestLog;
use crate::engine::plan_graph::PlanGraph;
use crate::engine::plan_graph::scan::config;
pub use crate::store::query_counters::QueryCounters;

/// A planned query with its own counters. Clones share the counters.
#[derive(Clone)]
pub struct Query {
    frame: DataFrame,
    counters: Arc<QueryCounters>,
    journal: Journal,
    schema: SchemaRef,
    /// The plan that runs; empty until [`Query::start`].
    plan: Arc<OnceLock<Arc<dyn ExecutionPlan>>>,
}

/// A record of a finished or running query for display: see [`Query::report`].
#[derive(Debug, Clone)]
pub struct QueryReport {
    /// The plan that ran, or `None` if the statement did all of its work when it was planned, or did not get so far.
    pub plan: Option<Arc<dyn ExecutionPlan>>,
    /// The decisions about its operators, with the predictions.
    pub decisions: Vec<Decision>,
    /// The plan as data for drawing, with the counts of the run.
    pub picture: PlanGraph,
    /// The requests of the query with their times.
    pub recorded: RequestLog,
}

impl Query {
    pub(crate) fn new(frame: DataFrame, counters: Arc<QueryCounters>, journal: Journal) -> Self {
        let (state, plan) = frame.clone().into_parts();
        let schema = analyzed_schema(&state, &plan);
        Self { frame, counters, journal, schema, plan: Arc::default() }
    }

    /// Returns the columns of the rows. A column of a UNION, CASE or COALESCE has the type that all of its values fit
    /// into, which the plan of [`Query::frame`] does not have before it is analyzed.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Replaces the plan, for which nothing is counted yet.
    pub(crate) fn with_plan(self, plan: LogicalPlan) -> Self {
        let (state, _) = self.frame.into_parts();
        let schema = analyzed_schema(&state, &plan);
        Self { frame: DataFrame::new(state, plan), schema, plan: Arc::default(), ..self }
    }

    /// Starts the query. Dropping the stream cancels it.
    ///
    /// # Errors
    ///
    /// If it cannot be planned; an error of the run is an item of the stream.
    pub async fn start(&self) -> datafusion::common::Result<SendableRecordBatchStream> {
        let context = Arc::new(self.frame.task_ctx());
        let frame = self.frame.clone();
        let planned = frame.create_physical_plan();
        let plan = panics::caught("planning the query", planned).await?;
        if let Some(timeline) = self.counters.timeline() {
            timeline.planned();
        }
        // If the query is started twice, the plan of the first run is kept.
        let _ = self.plan.set(Arc::clone(&plan));
        Ok(panics::caught_rows(execute_stream(plan, context)?))
    }

    /// Returns a record of the query so far, or `None` without a timeline.
    #[must_use]
    pub fn report(&self) -> Option<QueryReport> {
        let recorded = self.counters.timeline()?.read();
        let decisions = self.journal.decisions();
        let plan = self.plan.get().cloned();
        let picture = plan.as_ref().map(|plan| PlanGraph::ran(plan, &decisions, &recorded));
        Some(QueryReport { plan, decisions, picture: picture.unwrap_or_default(), recorded })
    }

    /// Returns a query that reads at most this many rows of this one. Returns none if the query sorts, groups or
    /// joins, or has a limit of its own, because then its rows do not come as they are read.
    ///
    /// # Errors
    ///
    /// If the plan cannot take a limit; no plan that reads rows refuses one today.
    pub fn first(&self, rows: usize) -> Result<Option<Self>> {
        if !comes_as_read(self.frame.logical_plan()) {
            return Ok(None);
        }
        let frame = self.frame.clone().limit(0, Some(rows))?;
        Ok(Some(Self { frame, plan: Arc::default(), ..self.clone() }))
    }

    /// Returns the total size in bytes, as listed, of the files that the running query reads, or `None` before it
    /// runs. A query may read fewer bytes, or some of them twice.
    #[must_use]
    pub fn bytes_to_read(&self) -> Option<u64> {
        let mut bytes = 0;
        let counted = self.plan.get()?.apply(|node| {
            let groups = config(node).into_iter().flat_map(|config| &config.file_groups);
            bytes += groups.flat_map(|group| group.files()).map(size_of_part).sum::<u64>();
            Ok(TreeNodeRecursion::Continue)
        });
        counted.is_ok().then_some(bytes)
    }

    /// Returns the size in bytes of the objects and files that the query wrote, as COPY and INSERT do; 0 until all of
    /// them are written.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.counters.written()
    }

    /// Runs the query and returns all of its rows.
    ///
    /// # Errors
    ///
    /// If the query fails.
    pub async fn collect(&self) -> Result<Vec<RecordBatch>> {
        Ok(panics::caught("the query", self.frame.clone().collect()).await?)
    }

    /// Returns the query as a DataFrame; its runs are counted by this query.
    #[must_use]
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// Returns the counters of the query, which are shared with its runs.
    #[must_use]
    pub fn counters(&self) -> &Arc<QueryCounters> {
        &self.counters
    }

    /// Converts the query into a DataFrame, without its counters.
    #[must_use]
    pub fn into_frame(self) -> DataFrame {
        self.frame
    }

    /// Returns the requests and bytes of the query so far: listings and samples of the planning, all requests of its
    /// nodes, and local reads after a store could not answer.
    #[must_use]
    pub fn counted(&self) -> CounterSnapshot {
        self.counters.read()
    }

    /// Returns the requests and bytes of the query so far for each endpoint, by the endpoint's name.
    #[must_use]
    pub fn counted_by_endpoint(&self) -> BTreeMap<String, CounterSnapshot> {
        self.counters.by_endpoint()
    }

    /// Returns warnings. Most are settings that the query does not follow, each with the operator and the reason:
    /// `scan of s3://bucket/t.csv: sluice.scan = 'select' is not followed: the store has no S3 Select`. Others are
    /// stores that stayed silent, or that stopped statements.
    ///
    /// Operators are chosen when the query starts to run; before that there are no warnings. Reasons that EXPLAIN
    /// shows are not repeated here.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.journal.warnings();
        for (endpoint, counted) in self.counted_by_endpoint() {
            let several = |number, one: &str, many: &str| match number {
                1 => format!("one {one}"),
                number => format!("{number} {many}"),
            };
            if counted.silences > 0 {
                let requests = several(counted.silences, "request was", "requests were");
                warnings.push(format!(
                    "{requests} not answered by the store `{endpoint}` for so long that the query did not \
                     wait further, but asked again"
                ));
            }
            if counted.overdue > 0 {
                let statements = several(counted.overdue, "statement", "statements");
                warnings.push(format!(
                    "the store `{endpoint}` stopped {statements} of S3 Select for taking longer than it \
                     allows; what they were about is read with GET"
                ));
            }
        }
        warnings
    }
}

/// Returns whether a plan outputs all rows in the order and at the time they are read.
fn comes_as_read(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => scan.fetch.is_none(),
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => {
            plan.inputs().into_iter().all(comes_as_read)
        }
        _ => false,
    }
}

/// Returns the number of bytes of a file, or of its range.
fn size_of_part(file: &PartitionedFile) -> u64 {
    match &file.range {
        Some(range) => u64::try_from(range.end - range.start).unwrap_or(0),
        None => file.object_meta.size,
    }
}

/// Returns the columns of a plan after types were coerced. A plan that cannot be analyzed fails when it runs, and has
/// the planner's columns here.
pub(crate) fn analyzed_schema(state: &SessionState, plan: &LogicalPlan) -> SchemaRef {
    let schema = |plan: &LogicalPlan| Arc::new(plan.schema().as_arrow().clone());
    let options = state.config_options();
    match state.analyzer().execute_and_check(plan.clone(), options, |_, _| {}) {
        Ok(analyzed) => schema(&analyzed),
        Err(_) => schema(plan),
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("counters", &self.counters).finish_non_exhaustive()
    }
}
