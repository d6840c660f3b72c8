//! Aggregates that the store computes.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options, concat_batches};
use arrow::datatypes::{Int64Type, SchemaRef};
use datafusion::common::{Result, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, SchedulingType, replace_children_if_necessary,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use sluicegate_client::Error;
use sluicegate_guards::{no_children, without_expressions};

use crate::context::config::SluiceOptions;
use crate::estimate::demand::AggregateShape;
use crate::pushdown::statement::Statement;
use crate::scan::get::FileGet;
use crate::scan::opener::{FileSelect, external, may_fall_back};
use crate::scan::s3_select::S3SelectSource;
use crate::scan::stored_types;
use crate::store::endpoints::resolve;
use crate::store::metrics::NodeMetrics;
use crate::store::query_counters::QueryCounters;

/// Number of files of one partition that are requested at the same time.
const FILES_IN_FLIGHT: usize = 4;

/// The column of the store's answer that fills a column of the partial state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateColumn {
    /// Index of the column in the answer.
    pub answer: usize,
}

/// Sends one statement of aggregates per file or range, and returns each answer as a row of DataFusion's partial
/// aggregation state. The Final aggregate above merges these rows like any others.
///
/// If the statement for a file fails, the file is read and aggregated locally by the partial aggregation that this
/// node replaced.
#[derive(Debug, Clone)]
pub struct S3AggregateExec {
    config: Arc<FileScanConfig>,
    statement: Statement,
    states: Vec<StateColumn>,
    partial: Arc<AggregateExec>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl S3AggregateExec {
    /// Replaces `partial`, whose input reads the files of `config` with a Select scan.
    ///
    /// `states` maps each field of the partial's schema to a column of the answer.
    #[must_use]
    pub fn new(
        config: FileScanConfig,
        statement: Statement,
        states: Vec<StateColumn>,
        partial: Arc<AggregateExec>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(partial.schema()),
            Partitioning::UnknownPartitioning(config.file_groups.len()),
            EmissionType::Final,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Self {
            config: Arc::new(config),
            statement,
            states,
            partial,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Returns this aggregation over the files of another scan, which must agree with this scan in all else.
    #[must_use]
    pub fn about(&self, config: FileScanConfig) -> Self {
        Self::new(config, self.statement.clone(), self.states.clone(), Arc::clone(&self.partial))
    }

    /// Returns the scan whose rows are aggregated.
    #[must_use]
    pub fn config(&self) -> &FileScanConfig {
        &self.config
    }

    /// Returns the statement that is sent to the store.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Returns the source of each column of the partial states.
    #[must_use]
    pub fn states(&self) -> &[StateColumn] {
        &self.states
    }

    /// Returns the partial aggregation that this node replaced.
    #[must_use]
    pub fn partial(&self) -> &Arc<AggregateExec> {
        &self.partial
    }

    /// Returns the shape of this node, for predictions.
    ///
    /// # Errors
    ///
    /// Never, for a node that our rule made.
    pub fn shape(&self) -> Result<AggregateShape<'_>> {
        Ok(AggregateShape {
            config: &self.config,
            source: self.source()?,
            statement: &self.statement,
        })
    }

    /// Returns the scan's source.
    ///
    /// # Errors
    ///
    /// Never, for a node made by the optimizer rule.
    pub fn source(&self) -> Result<&S3SelectSource> {
        match self.config.file_source().downcast_ref::<S3SelectSource>() {
            Some(source) => Ok(source),
            None => internal_err!("an aggregate in the store without a Select scan"),
        }
    }
}

impl DisplayAs for S3AggregateExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let sql = self.statement.sql();
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let requests: usize = self.config.file_groups.iter().map(|group| group.len()).sum();
                let source = self.source().map_err(|_| fmt::Error)?;
                write!(
                    f,
                    "S3AggregateExec: requests={requests}, format={}, endpoint={}, select={sql}",
                    source.format().name(),
                    source.endpoint_name()
                )
            }
            DisplayFormatType::TreeRender => writeln!(f, "select={sql}"),
        }
    }
}

impl ExecutionPlan for S3AggregateExec {
    no_children!("S3AggregateExec");

    without_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(group) = self.config.file_groups.get(partition) else {
            return internal_err!("there is no partition {partition}");
        };
        let source = self.source()?;
        let endpoint = resolve(context.session_config().options(), source.endpoint_name())?;
        let counters = QueryCounters::of_task(&context, &endpoint);
        let batch_size = context.session_config().batch_size();
        let options = SluiceOptions::from_options(context.session_config().options());
        let idle_timeout = options.idle_timeout.get();
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let shared = Arc::new(Shared {
            select: FileSelect {
                endpoint: Arc::clone(&endpoint),
                store: FileSelect::store(&self.config, &context)?,
                bucket: FileSelect::bucket(&self.config)?,
                format: source.format().clone(),
                batch_size,
                idle_timeout,
            },
            get: FileGet { scan: source.get().clone(), config: Arc::clone(&self.config), context },
            statement: self.statement.clone(),
            filters: source.exact_filters(),
            declared: Arc::clone(source.file_schema()),
            columns: source.columns_of(&source.exact_filters()),
            projection: source.output().clone(),
            states: self.states.clone(),
            partial: Arc::clone(&self.partial),
            schema: self.schema(),
            metrics: NodeMetrics::new(&endpoint, counters, &self.metrics, partition),
        });
        let files: Vec<PartitionedFile> = group.files().to_vec();
        let rows = stream::iter(files)
            .map(move |file| Arc::clone(&shared).states_of(file))
            .buffered(FILES_IN_FLIGHT)
            .map_ok(|batches| stream::iter(batches.into_iter().map(Ok)))
            .try_flatten()
            .map_ok(move |batch: RecordBatch| batch.record_output(&baseline));
        let stream = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(Box::pin(cooperative(stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

struct Shared {
    select: FileSelect,
    get: FileGet,
    statement: Statement,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns of the files; `columns` are those that the statement reads.
    declared: SchemaRef,
    columns: BTreeSet<usize>,
    projection: ProjectionExprs,
    states: Vec<StateColumn>,
    partial: Arc<AggregateExec>,
    schema: SchemaRef,
    metrics: NodeMetrics,
}

impl Shared {
    /// Returns the partial states of one file, from the store or, if it fails, computed locally.
    async fn states_of(self: Arc<Self>, file: PartitionedFile) -> Result<Vec<RecordBatch>> {
        if file.object_meta.size == 0 {
            return Ok(Vec::new());
        }
        let scan = &self.get.scan;
        let types = stored_types::check(scan, &file, &self.declared, &self.columns).await;
        let why = match types {
            Err(mismatch) => mismatch.to_string(),
            Ok(()) => match self.run_statement(&file).await {
                Ok(batches) => match self.state(&batches) {
                    Ok(state) => return Ok(vec![state]),
                    Err(malformed) => malformed,
                },
                Err(error) if may_fall_back(&error) => error.to_string(),
                Err(error) => return Err(external(error)),
            },
        };
        tracing::info!(object = %file.object_meta.location, why, "aggregating the object here");
        self.metrics.fallback();
        self.aggregate_locally(file).await
    }

    async fn run_statement(&self, file: &PartitionedFile) -> Result<Vec<RecordBatch>, Error> {
        let tally = self.metrics.tally(&self.select.bucket, file);
        self.select.send(&self.statement, file, &tally).await?.try_collect().await
    }

    /// Converts the row of an answer to a row of partial states, or returns the error in the answer.
    fn state(&self, batches: &[RecordBatch]) -> Result<RecordBatch, String> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if rows != 1 {
            return Err(format!("an answer of {rows} rows, where aggregates are one"));
        }
        let answer = concat_batches(&self.statement.answer, batches).map_err(|e| e.to_string())?;
        for (field, column) in answer.schema_ref().fields().iter().zip(answer.columns()) {
            // Columns that are not nullable hold counts.
            if !field.is_nullable() && column.as_primitive::<Int64Type>().value(0) < 0 {
                return Err(format!("a negative count in column {}", field.name()));
            }
        }
        let exact = CastOptions { safe: false, ..CastOptions::default() };
        let columns = self.states.iter().zip(self.schema.fields()).map(|(state, field)| {
            let column = answer.column(state.answer);
            if column.null_count() > 0 && !field.is_nullable() {
                return Err(format!("no value for {}", field.name()));
            }
            cast_with_options(column, field.data_type(), &exact).map_err(|e| e.to_string())
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|e| e.to_string())
    }

    async fn aggregate_locally(&self, file: PartitionedFile) -> Result<Vec<RecordBatch>> {
        let open = self.get.open(file, self.metrics.got().clone())?;
        let input = open.plan(&self.filters, &self.projection)?;
        let partial = replace_scan(&self.partial, input)?;
        open.run(&partial)?.try_collect().await
    }
}

/// Returns the partial aggregation over another scan. The operators between the two are kept.
///
/// # Errors
///
/// If a node refuses its new input.
pub fn replace_scan(
    partial: &Arc<AggregateExec>,
    scan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    fn replace(
        node: &Arc<dyn ExecutionPlan>,
        scan: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match node.children().first() {
            None => Ok(scan),
            Some(child) => {
                let child = replace(child, scan)?;
                replace_children_if_necessary(Arc::clone(node), vec![child])
            }
        }
    }
    let partial: Arc<dyn ExecutionPlan> = Arc::clone(partial) as _;
    replace(&partial, scan)
}
