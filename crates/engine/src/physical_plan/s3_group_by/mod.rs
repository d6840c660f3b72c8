//! Aggregates by group that the store computes, all of them or those of the largest groups.

mod clause;
mod distinct;
mod groups;
mod here;
mod query;
mod run;
mod run_clause;

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use self::clause::ClauseQuery;
use self::here::Rows;
use self::query::{Form, GroupQuery};
use self::run::{MOST_GROUPS, MOST_STATEMENTS, Run};
use self::run_clause::RunClause;
use crate::choice::Why;
use crate::datasource::arriving::arrives;
use crate::datasource::keys::KeysAtOpen;
use crate::datasource::s3_select::S3SelectSource;
use crate::endpoint::Endpoint;
use crate::profile::GroupByShape;

/// How many files of one partition are asked about at the same time.
const FILES_IN_FLIGHT: usize = 4;

/// The most bytes of states of a file that are held back until it is known that they are all.
const MOST_BYTES: usize = 32 << 20;

/// Which groups the store aggregates, and how. The rows of all others are fetched and aggregated here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// All, with a GROUP BY of the store's own, an extension.
    Clause,
    /// All, as far as they can be found.
    All,
    /// The largest.
    Largest,
}

/// Finds the groups of a file or range in a sample of its rows, has the store compute their states
/// with statements of `SUM(CASE WHEN g = 'a' THEN x END), …`, and returns each group as a row of
/// DataFusion's partial aggregation state, which the Final aggregate above merges like any other.
///
/// Of a store that has no CASE, or that may take more rows for those of a group than there are, each
/// group is asked about by a statement of its own: `SELECT COUNT(*), SUM(x) … WHERE g = 'a'`.
///
/// A statement also counts all rows. What its groups lack of that number is fetched by the condition
/// that a row is in none of them, and aggregated here by the partial aggregation that this node
/// replaced, which also does so with all rows of a file whose statement fails.
///
/// A store with a GROUP BY of its own finds the groups itself: one statement tells all states. It is
/// also asked about the keys of joins above: of groups that have none, nothing is wanted.
#[derive(Debug, Clone)]
pub struct S3GroupByExec {
    config: Arc<FileScanConfig>,
    partial: Arc<AggregateExec>,
    pushed: Pushed,
    sample_rows: usize,
    query: Query,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// What all partitions know of the keys of joins above, while the node runs.
    keys: Arc<OnceLock<Option<Arc<KeysAtOpen>>>>,
}

/// What the store is asked.
#[derive(Debug, Clone)]
enum Query {
    Clause(Arc<ClauseQuery>),
    Cases(Arc<GroupQuery>),
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
        let query = match pushed {
            Pushed::Clause => ClauseQuery::of(&partial)?.map(|it| Query::Clause(Arc::new(it))),
            Pushed::All | Pushed::Largest => {
                GroupQuery::of(&partial)?.map(|it| Query::Cases(Arc::new(it)))
            }
        };
        let query = match query {
            Ok(query) => query,
            Err(why) => return Ok(Err(why)),
        };
        if matches!(&query, Query::Cases(cases) if cases.is_distinct()) && pushed == Pushed::Largest
        {
            return Ok(Err("DISTINCT computes nothing that the largest groups would save".into()));
        }
        Ok(Ok(Self {
            properties: properties(&partial, &config),
            config: Arc::new(config),
            partial,
            pushed,
            sample_rows: sample_rows.max(1),
            query,
            metrics: ExecutionPlanMetricsSet::new(),
            keys: Arc::default(),
        }))
    }

    /// The same aggregation with filters over this node's columns that are not known before the
    /// query runs: those that the store can apply, which are about the groups.
    ///
    /// # Errors
    ///
    /// If a filter does not fit.
    pub fn with_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        options: &ConfigOptions,
    ) -> Result<Self> {
        let Query::Clause(clause) = &self.query else { return Ok(self.clone()) };
        let mut below = Vec::new();
        for filter in filters.into_iter().filter(arrives) {
            below.extend(clause.over_table(filter)?);
        }
        let pushed = self.source()?.try_pushdown_filters(below, options)?;
        Ok(match pushed.updated_node {
            Some(source) => self.with_source(source),
            None => self.clone(),
        })
    }

    /// The same aggregation of the rows of a source, like this one's but for the filters that are not
    /// known before the query runs.
    #[must_use]
    pub fn with_source(&self, source: Arc<dyn FileSource>) -> Self {
        let config = FileScanConfig::clone(&self.config);
        let config = FileScanConfigBuilder::from(config).with_source(source).build();
        Self { config: Arc::new(config), keys: Arc::default(), ..self.clone() }
    }

    /// The same about the files of another scan, which is like this one's in all else.
    #[must_use]
    pub fn about(&self, config: FileScanConfig) -> Self {
        Self {
            properties: properties(&self.partial, &config),
            config: Arc::new(config),
            metrics: ExecutionPlanMetricsSet::new(),
            keys: Arc::default(),
            ..self.clone()
        }
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
        match &self.query {
            Query::Clause(clause) => endpoint.takes(clause.statement(), source.format()),
            Query::Cases(cases) => cases.may_be_sent(source, endpoint),
        }
    }

    /// What is asked of the store, for people to read: the statement, or the sample, and the states
    /// of a group.
    ///
    /// # Errors
    ///
    /// Never, for a node that our rule made.
    pub fn sql(&self) -> Result<String> {
        let source = self.source()?;
        let cases = match &self.query {
            Query::Clause(clause) => return Ok(clause.statement().sql()),
            Query::Cases(cases) => cases,
        };
        let sample = cases.keys_of(source).statement(Some(self.sample_rows));
        let sample = sample.map(|statement| statement.sql()).unwrap_or_default();
        Ok(match cases.is_distinct() {
            true => sample,
            false => {
                let groups = format!(
                    "{sample}; then of each group found (in_group stands for the condition that a row is \
                     in it) {}",
                    cases.example(source).sql()
                );
                match cases.total(source) {
                    Some(total) => format!("{groups}; and {}", total.sql()),
                    None => groups,
                }
            }
        })
    }

    /// The shape of this node, for predictions.
    ///
    /// # Errors
    ///
    /// Never, for a node that our rule made.
    pub fn shape(&self) -> Result<GroupByShape<'_>> {
        let source = self.source()?;
        let (sampled, group, width) = match &self.query {
            Query::Clause(clause) => {
                let statement = clause.statement();
                let width = statement.answer.fields().len();
                (source.columns().to_vec(), statement.query.clone(), width)
            }
            Query::Cases(cases) => {
                let sampled = cases.keys_of(source).columns().to_vec();
                (sampled, cases.example(source).query, cases.width())
            }
        };
        let (one_by_one, exact) = match &self.query {
            Query::Clause(_) => (false, true),
            Query::Cases(cases) => (cases.form() == Form::Where, cases.is_exact()),
        };
        Ok(GroupByShape {
            config: &self.config,
            source,
            partial: &self.partial,
            sample_rows: self.sample_rows,
            sampled,
            group,
            width,
            one_by_one,
            exact,
            most: if one_by_one { MOST_STATEMENTS } else { MOST_GROUPS },
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

/// Partial states, a partition for each group of files.
fn properties(partial: &AggregateExec, config: &FileScanConfig) -> Arc<PlanProperties> {
    let properties = PlanProperties::new(
        EquivalenceProperties::new(partial.schema()),
        Partitioning::UnknownPartitioning(config.file_groups.len()),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative))
}

impl DisplayAs for S3GroupByExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let sql = self.sql().map_err(|_| fmt::Error)?;
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let files: usize = self.config.file_groups.iter().map(|group| group.len()).sum();
                let source = self.source().map_err(|_| fmt::Error)?;
                let pushed = match self.pushed {
                    Pushed::Clause => "GROUP BY",
                    Pushed::All => "all",
                    Pushed::Largest => "largest",
                };
                write!(
                    f,
                    "S3GroupByExec: pushed={pushed}, files={files}, format={}, endpoint={}{}, select={sql}",
                    source.format().name(),
                    source.endpoint_name(),
                    source.shown_keys(),
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
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        FileSource::apply_expressions(self.source()?, f)
    }

    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        pushed: ChildPushdownResult,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters = pushed.parent_filters.iter().map(|it| Arc::clone(&it.filter)).collect();
        let with: Arc<dyn ExecutionPlan> = Arc::new(self.with_filters(filters, config)?);
        // Whoever made them applies them again.
        Ok(FilterPushdownPropagation::all_unsupported(pushed).with_updated_node(with))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { keys: Arc::default(), ..(*self).clone() }))
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
        let files = stream::iter(group.files().to_vec());
        let answers: BoxStream<'static, BoxFuture<'static, Result<Rows>>> = match &self.query {
            Query::Clause(clause) => {
                let run = Arc::new(RunClause::new(self, clause, context, partition)?);
                files.map(move |file| Arc::clone(&run).file(file).boxed()).boxed()
            }
            Query::Cases(cases) => {
                let run = Arc::new(Run::new(self, cases, context, partition)?);
                files.map(move |file| Arc::clone(&run).file(file).boxed()).boxed()
            }
        };
        let rows = answers
            .buffered(FILES_IN_FLIGHT)
            .try_flatten()
            .map_ok(move |batch: RecordBatch| batch.record_output(&baseline));
        let stream = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(Box::pin(cooperative(stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
