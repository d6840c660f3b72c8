//! Runs a group-by on one file with the store's GROUP BY, or locally.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::execution::TaskContext;
use futures::stream::{self, StreamExt, TryStreamExt};
use sluicegate_client::Error;
use tokio::sync::OnceCell;

use super::clause::ClauseQuery;
use super::group_frequencies::GroupFrequencies;
use super::local_group_by::{LocalGroupBy, Rows};
use super::{MOST_BYTES, S3GroupByExec};
use crate::estimate::demand::GroupByDemand;
use crate::scan::opener::{PREFETCH, external, may_fall_back, may_take_less};
use crate::scan::s3_select::Filter;
use crate::scan::stored_types;

/// A partition of a group-by while it runs.
pub(super) struct RunClause {
    query: Arc<ClauseQuery>,
    sample_rows: usize,
    demand: GroupByDemand,
    here: LocalGroupBy,
    /// Statistics of the first rows of one file of the partition. They stand for all its files.
    seen: OnceCell<Option<GroupFrequencies>>,
}

/// The reason why the store cannot provide the states of a file.
type Refusal = String;

impl RunClause {
    pub(super) fn new(
        exec: &S3GroupByExec,
        query: &Arc<ClauseQuery>,
        context: Arc<TaskContext>,
        partition: usize,
    ) -> Result<Self> {
        let demand = GroupByDemand::from_exec(&exec.shape()?, context.session_config().options());
        Ok(Self {
            query: Arc::clone(query),
            sample_rows: exec.sample_rows,
            demand,
            here: LocalGroupBy::new(exec, context, partition)?,
            seen: OnceCell::new(),
        })
    }

    /// Returns the partial states of one file.
    pub(super) async fn file(self: Arc<Self>, file: PartitionedFile) -> Result<Rows> {
        if file.object_meta.size == 0 {
            return Ok(stream::empty().boxed());
        }
        let source = &self.here.source;
        let columns: BTreeSet<usize> = source.columns_of(&source.exact_filters());
        let types = stored_types::check(source.get(), &file, source.file_schema(), &columns);
        if types.await.is_err() {
            // Reading the rows meets the same error and reports it.
            return self.here.all(&file);
        }
        let mut parts = self.here.file_ranges(&file).await?;
        if parts.len() > 1 {
            let ask = move |(part, keys)| Arc::clone(&self).estimated_rows(part, keys);
            let parts = stream::iter(parts).map(ask).buffered(1 + PREFETCH);
            return Ok(parts.try_flatten().boxed());
        }
        match parts.pop() {
            Some((part, keys)) => self.estimated_rows(part, keys).await,
            None => Ok(stream::empty().boxed()),
        }
    }

    /// Returns the partial states of a part of a file that is filtered by some keys of joins.
    async fn estimated_rows(
        self: Arc<Self>,
        part: PartitionedFile,
        keys: Vec<Filter>,
    ) -> Result<Rows> {
        // Rows with the keys of a join are few, whatever their groups are.
        if keys.is_empty() && !self.pays_to_push(&part).await? {
            return self.here.all(&part);
        }
        match self.run_statement(&part, &keys).await? {
            Ok(states) => {
                let groups = states.iter().map(RecordBatch::num_rows).sum();
                self.here.groups.pushed.add(groups);
                Ok(stream::iter(states.into_iter().map(Ok)).boxed())
            }
            Err(why) => self.here.refused(&part, &why),
        }
    }

    /// Returns true if the groups are so much fewer than the rows that the store's GROUP BY pays. Also true if no
    /// sample is taken, for example because the session forces a strategy.
    async fn pays_to_push(&self, file: &PartitionedFile) -> Result<bool> {
        let options = self.here.context.session_config().options();
        let of_file = self.demand.of_file(file);
        if !of_file.is_worth_a_sample(options) {
            return Ok(true);
        }
        let seen = self.seen.get_or_init(|| async {
            let looked = self.sample_groups(file).await;
            looked
                .inspect_err(|why| tracing::debug!(%why, "no sample of the groups"))
                .ok()
                .flatten()
        });
        let Some(seen) = seen.await else { return Ok(true) };
        let groups = seen.groups_among(of_file.rows());
        // The demand covers all files, because they share the link and the store's cores.
        let ways = vec![(self.demand.local_steps(), false), (self.demand.clause(groups), true)];
        Ok(of_file.clause_bytes(groups) <= MOST_BYTES as f64 && self.here.choose(file, ways)?)
    }

    /// Reads the keys of the first rows of a file without filters, because it is unknown how many rows would have to
    /// be read to find enough that pass.
    async fn sample_groups(&self, file: &PartitionedFile) -> Result<Option<GroupFrequencies>> {
        let Some(keys) = self.query.keys_of(&self.here.source) else { return Ok(None) };
        let mut rows = self.here.rows(&keys.unfiltered(), file, Some(self.sample_rows))?;
        let (mut seen, mut wanted) = (Vec::new(), self.sample_rows);
        while wanted > 0
            && let Some(batch) = rows.try_next().await?
        {
            // If the store does not answer, the file is read without a limit.
            let batch = batch.slice(0, wanted.min(batch.num_rows()));
            wanted -= batch.num_rows();
            self.here.groups.sampled.add(batch.num_rows());
            seen.push(batch);
        }
        GroupFrequencies::count(&seen)
    }

    /// Returns the states of all groups once they are complete, because an answer may break off. If there are about
    /// as many groups as rows, the answer is hardly shorter than the rows.
    async fn run_statement(
        &self,
        file: &PartitionedFile,
        keys: &[Filter],
    ) -> Result<Result<Vec<RecordBatch>, Refusal>> {
        let select = &self.here.select;
        let filters = self.here.source.filters_now(&select.endpoint, None, keys)?;
        let statement = self.query.group_statement(&filters);
        if let Err(why) = select.endpoint.takes(&statement, &select.format) {
            return Ok(Err(why.to_string()));
        }
        let tally = self.here.metrics.tally(&select.bucket, file);
        let refused = |error: Error| match may_fall_back(&error) {
            true => Ok(Err(error.to_string())),
            false => Err(external(error)),
        };
        let mut answer = match select.send(&statement, file, &tally).await {
            Ok(answer) => answer,
            // The statement may be too long, and it is shortest without the keys.
            Err(error) if !keys.is_empty() && may_take_less(&error) => {
                return Box::pin(self.run_statement(file, &[])).await;
            }
            Err(error) => return refused(error),
        };
        let (mut states, mut bytes) = (Vec::new(), 0);
        loop {
            let batch = match answer.try_next().await {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(Ok(states)),
                Err(error) => return refused(error),
            };
            bytes += batch.columns().iter().map(held_bytes).sum::<usize>();
            if bytes > MOST_BYTES {
                return Ok(Err("there are too many groups".to_owned()));
            }
            match self.query.read(&batch, &file.partition_values) {
                Ok(batch) => states.push(batch),
                Err(malformed) => return Ok(Err(malformed)),
            }
        }
    }
}

/// Returns the bytes of a column of an answer. The columns of a batch in Arrow share their memory.
fn held_bytes(column: &ArrayRef) -> usize {
    let all = column.get_array_memory_size();
    match column.data_type() {
        // Its texts are not among the bytes of a slice.
        DataType::Utf8View => all,
        _ => column.to_data().get_slice_memory_size().unwrap_or(all),
    }
}
