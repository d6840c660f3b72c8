//! Parquet's bounds of floating-point columns, which do not cover NaN.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;

use super::dynamic_filters::arrives;

/// Changes a Parquet scan so that it skips no row group, page or file by a condition on a floating-point column.
/// Other nodes are returned unchanged.
///
/// Parquet's minimum and maximum of a column do not cover NaN, which SQL sorts after all numbers (and -NaN before
/// them). DataFusion would skip a row group of 1.0 and NaN for `f > 2`. The reader or an operator above it still
/// filters the rows by the whole condition.
#[must_use]
pub(crate) fn distrust(node: Arc<dyn ExecutionPlan>) -> Transformed<Arc<dyn ExecutionPlan>> {
    let scan = node.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
    let Some(config) = scan.and_then(|scan| scan.downcast_ref::<FileScanConfig>()) else {
        return Transformed::no(node);
    };
    let Some(source) = distrusting(config.file_source()) else { return Transformed::no(node) };
    let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
    Transformed::yes(DataSourceExec::from_data_source(config))
}

/// Returns a Parquet source without pruning by such conditions, or `None` if the source has no such condition.
#[must_use]
pub(crate) fn distrusting(source: &Arc<dyn FileSource>) -> Option<Arc<dyn FileSource>> {
    let source = source.downcast_ref::<ParquetSource>()?;
    let predicate = source.filter()?;
    let table = source.table_schema().table_schema();
    let on_floats = |part: &Arc<dyn PhysicalExpr>| {
        collect_columns(part).iter().any(|column| {
            table.fields().get(column.index()).is_some_and(|it| it.data_type().is_floating())
        })
    };
    if !on_floats(&predicate) {
        return None;
    }
    let options = source.table_parquet_options();
    let parts = split_conjunction(&predicate).into_iter().cloned();
    if options.global.pushdown_filters {
        // The predicate also filters rows, except for dynamic filters. These are hints that DataFusion skips row
        // groups by, whatever the options are.
        let mut options = options.clone();
        options.global.pruning = false;
        let source = source.with_predicate(conjunction(parts.filter(|part| !arrives(part))));
        let source = source.with_table_parquet_options(options).with_enable_page_index(false);
        return Some(Arc::new(source));
    }
    Some(Arc::new(source.with_predicate(conjunction(parts.filter(|part| !on_floats(part))))))
}
