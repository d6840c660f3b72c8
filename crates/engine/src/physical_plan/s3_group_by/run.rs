//! One file of a group-by: its groups are found, asked about, and what is missing is fetched.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, exec_err, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::projection::ProjectionOpener;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use sluicegate_client::Error;
use sluicegate_costmodel::Steps;

use super::groups::{Group, Groups, inside, outside};
use super::query::{GroupQuery, GroupStates};
use super::{Pushed, S3GroupByExec};
use crate::choice::{Chooser, Offer, Question, Way};
use crate::config::{GroupBy, SluiceOptions};
use crate::datasource::keys::KeysAtOpen;
use crate::datasource::opener::{FileSelect, S3SelectOpener, external, may_fall_back};
use crate::datasource::s3_select::S3SelectSource;
use crate::datasource::stored_types;
use crate::endpoint::Endpoint;
use crate::endpoints::resolve;
use crate::metrics::NodeMetrics;
use crate::physical_plan::s3_aggregate::replace_scan;
use crate::profile::GroupByDemand;
use crate::query::QueryCounters;

/// The most groups of a file that the store is asked about: of more, all are aggregated here.
const MOST_GROUPS: usize = 256;
/// How often groups are looked for among the rows that are left.
const ROUNDS: usize = 4;
/// How many statements about one file are under way at the same time.
const STATEMENTS_IN_FLIGHT: usize = 2;

type Rows = BoxStream<'static, Result<RecordBatch>>;

/// A partition of a group-by while it runs.
pub(super) struct Run {
    query: Arc<GroupQuery>,
    pushed: Pushed,
    sample_rows: usize,
    partial: Arc<AggregateExec>,
    config: Arc<FileScanConfig>,
    source: S3SelectSource,
    select: FileSelect,
    demand: GroupByDemand,
    context: Arc<TaskContext>,
    metrics: NodeMetrics,
    groups: GroupMetrics,
}

/// What EXPLAIN ANALYZE shows besides requests.
struct GroupMetrics {
    /// Groups of files that the store aggregated.
    pushed: Count,
    /// Groups of files that were aggregated here.
    left: Count,
    /// Rows of the latter.
    rows_left: Count,
    /// Files of which the first sample or an answer did not tell all.
    repairs: Count,
}

impl GroupMetrics {
    fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        Self {
            pushed: count("groups_pushed"),
            left: count("groups_left"),
            rows_left: count("rows_left"),
            repairs: count("repairs"),
        }
    }
}

/// Why the states of some groups are not to be had from the store.
type Refusal = String;

impl Run {
    pub(super) fn new(
        exec: &S3GroupByExec,
        context: Arc<TaskContext>,
        partition: usize,
    ) -> Result<Self> {
        let source = exec.source()?;
        let endpoint = resolve(context.session_config().options(), source.endpoint_name())?;
        let counters = QueryCounters::of_task(&context, &endpoint);
        let batch_size = context.session_config().batch_size();
        Ok(Self {
            query: Arc::clone(&exec.query),
            pushed: exec.pushed,
            sample_rows: exec.sample_rows,
            partial: Arc::clone(&exec.partial),
            config: Arc::clone(&exec.config),
            source: source.clone(),
            select: FileSelect {
                endpoint: Arc::clone(&endpoint),
                bucket: FileSelect::bucket(&exec.config)?,
                format: source.format().clone(),
                batch_size,
            },
            demand: GroupByDemand::of(exec, context.session_config().options())?,
            context,
            metrics: NodeMetrics::new(&endpoint, counters, &exec.metrics, partition),
            groups: GroupMetrics::new(&exec.metrics, partition),
        })
    }

    fn endpoint(&self) -> &Endpoint {
        &self.select.endpoint
    }

    /// The partial states of one file.
    pub(super) async fn file(self: Arc<Self>, file: PartitionedFile) -> Result<Rows> {
        if file.object_meta.size == 0 {
            return Ok(stream::empty().boxed());
        }
        let columns: BTreeSet<usize> = self.source.columns_of(&self.source.exact_filters());
        let get = self.source.get();
        if stored_types::check(get, &file, self.source.file_schema(), &columns).await.is_err() {
            // Whoever reads the rows finds this out again, and says so.
            return self.all_here(&file);
        }
        match self.pushed {
            Pushed::All if self.query.is_distinct() => self.distinct(&file).await,
            Pushed::All => self.all(&file).await,
            Pushed::Largest => self.largest(file).await,
        }
    }

    /// Every group in the store: of what an answer does not account for, a sample is taken again.
    async fn all(&self, file: &PartitionedFile) -> Result<Rows> {
        let mut source = self.source.clone();
        let mut pushed: Vec<Group> = Vec::new();
        let mut states = Vec::new();
        let (mut total, mut inside, mut left) = (None, 0_u64, None);
        for round in 0..ROUNDS {
            let found = self.sample(&source, file).await?;
            if found.rows() == 0 && pushed.is_empty() {
                return Ok(stream::empty().boxed());
            }
            let found = self.known(found);
            let groups = pushed.len() + found.len();
            if found.is_empty() || groups > MOST_GROUPS || !self.worth_asking(file, groups)? {
                break;
            }
            let answer = match self.ask(file, &found).await? {
                Ok(answer) if *total.get_or_insert(answer.rows) == answer.rows => answer,
                Ok(_) => return self.refused(file, "the answers count different rows"),
                Err(why) if pushed.is_empty() => return self.refused(file, &why),
                Err(_) => break,
            };
            inside = inside.saturating_add(answer.inside);
            states.push(answer.states);
            pushed.extend(found);
            let Some(rest) = answer.rows.checked_sub(inside) else {
                return self.refused(file, "groups of more rows than there are");
            };
            left = Some(rest);
            if rest == 0 {
                break;
            }
            if round == 0 {
                self.groups.repairs.add(1);
            }
            match self.without(&pushed) {
                Ok(without) => source = without,
                Err(why) => return self.refused(file, &why),
            }
            if rest <= self.sample_rows as u64 {
                break;
            }
        }
        self.groups.pushed.add(pushed.len());
        let states = stream::iter(states.into_iter().map(Ok));
        let rest = match left {
            Some(0) => return Ok(states.boxed()),
            Some(rest) => {
                let read = Arc::new(AtomicU64::new(0));
                let rows = self.here(file, &source, Arc::clone(&read))?;
                rows.chain(checked(move || (read.load(Ordering::Relaxed), rest))).boxed()
            }
            None => self.all_here(file)?,
        };
        Ok(states.chain(rest).boxed())
    }

    /// The groups themselves: those of a sample, and then of what is in none of them, until nothing
    /// is.
    async fn distinct(&self, file: &PartitionedFile) -> Result<Rows> {
        let mut source = self.source.clone();
        let mut pushed: Vec<Group> = Vec::new();
        let mut complete = false;
        for round in 0..ROUNDS {
            let found = self.sample(&source, file).await?;
            complete = found.rows() < self.sample_rows as u64;
            let found = found.largest_first();
            if complete {
                pushed.extend(found);
                break;
            }
            let known = found.into_iter().filter(|it| self.query.condition(&source, it).is_some());
            pushed.extend(known);
            if round == 0 {
                self.groups.repairs.add(1);
            }
            if pushed.len() > MOST_GROUPS {
                break;
            }
            match self.without(&pushed) {
                Ok(without) => source = without,
                Err(_) => break,
            }
        }
        self.groups.pushed.add(pushed.len());
        let states = self.query.rows_without_states(&pushed)?;
        let states = stream::iter([Ok(states)]);
        if complete {
            return Ok(states.boxed());
        }
        Ok(states.chain(self.here(file, &source, Arc::default())?).boxed())
    }

    /// The largest groups in the store, and all other rows here, both at the same time.
    async fn largest(self: Arc<Self>, file: PartitionedFile) -> Result<Rows> {
        let found = self.sample(&self.source, &file).await?;
        let rows = found.rows();
        let mut groups = self.known(found);
        if groups.is_empty() {
            return match rows {
                0 => Ok(stream::empty().boxed()),
                _ => self.all_here(&file),
            };
        }
        groups.truncate(self.worthwhile(&file, &groups, rows)?);
        if groups.is_empty() {
            return self.all_here(&file);
        }
        let (without, within) = loop {
            match (self.without(&groups), self.within(&groups)) {
                (Ok(without), Ok(within)) => break (without, within),
                _ if groups.len() > 1 => groups.truncate(groups.len() / 2),
                (Err(why), _) | (_, Err(why)) => return self.refused(&file, &why),
            }
        };
        let read = Arc::new(AtomicU64::new(0));
        let rest = self.here(&file, &without, Arc::clone(&read))?;
        let expected: Arc<Mutex<Option<u64>>> = Arc::default();
        let find = {
            let expected = Arc::clone(&expected);
            async move {
                match self.ask(&file, &groups).await? {
                    Ok(answer) => {
                        self.groups.pushed.add(groups.len());
                        let left = answer.rows.saturating_sub(answer.inside);
                        *expected.lock().unwrap_or_else(PoisonError::into_inner) = Some(left);
                        Ok(stream::iter([Ok(answer.states)]).boxed())
                    }
                    Err(why) => {
                        self.report(&file, &why);
                        self.here(&file, &within, Arc::default())
                    }
                }
            }
        };
        let states = stream::once(find).try_flatten();
        let check = checked(move || {
            let read = read.load(Ordering::Relaxed);
            (read, expected.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(read))
        });
        Ok(stream::select(states, rest).chain(check).boxed())
    }

    /// Whether so many groups are worth asking about, now that their number is known.
    fn worth_asking(&self, file: &PartitionedFile, groups: usize) -> Result<bool> {
        let demand = self.demand.of_file(file);
        let ways = vec![(demand.here(), false), (demand.pushed(groups as u64), true)];
        self.choose(file, ways)
    }

    /// How many of the groups of a sample are worth asking about, the largest first.
    fn worthwhile(&self, file: &PartitionedFile, groups: &[Group], rows: u64) -> Result<usize> {
        let demand = self.demand.of_file(file);
        let mut ways = vec![(demand.here(), 0)];
        let mut inside = 0;
        for (index, group) in groups.iter().take(MOST_GROUPS).enumerate() {
            inside += group.seen;
            let left = 1.0 - inside as f64 / rows.max(1) as f64;
            ways.push((demand.together(index as u64 + 1, left), index + 1));
        }
        self.choose(file, ways)
    }

    /// The best of some ways, of which the first asks about no group: not where a session forces
    /// that some are asked about.
    fn choose<T>(&self, file: &PartitionedFile, mut ways: Vec<(Steps, T)>) -> Result<T> {
        let options = self.context.session_config().options();
        if matches!(SluiceOptions::of(options).group_by, GroupBy::S3 | GroupBy::Hybrid) {
            ways.remove(0);
        }
        let ways = ways.into_iter().map(|(steps, build)| Way {
            strategy: "group_by",
            offer: Ok(Offer { steps, statement: None, build }),
        });
        let question = Question {
            operator: "group_by",
            subject: file.object_meta.location.to_string(),
            ways: ways.collect(),
            forced: None,
            notes: Vec::new(),
        };
        Ok(Chooser::of(self.endpoint(), options).choose(question)?.0)
    }

    /// The groups that the store can be asked about, the largest first.
    fn known(&self, found: Groups) -> Vec<Group> {
        let mut groups = found.largest_first();
        groups.retain(|group| self.query.condition(&self.source, group).is_some());
        groups
    }

    /// The groups of the first rows of a scan.
    async fn sample(&self, source: &S3SelectSource, file: &PartitionedFile) -> Result<Groups> {
        let mut rows = self.rows(&self.query.keys_of(source), file, Some(self.sample_rows))?;
        let mut groups = Groups::default();
        while let Some(batch) = rows.try_next().await? {
            let wanted = self.sample_rows.saturating_sub(groups.rows() as usize);
            groups.add(&batch.slice(0, wanted.min(batch.num_rows())))?;
            // Where the store does not answer, the file is read without a limit.
            if batch.num_rows() > wanted {
                break;
            }
        }
        Ok(groups)
    }

    /// The states of some groups, or why the store does not tell them.
    async fn ask(
        &self,
        file: &PartitionedFile,
        groups: &[Group],
    ) -> Result<Result<GroupStates, Refusal>> {
        let statements = match self.query.statements(&self.source, self.endpoint(), groups) {
            Ok(statements) => statements,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let answers = stream::iter(statements).map(|(share, statement)| async move {
            let tally = self.metrics.tally();
            let answer = self.select.send(&statement, file, &tally).await?;
            let batches: Vec<RecordBatch> = answer.try_collect().await?;
            Ok::<_, Error>(self.query.read(&groups[share], &statement, &batches))
        });
        let answers: Vec<_> = match answers.buffered(STATEMENTS_IN_FLIGHT).try_collect().await {
            Ok(answers) => answers,
            Err(error) if may_fall_back(&error) => return Ok(Err(error.to_string())),
            Err(error) => return Err(external(error)),
        };
        Ok(self.together(answers))
    }

    /// The answers of all statements as one, if they are about the same rows.
    fn together(&self, answers: Vec<Result<GroupStates, Refusal>>) -> Result<GroupStates, Refusal> {
        let mut inside = 0_u64;
        let (mut rows, mut states) = (None, Vec::new());
        for answer in answers {
            let answer = answer?;
            if *rows.get_or_insert(answer.rows) != answer.rows {
                return Err("the answers count different rows".to_owned());
            }
            inside = inside.saturating_add(answer.inside);
            states.push(answer.states);
        }
        let rows = rows.unwrap_or(0);
        if inside > rows {
            return Err(format!("groups of {inside} rows among {rows}"));
        }
        let states = arrow::compute::concat_batches(&self.partial.schema(), &states);
        Ok(GroupStates { states: states.map_err(|e| e.to_string())?, inside, rows })
    }

    /// The scan of the rows that are in none of some groups.
    fn without(&self, groups: &[Group]) -> Result<S3SelectSource, Refusal> {
        let filter = outside(&self.query.keys, groups, self.source.file_schema());
        self.filtered(filter)
    }

    /// The scan of the rows that are in one of some groups.
    fn within(&self, groups: &[Group]) -> Result<S3SelectSource, Refusal> {
        self.filtered(inside(&self.query.keys, groups, self.source.file_schema()))
    }

    fn filtered(&self, filter: Result<Arc<dyn PhysicalExpr>>) -> Result<S3SelectSource, Refusal> {
        let filter = filter.map_err(|error| error.to_string())?;
        self.source.with_exact_filter(self.endpoint(), filter).map_err(|why| why.to_string())
    }

    /// All rows of a file, aggregated here, because the store does not compute the states.
    fn refused(&self, file: &PartitionedFile, why: &str) -> Result<Rows> {
        self.report(file, why);
        self.all_here(file)
    }

    fn report(&self, file: &PartitionedFile, why: &str) {
        self.groups.repairs.add(1);
        tracing::info!(object = %file.object_meta.location, why, "grouping the object's rows here");
    }

    fn all_here(&self, file: &PartitionedFile) -> Result<Rows> {
        self.here(file, &self.source, Arc::default())
    }

    /// The partial states of a scan's rows, aggregated here. `read` counts the rows.
    fn here(
        &self,
        file: &PartitionedFile,
        source: &S3SelectSource,
        read: Arc<AtomicU64>,
    ) -> Result<Rows> {
        let count = self.groups.rows_left.clone();
        let rows = self.rows(source, file, None)?.inspect_ok(move |batch| {
            count.add(batch.num_rows());
            read.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
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

    /// The rows of a scan of one file, at most so many if the store answers.
    fn rows(
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
            KeysAtOpen::of(source),
        )?;
        let projection = source.split_projection().clone();
        let opener = ProjectionOpener::try_new(projection, Arc::new(opener), source.file_schema())?;
        Ok(stream::once(opener.open(file.clone())?).try_flatten().boxed())
    }
}

/// An end of a stream that is an error if two counts of the same rows differ.
fn checked(counts: impl FnOnce() -> (u64, u64) + Send + 'static) -> Rows {
    let check = async move {
        match counts() {
            (read, expected) if read == expected => Ok(stream::empty().boxed()),
            (read, expected) => exec_err!(
                "the store counted {expected} rows outside of some groups, and sent {read}"
            ),
        }
    };
    stream::once(check).try_flatten().boxed()
}

/// Rows that are read once.
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
