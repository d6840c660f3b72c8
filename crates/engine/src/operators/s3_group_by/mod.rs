//! Aggregates by group that the store computes, for all groups or the largest ones.
//!
//! | part | module |
//! |---|---|
//! | groups found in a sample, and their conditions | `groups` |
//! | statements with one CASE or one WHERE per group, run per file | `query`, `run` |
//! | one statement with the store's own GROUP BY, run per file | `clause`, `run_clause` |
//! | estimated number of groups | `group_frequencies` |
//! | rows that are aggregated locally | `local_group_by` |

mod clause;
mod group_frequencies;
mod groups;
mod local_group_by;
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
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
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
use sluicegate_guards::no_children;
use sluicegate_s3select::request::OutputSerialization;

use self::clause::ClauseQuery;
use self::local_group_by::Rows;
use self::query::{GroupFilterForm, GroupQuery};
use self::run::{MOST_GROUPS, MOST_STATEMENTS, Run};
use self::run_clause::RunClause;
use crate::context::choice::Reason;
use crate::estimate::demand::GroupByShape;
use crate::pushdown::dynamic_filters::arrives;
use crate::scan::keys::KeysAtOpen;
use crate::scan::s3_select::S3SelectSource;
use crate::store::endpoint::Endpoint;

/// Number of files of one partition that are processed at the same time.
const FILES_IN_FLIGHT: usize = 4;

/// The maximum number of bytes of a file's states that are buffered until they are known to be complete.
const MOST_BYTES: usize = 32 << 20;

/// The groups that the store aggregates, and the kind of statement. All other rows are fetched and aggregated
/// locally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupPushdown {
    /// All groups, by the GROUP BY of a store that supports it as an extension.
    Clause,
    /// All groups that can be found.
    All,
    /// Only the largest groups.
    Largest,
}

/// Finds the groups of a file or range in a sample of its rows, and has the store compute their states with
/// statements of `SUM(CASE WHEN g = 'a' THEN x END), …`. Each group is returned as a row of DataFusion's partial
/// aggregation state, which the Final aggregate above merges like any other.
///
/// A store that lacks CASE, or whose conditions may match extra rows, gets one statement per group: `SELECT COUNT(*),
/// SUM(x) … WHERE g = 'a'`.
///
/// The store also counts all rows. If the groups have fewer rows than that, the other rows are fetched by the
/// condition that a row is in none of the groups, and aggregated locally by the partial aggregation that this node
/// replaced. If a statement fails, all rows of the file are read that way.
///
/// A store with GROUP BY finds the groups itself, so one statement returns all states. The statement also contains
/// the keys of joins above, because groups without such a key are not needed.
#[derive(Debug, Clone)]
pub struct S3GroupByExec {
    config: Arc<FileScanConfig>,
    partial: Arc<AggregateExec>,
    pushed: GroupPushdown,
    sample_rows: usize,
    query: Query,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// State of the keys of joins above, shared by all partitions while the node runs.
    keys: Arc<OnceLock<Option<Arc<KeysAtOpen>>>>,
}

/// The kind of statements that the store gets.
#[derive(Debug, Clone)]
enum Query {
    Clause(Arc<ClauseQuery>),
    Cases(Arc<GroupQuery>),
}

impl S3GroupByExec {
    /// Replaces `partial`, whose input is a Select scan of the files of `config`, with only projections in between.
    /// The inner error is the reason why the store cannot compute it. Groups are looked for in the first
    /// `sample_rows` rows of a file.
    ///
    /// # Errors
    ///
    /// If an expression does not fit its input.
    pub fn try_new(
        config: FileScanConfig,
        partial: Arc<AggregateExec>,
        pushed: GroupPushdown,
        sample_rows: usize,
    ) -> Result<Result<Self, Reason>> {
        let query = match pushed {
            GroupPushdown::Clause => {
                ClauseQuery::from_partial(&partial)?.map(|it| Query::Clause(Arc::new(it)))
            }
            GroupPushdown::All | GroupPushdown::Largest => {
                GroupQuery::from_partial(&partial)?.map(|it| Query::Cases(Arc::new(it)))
            }
        };
        let query = match query {
            Ok(query) => query,
            Err(why) => return Ok(Err(why)),
        };
        if matches!(&query, Query::Cases(cases) if cases.is_distinct())
            && pushed == GroupPushdown::Largest
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

    /// Returns this aggregation with dynamic filters over its columns. Only filters on keys that the store can apply
    /// are kept.
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

    /// Returns this aggregation over a source that differs from its own only in dynamic filters.
    #[must_use]
    pub fn with_source(&self, source: Arc<dyn FileSource>) -> Self {
        let config = FileScanConfig::clone(&self.config);
        let config = FileScanConfigBuilder::from(config).with_source(source).build();
        Self { config: Arc::new(config), keys: Arc::default(), ..self.clone() }
    }

    /// Returns this aggregation over the files of another scan, which must agree with this scan in all else.
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

    /// Returns the scan whose rows are aggregated.
    #[must_use]
    pub fn config(&self) -> &FileScanConfig {
        &self.config
    }

    /// Returns the partial aggregation that this node replaced.
    #[must_use]
    pub fn partial(&self) -> &Arc<AggregateExec> {
        &self.partial
    }

    /// Returns the groups that the store aggregates.
    #[must_use]
    pub fn pushed(&self) -> GroupPushdown {
        self.pushed
    }

    /// Returns the number of rows of a file that are read to find its groups.
    #[must_use]
    pub fn sample_rows(&self) -> usize {
        self.sample_rows
    }

    /// Checks that the endpoint accepts the statements of this node.
    ///
    /// # Errors
    ///
    /// The reason why it does not.
    pub fn may_be_sent(&self, endpoint: &Endpoint) -> Result<(), Reason> {
        let source = self.source().map_err(|error| Reason::new(error.to_string()))?;
        match &self.query {
            Query::Clause(clause) => endpoint.takes(clause.statement(), source.format()),
            Query::Cases(cases) => cases.may_be_sent(source, endpoint),
        }
    }

    /// Returns the statements for display: the single statement, or the sample and the states of a group.
    ///
    /// # Errors
    ///
    /// Never, for a node made by the optimizer rule.
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

    /// Returns the shape of this node, for predictions.
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
            Query::Cases(cases) => (cases.form() == GroupFilterForm::Where, cases.is_exact()),
        };
        let in_arrow = match &self.query {
            Query::Clause(clause) => {
                matches!(clause.statement().output, OutputSerialization::Arrow(_))
            }
            Query::Cases(_) => false,
        };
        Ok(GroupByShape {
            config: &self.config,
            source,
            partial: &self.partial,
            sample_rows: self.sample_rows,
            sampled,
            group,
            width,
            in_arrow,
            one_by_one,
            exact,
            most: if one_by_one { MOST_STATEMENTS } else { MOST_GROUPS },
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
            None => internal_err!("a group-by in the store without a Select scan"),
        }
    }
}

/// Returns the properties of the partial states, with one partition per group of files.
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
                    GroupPushdown::Clause => "GROUP BY",
                    GroupPushdown::All => "all",
                    GroupPushdown::Largest => "largest",
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
    no_children!("S3GroupByExec");

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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
        // The operators that made the filters apply them again.
        Ok(FilterPushdownPropagation::all_unsupported(pushed).with_updated_node(with))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { keys: Arc::default(), ..(*self).clone() }))
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
