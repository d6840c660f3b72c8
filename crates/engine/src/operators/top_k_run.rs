//! The search for the best rows of a scan: the bounds, and the number of rows within them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::compute::{and, filter_record_batch, not};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource,
};
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

use crate::operators::sampling::Sampling;
use crate::operators::sampling::bound::{is_true, no_later, values};
use crate::operators::sampling::exact::Exact;
use crate::operators::sampling::key_scan::KeyScan;
use crate::operators::sampling::plan::Sample;
use crate::scan::output_exprs::over_output;
use crate::scan::s3_scan::{S3Scan, as_select_scan};
use crate::scan::s3_select::S3SelectSource;
use crate::store::metrics::TextMetric;

/// One run of a [`TopKSampleExec`](super::top_k_sample::TopKSampleExec), shared by its partitions.
#[derive(Debug, Default)]
pub(super) struct TopKRun {
    started: Mutex<HashSet<usize>>,
    bounded: OnceCell<Arc<Bounded>>,
    /// Number of partitions that have returned all rows within the bound.
    ended: AtomicUsize,
    /// Number of rows within the bound that reach the sort above.
    within: AtomicUsize,
    metrics: ExecutionPlanMetricsSet,
    sample_metrics: ExecutionPlanMetricsSet,
    key_metrics: ExecutionPlanMetricsSet,
}

/// The scan once the bound is known.
#[derive(Debug)]
struct Bounded {
    scan: Arc<dyn ExecutionPlan>,
    /// The bound over the scan's output; `None` if any row may be in the answer.
    bound: Option<Bound>,
}

/// The rows that are read first.
#[derive(Debug)]
struct Bound {
    rows: Arc<dyn PhysicalExpr>,
    /// Conditions that rows must pass before the sort.
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl Bounded {
    /// Creates a scan of the rows within a bound over the table's columns. `parts` marks the parts of the scan that
    /// have such rows.
    fn new(
        config: &FileScanConfig,
        source: &S3SelectSource,
        sampling: &Sampling,
        bound: Arc<dyn PhysicalExpr>,
        parts: Option<&[bool]>,
    ) -> Result<Self> {
        let project = |expr: &Arc<dyn PhysicalExpr>| {
            let missing = || internal_datafusion_err!("the scan does not return {expr}");
            over_output(source.output(), expr)?.ok_or_else(missing)
        };
        let within = Bound {
            rows: project(&bound)?,
            filters: sampling.filters.iter().map(project).collect::<Result<_>>()?,
        };
        let source: Arc<dyn FileSource> = Arc::new(source.with_arriving_filter(bound));
        let mut bounded = FileScanConfigBuilder::from(config.clone()).with_source(source);
        if let Some(parts) = parts {
            let mut parts = parts.iter();
            let mut with_rows = |_: &&PartitionedFile| parts.next().copied().unwrap_or(true);
            // Empty partitions stay, so that the number of partitions does not change.
            let groups = config.file_groups.iter();
            let groups = groups.map(|group| group.iter().filter(&mut with_rows).cloned().collect());
            bounded = bounded.with_file_groups(groups.map(FileGroup::new).collect());
        }
        Ok(Self { scan: S3Scan::node(bounded.build()), bound: Some(within) })
    }
}

impl TopKRun {
    /// Returns true if the partition runs for the first time.
    pub(super) fn starts(&self, partition: usize) -> bool {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).insert(partition)
    }

    /// Returns the metrics of the run.
    pub(super) fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    /// Returns the metrics of the sample's requests.
    pub(super) fn sample_metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.sample_metrics
    }

    /// Returns the metrics of the requests for the sort columns of the rows within the sample's bound.
    pub(super) fn key_metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.key_metrics
    }

    /// Returns the rows of a partition that may be among the best.
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

    /// Returns the scan of the rows within the bound from a sample, or from the sort columns of the rows within that.
    /// If either fails, the scan runs without a bound.
    async fn bounded(
        &self,
        scan: &Arc<dyn ExecutionPlan>,
        sampling: &Sampling,
        context: &Arc<TaskContext>,
    ) -> Arc<Bounded> {
        let bounded = match as_select_scan(scan.as_ref()) {
            Some(scan) => self.read_candidates(scan, sampling, context).await,
            None => None,
        };
        Arc::new(bounded.unwrap_or_else(|| Bounded { scan: Arc::clone(scan), bound: None }))
    }

    /// Returns the bounded scan; `None` if all rows must be read.
    async fn read_candidates(
        &self,
        (config, source): (&FileScanConfig, &S3SelectSource),
        sampling: &Sampling,
        context: &Arc<TaskContext>,
    ) -> Option<Bounded> {
        let threshold = self.text("threshold");
        let of_sample = match self.sampled(config, source, sampling, context).await {
            Ok(bound) => bound,
            Err(error) => {
                tracing::info!(%error, "a sample failed; every row is read");
                threshold.set("none, the sample failed");
                return None;
            }
        };
        threshold.set(of_sample.as_ref().map_or("none".to_owned(), ToString::to_string));
        let exact = match sampling.late {
            true => self.exact(config, source, sampling, of_sample.as_ref(), context).await,
            false => None,
        };
        let (bound, parts) = match exact {
            Some(exact) => {
                let Exact { bound, parts } = exact?;
                (bound, Some(parts))
            }
            None => (of_sample?, None),
        };
        // Creates the counter, so that it is shown even if it stays 0.
        self.counter("repairs");
        match Bounded::new(config, source, sampling, bound, parts.as_deref()) {
            Ok(bounded) => Some(bounded),
            Err(error) => {
                tracing::info!(%error, "a bound does not fit its scan; every row is read");
                None
            }
        }
    }

    /// Returns the bound from the sample; `None` if the sample has too few rows or bounds nothing.
    async fn sampled(
        &self,
        config: &FileScanConfig,
        source: &S3SelectSource,
        sampling: &Sampling,
        context: &Arc<TaskContext>,
    ) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let sample = Sample::try_new(config, source, sampling, self.sample_metrics.clone())?;
        let best = collect(sample.best(sampling.k)?, Arc::clone(context)).await?;
        let sampled = self.sample_metrics.clone_inner().output_rows().unwrap_or(0);
        self.counter("sample_rows").add(sampled);
        // The rows are sorted, so the last row of the last batch is the K-th best.
        let rows: usize = best.iter().map(RecordBatch::num_rows).sum();
        let Some(last) = best.iter().rev().find(|batch| batch.num_rows() > 0) else {
            return Ok(None);
        };
        if rows < sampling.k {
            return Ok(None);
        }
        let values = values(sample.keys(), last, last.num_rows() - 1)?;
        no_later(&sampling.keys, &values, source.table_schema().table_schema())
    }

    /// Finds the K-th best row itself. Returns `Some(None)` if there are fewer rows than K or they bound nothing.
    /// Returns `None` if the search is not worthwhile or fails, so that the sample's bound applies.
    async fn exact(
        &self,
        config: &FileScanConfig,
        source: &S3SelectSource,
        sampling: &Sampling,
        of_sample: Option<&Arc<dyn PhysicalExpr>>,
        context: &Arc<TaskContext>,
    ) -> Option<Option<Exact>> {
        let threshold = self.text("exact_threshold");
        let fallbacks = self.sample_metrics.clone_inner().sum_by_name("fallbacks");
        if fallbacks.is_some_and(|fallbacks| fallbacks.as_usize() > 0) {
            // Each request for a part of an object would then read the whole object.
            threshold.set("none, the store refused the sample");
            return None;
        }
        let found = async {
            let keys = KeyScan::try_new(config, source, sampling, self.key_metrics.clone())?;
            let found = Exact::find(&keys, sampling, of_sample, context).await?;
            if found.is_some() || of_sample.is_none() {
                return Ok(found);
            }
            self.counter("repairs").add(1);
            Exact::find(&keys, sampling, None, context).await
        };
        let found: Result<_> = found.await;
        let rows = self.key_metrics.clone_inner().output_rows().unwrap_or(0);
        self.counter("key_rows").add(rows);
        match found {
            Ok(Some(exact)) => {
                threshold.set(exact.bound.to_string());
                self.counter("key_parts").add(exact.parts.len());
                let asked = exact.parts.iter().filter(|has_one| **has_one).count();
                self.counter("parts_left").add(asked);
                Some(Some(exact))
            }
            Ok(None) => {
                threshold.set("none");
                Some(None)
            }
            Err(error) => {
                tracing::info!(%error, "sort columns could not be read; the sample must do");
                threshold.set("none, the sort columns could not be read");
                None
            }
        }
    }

    /// Returns the rows within the bound, and counts them.
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

    /// Returns the rows beyond the bound if this partition is the last and too few rows are within.
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

    fn text(&self, name: &'static str) -> Arc<TextMetric> {
        let text = Arc::new(TextMetric::default());
        let value = Arc::clone(&text) as _;
        MetricBuilder::new(&self.metrics).build(MetricValue::Custom { name: name.into(), value });
        text
    }

    fn counter(&self, name: &'static str) -> Count {
        MetricBuilder::new(&self.metrics).with_category(MetricCategory::Rows).global_counter(name)
    }
}
