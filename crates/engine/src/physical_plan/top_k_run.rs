//! The best rows of a scan while they are looked for: the bound, and how many rows keep it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::{and, filter_record_batch, not, prep_null_mask_filter};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, FileSource};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory, MetricValue,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, collect};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use tokio::sync::OnceCell;

use crate::datasource::s3_scan::{S3Scan, as_select_scan};
use crate::metrics::TextMetric;
use crate::sampling::Sampling;
use crate::sampling::bound::no_later;
use crate::sampling::plan::Sample;

/// One run of a [`TopKSampleExec`](super::top_k_sample::TopKSampleExec), shared by its partitions.
#[derive(Debug, Default)]
pub(super) struct TopKRun {
    started: Mutex<HashSet<usize>>,
    bounded: OnceCell<Arc<Bounded>>,
    /// Partitions that have put out all rows within the bound.
    ended: AtomicUsize,
    /// Rows within the bound that the sort above will see.
    within: AtomicUsize,
    metrics: ExecutionPlanMetricsSet,
    sample_metrics: ExecutionPlanMetricsSet,
}

/// The scan once the sample is known.
#[derive(Debug)]
struct Bounded {
    scan: Arc<dyn ExecutionPlan>,
    /// Over the scan's output; none if any row may be in the answer.
    bound: Option<Bound>,
}

/// Which rows are looked at first.
#[derive(Debug)]
struct Bound {
    rows: Arc<dyn PhysicalExpr>,
    /// What the rows must pass on their way to the sort.
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl TopKRun {
    /// Whether the partition runs for the first time.
    pub(super) fn starts(&self, partition: usize) -> bool {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).insert(partition)
    }

    /// What the run counts.
    pub(super) fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    /// What its sample asks of the store.
    pub(super) fn sample_metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.sample_metrics
    }

    /// The rows of a partition that may be among the best.
    pub(super) fn rows(
        self: &Arc<Self>,
        scan: &Arc<dyn ExecutionPlan>,
        sampling: &Arc<Sampling>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> SendableRecordBatchStream {
        let schema = scan.schema();
        let (run, scan, sampling) = (Arc::clone(self), Arc::clone(scan), Arc::clone(sampling));
        let rows = stream::once(run.open(scan, sampling, partition, context)).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }

    async fn open(
        self: Arc<Self>,
        scan: Arc<dyn ExecutionPlan>,
        sampling: Arc<Sampling>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let bounded = self.bounded.get_or_init(|| self.bounded(&scan, &sampling, &context)).await;
        let bounded = Arc::clone(bounded);
        let rows = bounded.scan.execute(partition, Arc::clone(&context))?;
        if bounded.bound.is_none() {
            return Ok(rows.boxed());
        }
        let (run, within) = (Arc::clone(&self), Arc::clone(&bounded));
        let within = rows.map(move |batch| run.count(&within, &batch?));
        let beyond = async move { self.beyond(&scan, &bounded, sampling.k, context) };
        Ok(within.chain(stream::once(beyond).try_flatten()).boxed())
    }

    /// The scan of the rows within a bound that a sample tells. Whatever is wrong with the sample,
    /// the scan is left to run without.
    async fn bounded(
        &self,
        scan: &Arc<dyn ExecutionPlan>,
        sampling: &Sampling,
        context: &Arc<TaskContext>,
    ) -> Arc<Bounded> {
        let threshold = Arc::new(TextMetric::default());
        MetricBuilder::new(&self.metrics).build(MetricValue::Custom {
            name: "threshold".into(),
            value: Arc::clone(&threshold) as _,
        });
        match self.ask(scan, sampling, context).await {
            Ok(Some((bounded, bound))) => {
                threshold.say(bound);
                // None so far is worth saying, too.
                self.counter("repairs");
                bounded
            }
            Ok(None) => {
                threshold.say("none");
                Arc::new(Bounded { scan: Arc::clone(scan), bound: None })
            }
            Err(error) => {
                tracing::info!(%error, "a sample failed; every row is read");
                threshold.say("none, the sample failed");
                Arc::new(Bounded { scan: Arc::clone(scan), bound: None })
            }
        }
    }

    /// The bounded scan and its bound in words; `None` if the sample is too short or tells nothing.
    async fn ask(
        &self,
        scan: &Arc<dyn ExecutionPlan>,
        sampling: &Sampling,
        context: &Arc<TaskContext>,
    ) -> Result<Option<(Arc<Bounded>, String)>> {
        let Some((config, source)) = as_select_scan(scan.as_ref()) else { return Ok(None) };
        let sample = Sample::of(config, source, sampling, self.sample_metrics.clone());
        let (plan, keys) = sample.best(sampling)?;
        let best = collect(plan, Arc::clone(context)).await?;
        let sampled = self.sample_metrics.clone_inner().output_rows().unwrap_or(0);
        self.counter("sample_rows").add(sampled);
        // The rows come in order: the last of the batches has the last of the rows.
        let rows: usize = best.iter().map(RecordBatch::num_rows).sum();
        let Some(last) = best.iter().rev().find(|batch| batch.num_rows() > 0) else {
            return Ok(None);
        };
        if rows < sampling.k {
            return Ok(None);
        }
        let values = keys.iter().map(|key| {
            let column = key.expr.evaluate(last)?.into_array(last.num_rows())?;
            ScalarValue::try_from_array(&column, last.num_rows() - 1)
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let table = source.table_schema().table_schema();
        let Some(rows) = no_later(&sampling.keys, &values, table)? else { return Ok(None) };
        let project = |expr: &Arc<dyn PhysicalExpr>| source.output().project_expr(expr);
        let bound = Bound {
            rows: project(&rows)?,
            filters: sampling.filters.iter().map(project).collect::<Result<_>>()?,
        };
        let words = rows.to_string();
        let source: Arc<dyn FileSource> = Arc::new(source.with_arriving_filter(rows));
        let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
        let bounded = Bounded { scan: S3Scan::node(config), bound: Some(bound) };
        Ok(Some((Arc::new(bounded), words)))
    }

    /// The rows within the bound, counted.
    fn count(&self, bounded: &Bounded, batch: &RecordBatch) -> Result<RecordBatch> {
        let Some(bound) = &bounded.bound else { return Ok(batch.clone()) };
        let within = is_true(&bound.rows, batch)?;
        let mut seen = within.clone();
        for filter in &bound.filters {
            seen = and(&seen, &is_true(filter, batch)?)?;
        }
        self.within.fetch_add(seen.true_count(), Ordering::Relaxed);
        Ok(filter_record_batch(batch, &within)?)
    }

    /// The rows beyond the bound, if this partition is the last and too few are within.
    fn beyond(
        &self,
        scan: &Arc<dyn ExecutionPlan>,
        bounded: &Arc<Bounded>,
        k: usize,
        context: Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let partitions = scan.output_partitioning().partition_count();
        let ended = self.ended.fetch_add(1, Ordering::AcqRel) + 1;
        if ended < partitions || self.within.load(Ordering::Acquire) >= k {
            return Ok(stream::empty().boxed());
        }
        let Some((config, _)) = as_select_scan(scan.as_ref()) else {
            return Ok(stream::empty().boxed());
        };
        self.counter("repairs").add(1);
        let all = CoalescePartitionsExec::new(S3Scan::node(config.clone()));
        let bounded = Arc::clone(bounded);
        let rest = all.execute(0, context)?.map(move |batch| {
            let batch = batch?;
            let Some(bound) = &bounded.bound else { return Ok(batch.slice(0, 0)) };
            Ok(filter_record_batch(&batch, &not(&is_true(&bound.rows, &batch)?)?)?)
        });
        Ok(rest.boxed())
    }

    fn counter(&self, name: &'static str) -> Count {
        MetricBuilder::new(&self.metrics).with_category(MetricCategory::Rows).global_counter(name)
    }
}

/// Which rows of a batch a condition is TRUE for, not FALSE or NULL.
fn is_true(condition: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let verdicts = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    let verdicts = verdicts.as_boolean();
    Ok(match verdicts.nulls() {
        Some(_) => prep_null_mask_filter(verdicts),
        None => verdicts.clone(),
    })
}
