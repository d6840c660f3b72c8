//! Opens each file in the way that is better at that moment.

use std::sync::Arc;
use std::time::Instant;

use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory,
};

use super::Pace;
use super::throughput::Reads;

/// Opens files with GET, and later perhaps with statements.
pub(super) struct TurningOpener {
    pub(super) get: Arc<dyn FileOpener>,
    pub(super) select: Arc<dyn FileOpener>,
    pub(super) pace: Arc<Pace>,
    /// True if the store accepts statements for a range of a file.
    pub(super) takes_ranges: bool,
    pub(super) ways: Ways,
}

/// The metrics of a partition, shown by EXPLAIN ANALYZE: the number of files or ranges that each way opened.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    got: Count,
    selected: Count,
    /// The number of GET requests.
    pub(super) requests: Count,
}

impl Ways {
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

impl FileOpener for TurningOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let is_askable = file.range.is_none() || self.takes_ranges;
        let (opener, count) = match self.pace.opens(&file, is_askable, Instant::now()) {
            Reads::Get => (&self.get, &self.ways.got),
            Reads::Select => (&self.select, &self.ways.selected),
        };
        count.add(1);
        opener.open(file)
    }
}
