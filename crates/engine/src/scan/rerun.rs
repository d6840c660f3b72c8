//! Scans that run a second time in the same plan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;

use super::s3_scan::{S3Scan, as_adaptive_scan};
use super::s3_select::S3SelectSource;
use crate::text::located_errors::LocatedSource;

/// Copies a plan so that it can run again: each scan gets new metrics and reads from the store of the task context.
/// (DataFusion's Parquet source would otherwise keep the store that it was planned with.)
///
/// # Errors
///
/// If a scan's projection does not fit its own table.
pub(crate) fn again(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let scan = node.downcast_ref::<DataSourceExec>();
        if let Some((config, turning)) = as_adaptive_scan(node.as_ref()) {
            let again = FileScanConfigBuilder::from(config.clone());
            let again = again.with_source(Arc::new(turning.again())).build();
            return Ok(Transformed::yes(S3Scan::node(again) as Arc<dyn ExecutionPlan>));
        }
        let Some(config) = scan.and_then(|it| it.data_source().downcast_ref::<FileScanConfig>())
        else {
            return Ok(Transformed::no(node));
        };
        let Some(config) = scan_again(config)? else { return Ok(Transformed::no(node)) };
        Ok(Transformed::yes(DataSourceExec::from_data_source(config) as Arc<dyn ExecutionPlan>))
    })
    .data()
}

fn scan_again(config: &FileScanConfig) -> Result<Option<FileScanConfig>> {
    let source = config.file_source();
    let source: Arc<dyn FileSource> = if let Some(select) = source.downcast_ref::<S3SelectSource>()
    {
        Arc::new(select.again())
    } else if let Some(text) = source.downcast_ref::<LocatedSource>() {
        Arc::new(text.again())
    } else if let Some(parquet) = source.downcast_ref::<ParquetSource>() {
        parquet_again(parquet)?
    } else {
        return Ok(LocatedSource::replace(config));
    };
    Ok(Some(FileScanConfigBuilder::from(config.clone()).with_source(source).build()))
}

fn parquet_again(source: &ParquetSource) -> Result<Arc<dyn FileSource>> {
    let options = source.table_parquet_options().clone();
    let mut again = ParquetSource::new(source.table_schema().clone());
    if let Some(hint) = options.global.metadata_size_hint {
        again = again.with_metadata_size_hint(hint);
    }
    again = again.with_table_parquet_options(options);
    if let Some(predicate) = source.filter() {
        again = again.with_predicate(predicate);
    }
    if let Some(readers) = source.parquet_file_reader_factory() {
        again = again.with_parquet_file_reader_factory(Arc::clone(readers));
    }
    let projected = match source.projection() {
        Some(projection) => again.try_pushdown_projection(projection)?,
        None => None,
    };
    Ok(projected.unwrap_or_else(|| Arc::new(again)))
}
