//! The adaptive scan at run time, with its endpoint and the measured rate. It is never in a plan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use object_store::ObjectStore;

use super::opener::{AccessCounts, AdaptiveOpener};
use super::timed_store::MeasuredStore;
use super::{AdaptiveSource, Throughput};
use crate::context::read_layer::Layered;
use crate::scan::s3_scan::BoundSource;

/// An [`AdaptiveSource`] with its run-time state.
#[derive(Clone)]
pub(in crate::scan) struct BoundAdaptiveSource {
    pub(in crate::scan) source: AdaptiveSource,
    /// The source that sends statements.
    pub(in crate::scan) select: BoundSource,
    pub(in crate::scan) pace: Arc<Throughput>,
}

impl FileSource for BoundAdaptiveSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let metrics = self.select.metrics(partition);
        let ways = AccessCounts::new(self.metrics(), partition);
        let select = self.select.opener(metrics.clone())?;
        let pace = Arc::clone(&self.pace);
        let measured = MeasuredStore { pace, metrics, requests: ways.requests.clone() };
        let store = Layered::new(object_store, measured);
        let get = self.source.get.create_file_opener(Arc::new(store), base_config, partition)?;
        Ok(Arc::new(AdaptiveOpener {
            get,
            select,
            pace: Arc::clone(&self.pace),
            takes_ranges: self.source.select.takes_ranges(),
            ways,
        }))
    }

    fn table_schema(&self) -> &TableSchema {
        self.source.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        let mut source = self.source.clone();
        source.get = source.get.with_batch_size(batch_size);
        let select = self.select.in_batches(batch_size);
        Arc::new(Self { source, select, pace: Arc::clone(&self.pace) })
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.source.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.source.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        FileSource::metrics(&self.source)
    }

    fn file_type(&self) -> &str {
        self.source.file_type()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        FileSource::apply_expressions(&self.source, f)
    }
}
