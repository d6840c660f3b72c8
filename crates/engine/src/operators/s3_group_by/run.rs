//! Runs a group-by on one file: finds its groups, requests their states, and fetches the missing rows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use futures::stream::{self, StreamExt, TryStreamExt};
use sluicegate_client::Error;

use super::groups::{Group, Groups};
use super::local_group_by::{LocalGroupBy, Rows};
use super::query::{GroupAnswer, GroupBatch, GroupFilterForm, GroupQuery, GroupScan, GroupStates};
use super::{GroupPushdown, MOST_BYTES, S3GroupByExec};
use crate::estimate::demand::GroupByDemand;
use crate::scan::opener::{external, may_fall_back};
use crate::scan::s3_select::S3SelectSource;
use crate::scan::stored_types;
use crate::store::endpoint::Endpoint;

/// The maximum number of groups of a file whose states are requested. With more, all rows are aggregated locally.
pub(super) const MOST_GROUPS: usize = 256;
/// The maximum number of groups of a file if each gets a statement of its own.
pub(super) const MOST_STATEMENTS: usize = 32;
/// Number of times that groups are looked for among the remaining rows.
const ROUNDS: usize = 4;
/// Number of statements about one file in flight.
const STATEMENTS_IN_FLIGHT: usize = 2;
/// Number of statements about one file in flight if each group gets its own.
const GROUPS_IN_FLIGHT: usize = 4;

/// A partition of a group-by while it runs.
pub(super) struct Run {
    query: Arc<GroupQuery>,
    /// True if only the largest groups are requested.
    largest: bool,
    sample_rows: usize,
    demand: GroupByDemand,
    here: LocalGroupBy,
}

/// The reason why the store cannot provide the states of some groups.
type Refusal = String;

impl Run {
    pub(super) fn new(
        exec: &S3GroupByExec,
        query: &Arc<GroupQuery>,
        context: Arc<TaskContext>,
        partition: usize,
    ) -> Result<Self> {
        let demand = GroupByDemand::from_exec(&exec.shape()?, context.session_config().options());
        Ok(Self {
            query: Arc::clone(query),
            largest: exec.pushed == GroupPushdown::Largest,
            sample_rows: exec.sample_rows,
            demand,
            here: LocalGroupBy::new(exec, context, partition)?,
        })
    }

    fn endpoint(&self) -> &Endpoint {
        &self.here.select.endpoint
    }

    /// Returns the partial states of one file.
    pub(super) async fn file(self: Arc<Self>, file: PartitionedFile) -> Result<Rows> {
        if file.object_meta.size == 0 {
            return Ok(stream::empty().boxed());
        }
        let columns: BTreeSet<usize> =
            self.here.source.columns_of(&self.here.source.exact_filters());
        let get = self.here.source.get();
        if stored_types::check(get, &file, self.here.source.file_schema(), &columns).await.is_err()
        {
            // Reading the rows meets the same error and reports it.
            return self.here.all(&file);
        }
        match self.largest {
            true => self.largest(file).await,
            false if self.query.is_distinct() => self.distinct(&file).await,
            false => self.all(&file).await,
        }
    }

    /// Requests the states of every group. A sample is taken again of the rows that the answers do not cover.
    async fn all(&self, file: &PartitionedFile) -> Result<Rows> {
        let mut outside = GroupScan { source: self.here.source.clone(), check: None };
        let mut pushed: Vec<Group> = Vec::new();
        let mut states = Vec::new();
        let (mut total, mut inside, mut left, mut exact) = (None, 0_u64, None, true);
        for round in 0..ROUNDS {
            let found = self.sample(&outside.source, file).await?;
            if found.rows() == 0 && pushed.is_empty() {
                return Ok(stream::empty().boxed());
            }
            let mut found = self.known_groups(found);
            // A store that sends extra rows may return known groups again.
            found.retain(|group| pushed.iter().all(|known| known.values != group.values));
            if let Some(why) = self.unqueried_groups(file, pushed.len(), found.len())? {
                self.here.groups.record_reason(&why);
                break;
            }
            let answer = match self.run_statement(file, &found).await? {
                Ok(answer) if *total.get_or_insert(answer.rows) == answer.rows => answer,
                Ok(_) => return self.here.refused(file, "the answers count different rows"),
                Err(why) if pushed.is_empty() => return self.here.refused(file, &why),
                Err(_) => break,
            };
            inside = inside.saturating_add(answer.inside);
            exact &= answer.exact;
            states.push(answer.states);
            pushed.extend(found);
            let Some(rest) = answer.rows.checked_sub(inside) else {
                return self.here.refused(file, "groups of more rows than there are");
            };
            left = Some(rest);
            if rest == 0 && exact {
                break;
            }
            if rest > 0 && round == 0 {
                self.here.groups.repairs.add(1);
            }
            match self.without(&pushed) {
                Ok(without) => outside = without,
                Err(why) => return self.here.refused(file, &why),
            }
            if rest <= self.sample_rows as u64 {
                break;
            }
        }
        let rest = match left {
            Some(0) if exact => Vec::new(),
            Some(expected) => match self.fetch_rest(file, &outside).await? {
                Ok((rest, read)) if read == expected => rest,
                Ok((_, read)) => return self.here.refused(file, &contradiction(expected, read)),
                Err(why) => return self.here.refused(file, &why),
            },
            None => return self.here.all(file),
        };
        self.here.groups.pushed.add(pushed.len());
        Ok(stream::iter(states.into_iter().chain(rest).map(Ok)).boxed())
    }

    /// Finds the groups themselves: those of a sample, then those of the rows in none of them, until no row is left.
    async fn distinct(&self, file: &PartitionedFile) -> Result<Rows> {
        let mut outside = GroupScan { source: self.here.source.clone(), check: None };
        let mut pushed: Vec<Group> = Vec::new();
        let mut complete = false;
        for round in 0..ROUNDS {
            let found = self.sample(&outside.source, file).await?;
            complete = found.rows() < self.sample_rows as u64;
            let found = found.largest_first();
            if complete {
                pushed.extend(found);
                break;
            }
            let source = &outside.source;
            let known = found.into_iter().filter(|it| self.query.condition(source, it).is_some());
            pushed.extend(known);
            if round == 0 {
                self.here.groups.repairs.add(1);
            }
            if pushed.len() > MOST_GROUPS {
                break;
            }
            match self.without(&pushed) {
                Ok(without) => outside = without,
                Err(_) => break,
            }
        }
        self.here.groups.pushed.add(pushed.len());
        let states = self.query.rows_without_states(&pushed)?;
        let states = stream::iter([Ok(states)]);
        if complete {
            return Ok(states.boxed());
        }
        Ok(states.chain(self.here.states(&outside, file, |_| ())?).boxed())
    }

    /// Requests the states of the largest groups and aggregates all other rows locally, at the same time.
    async fn largest(&self, file: PartitionedFile) -> Result<Rows> {
        let found = self.sample(&self.here.source, &file).await?;
        let rows = found.rows();
        let mut groups = self.known_groups(found);
        if groups.is_empty() {
            return match rows {
                0 => Ok(stream::empty().boxed()),
                _ => self.here.all(&file),
            };
        }
        groups.truncate(self.worthwhile(&file, &groups, rows)?);
        if groups.is_empty() {
            return self.here.all(&file);
        }
        let (without, within) = loop {
            match (self.without(&groups), self.scan_of_groups(&groups)) {
                (Ok(without), Ok(within)) => break (without, within),
                _ if groups.len() > 1 => groups.truncate(groups.len() / 2),
                (Err(why), _) | (_, Err(why)) => return self.here.refused(&file, &why),
            }
        };
        let (answer, rest) = futures::future::try_join(
            self.run_statement(&file, &groups),
            self.fetch_rest(&file, &without),
        )
        .await?;
        let (rest, read) = match rest {
            Ok(rest) => rest,
            Err(why) => return self.here.refused(&file, &why),
        };
        let rest = stream::iter(rest.into_iter().map(Ok));
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => {
                self.here.report(&file, &why);
                return Ok(rest.chain(self.here.states(&within, &file, |_| ())?).boxed());
            }
        };
        let expected = answer.rows.saturating_sub(answer.inside);
        if read != expected {
            return self.here.refused(&file, &contradiction(expected, read));
        }
        self.here.groups.pushed.add(groups.len());
        Ok(stream::iter([Ok(answer.states)]).chain(rest).boxed())
    }

    /// Aggregates the remaining rows locally and returns their states and their number. The inner error is the reason
    /// why they cannot be buffered.
    async fn fetch_rest(
        &self,
        file: &PartitionedFile,
        part: &GroupScan,
    ) -> Result<Result<(Vec<RecordBatch>, u64), Refusal>> {
        let read = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&read);
        let add = move |rows: usize| {
            count.fetch_add(rows as u64, Ordering::Relaxed);
        };
        let mut states = self.here.states(part, file, add)?;
        let (mut held, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = states.try_next().await? {
            bytes += batch.get_array_memory_size();
            if bytes > MOST_BYTES {
                return Ok(Err("too many groups are left".to_owned()));
            }
            held.push(batch);
        }
        Ok(Ok((held, read.load(Ordering::Relaxed))))
    }

    /// Returns the reason why the states of the newly found groups are not requested, or `None` if they are. `asked`
    /// groups were requested before.
    fn unqueried_groups(
        &self,
        file: &PartitionedFile,
        asked: usize,
        found: usize,
    ) -> Result<Option<Refusal>> {
        let (groups, most) = (asked + found, self.most());
        if found == 0 {
            return Ok(Some(
                "no other groups in a sample that the store can be asked about".to_owned(),
            ));
        }
        if groups > most {
            let how = match self.query.form() {
                GroupFilterForm::Case => "",
                GroupFilterForm::Where => " one by one",
            };
            return Ok(Some(format!(
                "{groups} groups in a file, of which the store is asked about at most {most}{how}"
            )));
        }
        // The demand covers all files, because they share the link and the store's cores.
        let demand = &self.demand;
        let ways = vec![(demand.local_steps(), false), (demand.proven(groups as u64), true)];
        let worth_it = self.here.choose(file, ways)?;
        Ok((!worth_it).then(|| format!("asking about {groups} groups is predicted to cost more")))
    }

    /// Returns how many groups of a sample, largest first, are worth requesting, or the number that is given.
    fn worthwhile(&self, file: &PartitionedFile, groups: &[Group], rows: u64) -> Result<usize> {
        let demand = &self.demand;
        if let Some(pushed) = demand.pushed() {
            return Ok(self.most().min(usize::try_from(pushed).unwrap_or(usize::MAX)));
        }
        let mut ways = vec![(demand.local_steps(), 0)];
        let mut inside = 0;
        for (index, group) in groups.iter().take(self.most()).enumerate() {
            inside += group.seen;
            let left = 1.0 - inside as f64 / rows.max(1) as f64;
            ways.push((demand.one_statement_steps(index as u64 + 1, left), index + 1));
        }
        self.here.choose(file, ways)
    }

    /// Returns the maximum number of groups of a file whose states are requested.
    fn most(&self) -> usize {
        match self.query.form() {
            GroupFilterForm::Case => MOST_GROUPS,
            GroupFilterForm::Where => MOST_STATEMENTS,
        }
    }

    /// Returns the groups that the store can compute, largest first.
    fn known_groups(&self, found: Groups) -> Vec<Group> {
        let mut groups = found.largest_first();
        groups.retain(|group| self.query.condition(&self.here.source, group).is_some());
        groups
    }

    /// Returns the groups of the first rows of a scan.
    async fn sample(&self, source: &S3SelectSource, file: &PartitionedFile) -> Result<Groups> {
        let mut rows = self.here.rows(&self.query.keys_of(source), file, Some(self.sample_rows))?;
        let mut groups = Groups::default();
        while let Some(batch) = rows.try_next().await? {
            let wanted = self.sample_rows.saturating_sub(groups.rows() as usize);
            groups.add(&batch.slice(0, wanted.min(batch.num_rows())))?;
            // If the store does not answer, the file is read without a limit.
            if batch.num_rows() > wanted {
                break;
            }
        }
        self.here.groups.sampled.add(groups.rows() as usize);
        Ok(groups)
    }

    /// Requests the states of some groups, or returns the reason why the store does not provide them.
    async fn run_statement(
        &self,
        file: &PartitionedFile,
        groups: &[Group],
    ) -> Result<Result<GroupStates, Refusal>> {
        let statements = match self.query.statements(&self.here.source, self.endpoint(), groups) {
            Ok(statements) => statements,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let exact = statements.iter().all(|share| share.exact);
        let answers = stream::iter(statements).map(
            |GroupBatch { groups: share, statement, .. }| async move {
                let tally = self.here.metrics.tally(&self.here.select.bucket, file);
                let answer = self.here.select.send(&statement, file, &tally).await?;
                let batches: Vec<RecordBatch> = answer.try_collect().await?;
                Ok::<_, Error>(self.query.read(&groups[share], &statement, &batches))
            },
        );
        let at_once = match self.query.form() {
            GroupFilterForm::Case => STATEMENTS_IN_FLIGHT,
            GroupFilterForm::Where => GROUPS_IN_FLIGHT,
        };
        let answers: Vec<_> = match answers.buffered(at_once).try_collect().await {
            Ok(answers) => answers,
            Err(error) if may_fall_back(&error) => return Ok(Err(error.to_string())),
            Err(error) => return Err(external(error)),
        };
        Ok(self.run_batches(answers, exact))
    }

    /// Merges the answers of all statements, if they count the same rows.
    fn run_batches(
        &self,
        answers: Vec<Result<GroupAnswer, Refusal>>,
        exact: bool,
    ) -> Result<GroupStates, Refusal> {
        let mut inside = 0_u64;
        let (mut rows, mut states) = (None, Vec::new());
        for answer in answers {
            let answer = answer?;
            if answer.rows.is_some_and(|counted| *rows.get_or_insert(counted) != counted) {
                return Err("the answers count different rows".to_owned());
            }
            inside = inside.saturating_add(answer.inside);
            states.push(answer.states);
        }
        let rows = rows.unwrap_or(0);
        if inside > rows {
            return Err(format!("groups of {inside} rows among {rows}"));
        }
        let states = arrow::compute::concat_batches(&self.here.partial.schema(), &states);
        Ok(GroupStates { states: states.map_err(|e| e.to_string())?, inside, rows, exact })
    }

    /// Returns the rows that are in none of some groups.
    fn without(&self, groups: &[Group]) -> Result<GroupScan, Refusal> {
        let part = self.query.outside(&self.here.source, self.endpoint(), groups);
        part.map_err(|why| why.to_string())
    }

    /// Returns the rows that are in one of some groups.
    fn scan_of_groups(&self, groups: &[Group]) -> Result<GroupScan, Refusal> {
        let part = self.query.inside(&self.here.source, self.endpoint(), groups);
        part.map_err(|why| why.to_string())
    }
}

fn contradiction(counted: u64, sent: u64) -> String {
    format!("the store counted {counted} rows outside of some groups, and sent {sent}")
}
