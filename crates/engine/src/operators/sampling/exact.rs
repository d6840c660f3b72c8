//! The last row of the answer itself, found by the sort columns of all rows that may be in the answer.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::collect;
use datafusion::physical_plan::sorts::sort::{SortExec, sort_batch};
use futures::stream::{StreamExt, TryStreamExt, iter};

use super::Sampling;
use super::bound::{is_true, no_later, values};
use super::key_scan::KeyScan;

/// The result of reading the sort columns.
#[derive(Debug)]
pub struct Exact {
    /// A condition over the table's columns for the rows that come no later than the last of the answer: K rows and
    /// its ties.
    pub bound: Arc<dyn PhysicalExpr>,
    /// For each file or part of a file, in the order of the scan, true if it has such a row.
    pub parts: Vec<bool>,
}

impl Exact {
    /// Reads the sort columns of the rows `within` a bound over the table's columns, or of all rows. Each file is
    /// read by itself, as many at once as the scan has partitions. Returns `None` if fewer than K rows are within the
    /// bound, or if the K-th best of them bounds nothing.
    ///
    /// # Errors
    ///
    /// If the rows cannot be read.
    pub async fn find(
        scan: &KeyScan,
        sampling: &Sampling,
        within: Option<&Arc<dyn PhysicalExpr>>,
        context: &Arc<TaskContext>,
    ) -> Result<Option<Self>> {
        let files = scan.config().file_groups.iter().flat_map(|group| group.files());
        let best = |file: &PartitionedFile| {
            let rows = scan.rows(std::slice::from_ref(file), None, within)?;
            let sort = SortExec::new(scan.keys().clone(), rows).with_fetch(Some(sampling.k));
            Ok(collect(Arc::new(sort), Arc::clone(context)))
        };
        let at_once = scan.config().file_groups.len();
        let parts: Vec<_> = files.map(best).collect::<Result<_>>()?;
        let parts: Vec<Vec<RecordBatch>> = iter(parts)
            .map(|part| async {
                SpawnedTask::spawn(part).join().await.map_err(|stopped| {
                    internal_datafusion_err!("reading sort columns was stopped: {stopped}")
                })?
            })
            .buffered(at_once.max(1))
            .try_collect()
            .await?;
        let all = concat_batches(scan.schema(), parts.iter().flatten())?;
        if sampling.k == 0 || all.num_rows() < sampling.k {
            return Ok(None);
        }
        let best = sort_batch(&all, scan.keys(), Some(sampling.k))?;
        let last = values(scan.keys(), &best, sampling.k - 1)?;
        let bound = no_later(&sampling.keys, &last, scan.table())?.or_else(|| within.cloned());
        let Some(bound) = bound else { return Ok(None) };
        let here = scan.over(&bound)?;
        let has_one = |part: &Vec<RecordBatch>| {
            // The rows are sorted, so the first decides.
            match part.iter().find(|batch| batch.num_rows() > 0) {
                Some(first) => Ok(is_true(&here, &first.slice(0, 1))?.value(0)),
                None => Ok(false),
            }
        };
        let parts = parts.iter().map(has_one).collect::<Result<_>>()?;
        Ok(Some(Self { bound, parts }))
    }
}
