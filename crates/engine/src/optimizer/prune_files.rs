//! Skips objects that contain no row of an answer.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::pruning::PrunableStatistics;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;

use crate::scan::s3_scan::{S3Scan, as_select_scan};
use crate::scan::s3_select::S3SelectSource;

/// Removes the objects of a Select scan that its filter excludes by statistics from their own footers, as those of
/// Parquet, so that they are not requested.
///
/// Only exact bounds count. Statistics from a sample or ANALYZE TABLE are never used for this
/// ([`statistics`](crate::estimate::statistics)), and neither are the bounds of floating-point columns, which do not cover NaN
/// ([`distrust`](crate::pushdown::float_bounds::distrust)).
#[derive(Debug)]
pub(crate) struct PruneFiles;

impl PhysicalOptimizerRule for PruneFiles {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match as_select_scan(node.as_ref()).and_then(|(config, it)| pruned(config, it)) {
                Some(config) if config.file_groups.iter().all(FileGroup::is_empty) => {
                    let partitions = config.file_groups.len().max(1);
                    let none = EmptyExec::new(node.schema()).with_partitions(partitions);
                    Transformed::yes(Arc::new(none) as Arc<dyn ExecutionPlan>)
                }
                Some(config) => Transformed::yes(S3Scan::node(config)),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "prune_files"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the scan without the files that have no row for it; `None` if each file may have one.
fn pruned(config: &FileScanConfig, source: &S3SelectSource) -> Option<FileScanConfig> {
    let mut files = config.file_groups.iter().flat_map(FileGroup::iter);
    if files.all(|file| file.statistics.is_none()) {
        return None;
    }
    let schema = source.file_schema();
    let filters = source.filters().iter().flat_map(|filter| split_conjunction(&filter.here));
    let filters: Vec<_> = filters.filter(|it| is_bounded(it, schema)).cloned().collect();
    if filters.is_empty() {
        return None;
    }
    let predicate = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
    let predicate = predicate.try_build(conjunction(filters)).ok()?;
    // Each file is checked separately, because a bound that one file lacks would be missing for all.
    let stays = |file: &PartitionedFile| {
        let Some(statistics) = &file.statistics else { return true };
        let known = PrunableStatistics::new(vec![Arc::clone(statistics)], Arc::clone(schema));
        !matches!(predicate.prune(&known).as_deref(), Ok([false]))
    };
    let (mut rows, mut bytes, mut left_out) = (Precision::Exact(0), 0, 0);
    let groups = config.file_groups.iter().map(|group| {
        let files = group.iter().filter(|file| {
            let stays = stays(file);
            if stays {
                let of_file = file.statistics.as_ref().map_or(Precision::Absent, |it| it.num_rows);
                (rows, bytes) = (rows.add(&of_file), bytes + file.effective_size());
            } else {
                left_out += 1;
            }
            stays
        });
        FileGroup::new(files.cloned().collect())
    });
    let groups: Vec<FileGroup> = groups.collect();
    if left_out == 0 {
        return None;
    }
    let mut statistics = config.statistics().to_inexact();
    statistics.num_rows = rows.to_inexact();
    statistics.total_byte_size = Precision::Inexact(bytes as usize);
    Some(
        FileScanConfigBuilder::from(config.clone())
            .with_source(Arc::new(source.without(left_out)))
            .with_file_groups(groups)
            .with_statistics(statistics)
            .build(),
    )
}

/// Returns true if all columns of a condition have bounds that cover all their values.
fn is_bounded(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    collect_columns(condition).iter().all(|column| {
        let field = schema.fields().get(column.index());
        field.is_some_and(|it| it.name() == column.name() && !it.data_type().is_floating())
    })
}
