//! One file of a group-by that the store runs: its states are asked for, or computed here.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::execution::TaskContext;
use futures::stream::{self, StreamExt, TryStreamExt};
use sluicegate_client::Error;

use super::clause::ClauseQuery;
use super::here::{Here, Rows};
use super::{MOST_BYTES, S3GroupByExec};
use crate::datasource::opener::{external, may_fall_back};
use crate::datasource::stored_types;

/// A partition of a group-by while it runs.
pub(super) struct RunClause {
    query: Arc<ClauseQuery>,
    here: Here,
}

/// Why the states of a file are not to be had from the store.
type Refusal = String;

impl RunClause {
    pub(super) fn new(
        exec: &S3GroupByExec,
        query: &Arc<ClauseQuery>,
        context: Arc<TaskContext>,
        partition: usize,
    ) -> Result<Self> {
        Ok(Self { query: Arc::clone(query), here: Here::new(exec, context, partition)? })
    }

    /// The partial states of one file.
    pub(super) async fn file(self: Arc<Self>, file: PartitionedFile) -> Result<Rows> {
        if file.object_meta.size == 0 {
            return Ok(stream::empty().boxed());
        }
        let source = &self.here.source;
        let columns: BTreeSet<usize> = source.columns_of(&source.exact_filters());
        let types = stored_types::check(source.get(), &file, source.file_schema(), &columns);
        if types.await.is_err() {
            // Whoever reads the rows finds this out again, and says so.
            return self.here.all(&file);
        }
        match self.ask(&file).await {
            Ok(Ok(states)) => {
                let groups = states.iter().map(RecordBatch::num_rows).sum();
                self.here.groups.pushed.add(groups);
                Ok(stream::iter(states.into_iter().map(Ok)).boxed())
            }
            Ok(Err(why)) => self.here.refused(&file, &why),
            Err(error) if may_fall_back(&error) => self.here.refused(&file, &error.to_string()),
            Err(error) => Err(external(error)),
        }
    }

    /// The states of all groups, once they are complete: an answer may break off. Where there are
    /// about as many groups as rows, it says little more than the rows do.
    async fn ask(
        &self,
        file: &PartitionedFile,
    ) -> Result<Result<Vec<RecordBatch>, Refusal>, Error> {
        let select = &self.here.select;
        if let Err(why) = select.endpoint.takes(self.query.statement(), &select.format) {
            return Ok(Err(why.to_string()));
        }
        let tally = self.here.metrics.tally();
        let mut answer = select.send(self.query.statement(), file, &tally).await?;
        let (mut states, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = answer.try_next().await? {
            bytes += batch.get_array_memory_size();
            if bytes > MOST_BYTES {
                return Ok(Err("there are too many groups".to_owned()));
            }
            match self.query.read(&batch, &file.partition_values) {
                Ok(batch) => states.push(batch),
                Err(malformed) => return Ok(Err(malformed)),
            }
        }
        Ok(Ok(states))
    }
}
