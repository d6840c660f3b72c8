//! Reads one file of a scan on its own.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::source::DataSource;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};

/// Reads all rows of one file of a scan with a source of DataFusion, within a task.
///
/// # Errors
///
/// If the task has no store for the scan's bucket.
pub fn one_file(
    config: &FileScanConfig,
    source: &Arc<dyn FileSource>,
    file: PartitionedFile,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    FileScanConfigBuilder::from(config.clone())
        .with_source(Arc::clone(source))
        .with_file_groups(vec![FileGroup::new(vec![file])])
        .with_limit(None)
        .build()
        .open(0, Arc::clone(context))
}
