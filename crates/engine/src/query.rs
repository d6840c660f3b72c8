//! One query, and what it asks of the stores.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};

use crate::Result;
use crate::choice::{Decision, Journal};
use crate::counters::Counted;
use crate::panics;
use crate::picture::Picture;
use crate::picture::scan::config;
pub use crate::query_counters::QueryCounters;
use crate::timeline::Recorded;

/// A planned query with counters of its own. Clones share them.
#[derive(Clone)]
pub struct Query {
    frame: DataFrame,
    counters: Arc<QueryCounters>,
    journal: Journal,
    /// The plan that runs.
    plan: Arc<OnceLock<Arc<dyn ExecutionPlan>>>,
}

/// What a query did, to be shown: see [`Engine::profile`](crate::Engine::profile).
#[derive(Debug, Clone)]
pub struct Profile {
    /// The plan that ran; none if the statement did all of its work when it was planned, or did not get
    /// so far.
    pub plan: Option<Arc<dyn ExecutionPlan>>,
    /// The decisions about its operators, with what was predicted.
    pub decisions: Vec<Decision>,
    /// The plan as a picture, with what was counted.
    pub picture: Picture,
    /// Its requests in time.
    pub recorded: Recorded,
}

impl Query {
    pub(crate) fn new(frame: DataFrame, counters: Arc<QueryCounters>, journal: Journal) -> Self {
        Self { frame, counters, journal, plan: Arc::default() }
    }

    /// The same with another plan, for which nothing is counted yet.
    pub(crate) fn with_plan(self, plan: LogicalPlan) -> Self {
        let (state, _) = self.frame.into_parts();
        Self { frame: DataFrame::new(state, plan), plan: Arc::default(), ..self }
    }

    /// Starts the query. Dropping the stream ends it.
    ///
    /// # Errors
    ///
    /// If it cannot be planned; what goes wrong while it runs is an item of the stream.
    pub async fn start(&self) -> datafusion::common::Result<SendableRecordBatchStream> {
        let context = Arc::new(self.frame.task_ctx());
        let frame = self.frame.clone();
        let planned = frame.create_physical_plan();
        let plan = panics::caught("planning the query", planned).await?;
        if let Some(timeline) = self.counters.timeline() {
            timeline.planned();
        }
        // Whoever starts it twice sees the first run.
        let _ = self.plan.set(Arc::clone(&plan));
        Ok(panics::caught_rows(execute_stream(plan, context)?))
    }

    /// What the query did so far, if it has a timeline.
    #[must_use]
    pub fn profile(&self) -> Option<Profile> {
        let recorded = self.counters.timeline()?.read();
        let decisions = self.journal.decisions();
        let plan = self.plan.get().cloned();
        let picture = plan.as_ref().map(|plan| Picture::ran(plan, &decisions, &recorded));
        Some(Profile { plan, decisions, picture: picture.unwrap_or_default(), recorded })
    }

    /// The same query, of which no more than so many rows are asked for, if its rows come as they are read;
    /// nothing if it sorts, groups or joins them, or has a limit of its own.
    ///
    /// # Errors
    ///
    /// None of today's plans that read rows refuses a limit.
    pub fn first(&self, rows: usize) -> Result<Option<Self>> {
        if !comes_as_read(self.frame.logical_plan()) {
            return Ok(None);
        }
        let frame = self.frame.clone().limit(0, Some(rows))?;
        Ok(Some(Self { frame, plan: Arc::default(), ..self.clone() }))
    }

    /// How many bytes the files have that the running query reads, as the listing said; none before it runs.
    /// A query may read less, or some of them again.
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

    /// How many bytes the objects and files have that the query wrote, as COPY and INSERT do; 0 until all of
    /// them are there.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.counters.written()
    }

    /// Runs the query and keeps its answer in memory.
    ///
    /// # Errors
    ///
    /// If the query fails.
    pub async fn collect(&self) -> Result<Vec<RecordBatch>> {
        Ok(panics::caught("the query", self.frame.clone().collect()).await?)
    }

    /// The query as a DataFrame. Whatever runs it counts here.
    #[must_use]
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// The counters of the query, which go on counting whatever runs it.
    #[must_use]
    pub fn counters(&self) -> &Arc<QueryCounters> {
        &self.counters
    }

    /// The query as a DataFrame, without its counters.
    #[must_use]
    pub fn into_frame(self) -> DataFrame {
        self.frame
    }

    /// What the query asked of the stores so far: listings and samples while it was planned,
    /// everything that its nodes sent, and what was read here because a store could not answer.
    #[must_use]
    pub fn counted(&self) -> Counted {
        self.counters.read()
    }

    /// The same for each endpoint that was asked, by its name.
    #[must_use]
    pub fn counted_by_endpoint(&self) -> BTreeMap<String, Counted> {
        self.counters.by_endpoint()
    }

    /// The settings that the query does not follow, each with the operator and the reason: `scan of
    /// s3://bucket/t.csv: sluice.scan = 'select' is not followed: the store has no S3 Select`; and stores
    /// that let it wait for nothing, or stopped its statements.
    ///
    /// Operators are chosen when the query starts to run; before that there are no warnings. What
    /// EXPLAIN shows is not repeated here.
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

/// Whether rows are put out as they are read, all of them.
fn comes_as_read(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => scan.fetch.is_none(),
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => {
            plan.inputs().into_iter().all(comes_as_read)
        }
        _ => false,
    }
}

/// The bytes of a file, or of a part of one.
fn size_of_part(file: &PartitionedFile) -> u64 {
    match &file.range {
        Some(range) => u64::try_from(range.end - range.start).unwrap_or(0),
        None => file.object_meta.size,
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("counters", &self.counters).finish_non_exhaustive()
    }
}
