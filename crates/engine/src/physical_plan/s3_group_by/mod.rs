//! Aggregates by group that the store computes, all of them or those of the largest groups.

mod groups;
mod query;
mod run;

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::stream::{self, StreamExt, TryStreamExt};

use self::query::GroupQuery;
use self::run::Run;
use crate::choice::Why;
use crate::datasource::s3_select::S3SelectSource;
use crate::endpoint::Endpoint;

/// How many files of one partition are asked about at the same time.
const FILES_IN_FLIGHT: usize = 4;

/// Which groups the store aggregates. The rows of all others are fetched and aggregated here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// All, as far as they can be found.
    All,
    /// The largest.
    Largest,
}

/// Finds the groups of a file or range in a sample of its rows, has the store compute their states
/// with statements of `SUM(CASE WHEN g = 'a' THEN x END), …`, and returns each group as a row of
/// DataFusion's partial aggregation state, which the Final aggregate above merges like any other.
///
/// A statement also counts all rows. What its groups lack of that number is fetched by the condition
/// that a row is in none of them, and aggregated here by the partial aggregation that this node
/// replaced, which also does so with all rows of a file whose statement fails.
#[derive(Debug, Clone)]
pub struct S3GroupByExec {
    config: Arc<FileScanConfig>,
    partial: Arc<AggregateExec>,
    pushed: Pushed,
    sample_rows: usize,
    query: Arc<GroupQuery>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl S3GroupByExec {
    /// Replaces `partial`, whose input is a Select scan of the files of `config`, with nothing but
    /// projections between; or why the store cannot do its work. Groups are looked for in the first
    /// `sample_rows` rows of a file.
    ///
    /// # Errors
    ///
    /// If an expression does not fit its input.
    pub fn of(
        config: FileScanConfig,
        partial: Arc<AggregateExec>,
        pushed: Pushed,
        sample_rows: usize,
    ) -> Result<Result<Self, Why>> {
        let query = match GroupQuery::of(&partial)? {
            Ok(query) => query,
            Err(why) => return Ok(Err(why)),
        };
        if query.is_distinct() && pushed == Pushed::Largest {
            return Ok(Err("there are no aggregates, which all groups could share".into()));
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(partial.schema()),
            Partitioning::UnknownPartitioning(config.file_groups.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Ok(Ok(Self {
            config: Arc::new(config),
            partial,
            pushed,
            sample_rows: sample_rows.max(1),
            query: Arc::new(query),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    /// The scan whose rows are aggregated.
    #[must_use]
    pub fn config(&self) -> &FileScanConfig {
        &self.config
    }

    /// The partial aggregation that this node replaced.
    #[must_use]
    pub fn partial(&self) -> &Arc<AggregateExec> {
        &self.partial
    }

    /// Which groups the store aggregates.
    #[must_use]
    pub fn pushed(&self) -> Pushed {
        self.pushed
    }

    /// How many rows of a file are looked at to find its groups.
    #[must_use]
    pub fn sample_rows(&self) -> usize {
        self.sample_rows
    }

    /// Whether the endpoint takes the statements of this node.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn may_be_sent(&self, endpoint: &Endpoint) -> Result<(), Why> {
        let source = self.source().map_err(|error| Why::new(error.to_string()))?;
        self.query.may_be_sent(source, endpoint)
    }

    /// What is asked of the store, for people to read: the sample, and the states of a group.
    ///
    /// # Errors
    ///
    /// Never, for a node that our rule made.
    pub fn sql(&self) -> Result<String> {
        let source = self.source()?;
        let sample = self.query.keys_of(source).statement(Some(self.sample_rows));
        let sample = sample.map(|statement| statement.sql()).unwrap_or_default();
        Ok(match self.query.is_distinct() {
            true => sample,
            false => {
                format!("{sample}; for each group {}", self.query.example(source).sql())
            }
        })
    }

    /// What is computed in the store for each group, as a statement about one, and the number of
    /// columns that the sample has and a group's states are.
    pub(crate) fn demand(&self) -> Result<Asked> {
        let source = self.source()?;
        let sample = self.query.keys_of(source);
        Ok(Asked {
            sampled: sample.columns().to_vec(),
            group: self.query.example(source).query,
            width: self.query.width(),
        })
    }

    /// The scan's source.
    ///
    /// # Errors
    ///
    /// Never, for a node that our rule made.
    pub fn source(&self) -> Result<&S3SelectSource> {
        match self.config.file_source().downcast_ref::<S3SelectSource>() {
            Some(source) => Ok(source),
            None => internal_err!("a group-by in the store without a Select scan"),
        }
    }
}

/// What the statements of a group-by ask for, for predictions.
pub(crate) struct Asked {
    /// The columns of the sample.
    pub(crate) sampled: Vec<usize>,
    /// The statement about one group.
    pub(crate) group: sluicegate_s3select::dialect::ast::Query,
    /// The columns of its answer for each group.
    pub(crate) width: usize,
}

impl DisplayAs for S3GroupByExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let sql = self.sql().map_err(|_| fmt::Error)?;
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let files: usize = self.config.file_groups.iter().map(|group| group.len()).sum();
                let source = self.source().map_err(|_| fmt::Error)?;
                let pushed = match self.pushed {
                    Pushed::All => "all",
                    Pushed::Largest => "largest",
                };
                write!(
                    f,
                    "S3GroupByExec: pushed={pushed}, files={files}, format={}, endpoint={}, select={sql}",
                    source.format().name(),
                    source.endpoint_name()
                )
            }
            DisplayFormatType::TreeRender => writeln!(f, "select={sql}"),
        }
    }
}

impl ExecutionPlan for S3GroupByExec {
    fn name(&self) -> &str {
        "S3GroupByExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(group) = self.config.file_groups.get(partition) else {
            return internal_err!("there is no partition {partition}");
        };
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let run = Arc::new(Run::new(self, context, partition)?);
        let files: Vec<PartitionedFile> = group.files().to_vec();
        let rows = stream::iter(files)
            .map(move |file| Arc::clone(&run).file(file))
            .buffered(FILES_IN_FLIGHT)
            .try_flatten()
            .inspect_ok(move |batch: &RecordBatch| baseline.record_output(batch.num_rows()));
        let stream = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(Box::pin(cooperative(stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
