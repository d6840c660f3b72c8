//! Opens each file in the way that is better at that moment.

use std::sync::Arc;
use std::time::Instant;

use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory,
};

use super::Throughput;
use super::throughput::AccessMethod;

/// Opens files with GET, and later perhaps with statements.
pub(super) struct AdaptiveOpener {
    pub(super) get: Arc<dyn FileOpener>,
    pub(super) select: Arc<dyn FileOpener>,
    pub(super) pace: Arc<Throughput>,
    /// True if the store accepts statements for a range of a file.
    pub(super) takes_ranges: bool,
    pub(super) ways: AccessCounts,
}

/// The metrics of a partition, shown by EXPLAIN ANALYZE: the number of files or ranges that each way opened.
#[derive(Debug, Clone)]
pub(super) struct AccessCounts {
    got: Count,
    selected: Count,
    /// The number of GET requests.
    pub(super) requests: Count,
}

impl AccessCounts {
    pub(super) fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| {
            MetricBuilder::new(set).with_category(MetricCategory::Rows).counter(name, partition)
        };
        Self {
            got: count("opened_by_get"),
            selected: count("opened_by_select"),
            requests: count("get_requests"),
        }
    }
}

impl FileOpener for AdaptiveOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let is_askable = file.range.is_none() || self.takes_ranges;
        let (opener, count) = match self.pace.opens(&file, is_askable, Instant::now()) {
            AccessMethod::Get => (&self.get, &self.ways.got),
            AccessMethod::Select => (&self.select, &self.ways.selected),
        };
        count.add(1);
        opener.open(file)
    }
}
