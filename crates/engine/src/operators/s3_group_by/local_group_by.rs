//! The rows of one file, fetched and aggregated locally if the store does not group them, or not exactly.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::projection::ProjectionOpener;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::metrics::{
    Count, CustomMetricValue, ExecutionPlanMetricsSet, MetricBuilder, MetricValue,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use sluicegate_costmodel::Steps;

use super::S3GroupByExec;
use super::query::GroupScan;
use crate::context::config::{GroupBy, SluiceOptions};
use crate::operators::s3_aggregate::replace_scan;
use crate::operators::sampling::bound::is_true;
use crate::scan::keys::{KeysAtOpen, Opening};
use crate::scan::opener::{FileSelect, S3SelectOpener};
use crate::scan::s3_select::{Filter, S3SelectSource};
use crate::store::chooser::{Chooser, OperatorChoice, Strategy, StrategyPlan};
use crate::store::endpoints::resolve;
use crate::store::metrics::{NodeMetrics, TextMetric};
use crate::store::query_counters::QueryCounters;

/// A stream of rows or of partial states.
pub(super) type Rows = BoxStream<'static, Result<RecordBatch>>;

/// Counters of EXPLAIN ANALYZE besides requests.
#[derive(Debug)]
pub(super) struct GroupMetrics {
    /// Rows read to find groups, or to estimate their number.
    pub(super) sampled: Count,
    /// Groups that the store aggregated, counted once per file.
    pub(super) pushed: Count,
    /// Groups that were aggregated locally, counted once per file.
    pub(super) left: Count,
    /// Rows of the groups that were aggregated locally.
    pub(super) rows_left: Count,
    /// Files for which the first sample or an answer was incomplete.
    pub(super) repairs: Count,
    /// The reason why groups were aggregated locally, once there is one.
    why_left: OnceLock<Arc<TextMetric>>,
    set: ExecutionPlanMetricsSet,
}

impl GroupMetrics {
    fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        Self {
            sampled: count("sample_rows"),
            pushed: count("groups_pushed"),
            left: count("groups_left"),
            rows_left: count("rows_left"),
            repairs: count("repairs"),
            why_left: OnceLock::new(),
            set: set.clone(),
        }
    }

    /// Shows why groups are aggregated locally.
    pub(super) fn record_reason(&self, why: &str) {
        let text = self.why_left.get_or_init(|| {
            let text = Arc::new(TextMetric::default());
            MetricBuilder::new(&self.set).build(MetricValue::Custom {
                name: "why_left".into(),
                value: Arc::clone(&text) as Arc<dyn CustomMetricValue>,
            });
            text
        });
        text.set(why);
    }
}

/// Everything that one partition of a group-by reads with, and its counters.
#[derive(Debug)]
pub(super) struct LocalGroupBy {
    /// The scan of all rows.
    pub(super) source: S3SelectSource,
    /// The partial aggregation that the node replaced.
    pub(super) partial: Arc<AggregateExec>,
    /// Sends the statements.
    pub(super) select: FileSelect,
    /// Context of the running task.
    pub(super) context: Arc<TaskContext>,
    /// Counters of the requests.
    pub(super) metrics: NodeMetrics,
    /// Counters of the groups.
    pub(super) groups: GroupMetrics,
    config: Arc<FileScanConfig>,
    /// State of the join keys from above, if any arrive.
    keys: Option<Arc<KeysAtOpen>>,
}

impl LocalGroupBy {
    pub(super) fn new(
        exec: &S3GroupByExec,
        context: Arc<TaskContext>,
        partition: usize,
    ) -> Result<Self> {
        let source = exec.source()?;
        let endpoint = resolve(context.session_config().options(), source.endpoint_name())?;
        let counters = QueryCounters::of_task(&context, &endpoint);
        let batch_size = context.session_config().batch_size();
        let options = SluiceOptions::from_options(context.session_config().options());
        let idle_timeout = options.idle_timeout.get();
        Ok(Self {
            source: source.clone(),
            partial: Arc::clone(&exec.partial),
            select: FileSelect {
                endpoint: Arc::clone(&endpoint),
                store: FileSelect::store(&exec.config, &context)?,
                bucket: FileSelect::bucket(&exec.config)?,
                format: source.format().clone(),
                batch_size,
                idle_timeout,
            },
            context,
            metrics: NodeMetrics::new(&endpoint, counters, &exec.metrics, partition),
            groups: GroupMetrics::new(&exec.metrics, partition),
            config: Arc::clone(&exec.config),
            keys: exec.keys.get_or_init(|| KeysAtOpen::for_scan(source, &exec.metrics)).clone(),
        })
    }

    /// Returns the rows of a scan of one file. `limit` applies only if the store answers.
    pub(super) fn rows(
        &self,
        source: &S3SelectSource,
        file: &PartitionedFile,
        limit: Option<usize>,
    ) -> Result<Rows> {
        let config = FileScanConfigBuilder::from(FileScanConfig::clone(&self.config))
            .with_source(Arc::new(source.clone()))
            .with_limit(limit)
            .build();
        let opener = S3SelectOpener::new(
            source,
            &self.select.endpoint,
            self.metrics.clone(),
            &Arc::new(config),
            Arc::clone(&self.context),
            self.keys_of(source),
        )?;
        let projection = source.split_projection().clone();
        let opener = ProjectionOpener::try_new(projection, Arc::new(opener), source.file_schema())?;
        Ok(stream::once(opener.open(file.clone())?).try_flatten().boxed())
    }

    /// Returns the state of join keys for a scan: that of this node if the scan takes any, else `None`.
    fn keys_of(&self, source: &S3SelectSource) -> Option<Arc<KeysAtOpen>> {
        self.keys.clone().filter(|_| !source.arriving().is_empty())
    }

    /// Aggregates some rows locally to partial states. `on_rows` is called with the number of rows of each batch.
    pub(super) fn states(
        &self,
        GroupScan { source, check }: &GroupScan,
        file: &PartitionedFile,
        on_rows: impl Fn(usize) + Send + 'static,
    ) -> Result<Rows> {
        let count = self.groups.rows_left.clone();
        let check = check.clone();
        let rows = self.rows(source, file, None)?.map(move |batch| match (&check, batch?) {
            (Some(check), batch) => Ok(filter_record_batch(&batch, &is_true(check, &batch)?)?),
            (None, batch) => Ok(batch),
        });
        let rows = rows.inspect_ok(move |batch: &RecordBatch| {
            count.add(batch.num_rows());
            on_rows(batch.num_rows());
        });
        let input = Arc::new(Input {
            schema: self.config.projected_schema()?,
            rows: Mutex::new(Some(rows.boxed())),
        });
        let schema = Arc::clone(&input.schema);
        let leaf: Arc<dyn ExecutionPlan> =
            Arc::new(StreamingTableExec::try_new(schema, vec![input], None, [], false, None)?);
        let partial = replace_scan(&self.partial, leaf)?;
        let groups = self.groups.left.clone();
        let states = partial.execute(0, Arc::clone(&self.context))?;
        Ok(states.inspect_ok(move |batch| groups.add(batch.num_rows())).boxed())
    }

    /// Splits a file into parts, each with the filters of join keys that it is requested with. Returns no part if no
    /// row can match a key.
    pub(super) async fn file_ranges(
        &self,
        file: &PartitionedFile,
    ) -> Result<Vec<(PartitionedFile, Vec<Filter>)>> {
        let Some(keys) = &self.keys else { return Ok(vec![(file.clone(), Vec::new())]) };
        let opening = Opening {
            source: &self.source,
            select: &self.select,
            config: &self.config,
            metrics: &self.metrics,
            options: self.context.session_config().options(),
        };
        // Where GET is predicted to be faster than filters, `choose` decides without them.
        let parts = keys.parts(opening, file).await?;
        Ok(parts.unwrap_or_else(|| vec![(file.clone(), Vec::new())]))
    }

    /// Returns the cheapest of some ways. The first way, which reads all rows locally, is excluded if the session
    /// forces groups to be pushed down.
    pub(super) fn choose<T>(&self, file: &PartitionedFile, mut ways: Vec<(Steps, T)>) -> Result<T> {
        let options = self.context.session_config().options();
        if matches!(
            SluiceOptions::from_options(options).group_by,
            GroupBy::S3 | GroupBy::Case | GroupBy::Hybrid
        ) {
            ways.remove(0);
        }
        let ways = ways.into_iter().map(|(steps, build)| Strategy {
            strategy: "group_by",
            offer: Ok(StrategyPlan { steps, statement: None, build }),
        });
        let question = OperatorChoice {
            operator: "group_by",
            subject: file.object_meta.location.to_string(),
            ways: ways.collect(),
            forced: None,
            notes: Vec::new(),
        };
        Ok(Chooser::for_endpoint(&self.select.endpoint, options).choose(question)?.0)
    }

    /// Aggregates all rows of a file locally.
    pub(super) fn all(&self, file: &PartitionedFile) -> Result<Rows> {
        let all = GroupScan { source: self.source.clone(), check: None };
        self.states(&all, file, |_| ())
    }

    /// Aggregates all rows of a file locally, because the store does not compute the states.
    pub(super) fn refused(&self, file: &PartitionedFile, why: &str) -> Result<Rows> {
        self.report(file, why);
        self.all(file)
    }

    /// Records that the store's answers about a file were incomplete.
    pub(super) fn report(&self, file: &PartitionedFile, why: &str) {
        self.groups.repairs.add(1);
        self.groups.record_reason(why);
        tracing::info!(object = %file.object_meta.location, why, "grouping the object's rows here");
    }
}

/// A partition stream that can be read once.
struct Input {
    schema: SchemaRef,
    rows: Mutex<Option<Rows>>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

impl PartitionStream for Input {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
        let rows = rows.unwrap_or_else(|| {
            let again = || internal_datafusion_err!("the rows of a file are read twice");
            stream::once(async move { Err(again()) }).boxed()
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}
