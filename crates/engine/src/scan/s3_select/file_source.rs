//! Implements DataFusion's `FileSource` for a Select scan.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::datasource::physical_plan::{
    FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::projection::SplitProjection;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_plan::expressions::{BinaryExpr, Column};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, apply_expression_roots};
use object_store::ObjectStore;
use sluicegate_s3select::capabilities::Exactness;

use super::{Filter, S3SelectSource, Split};
use crate::pushdown::dynamic_filters::{DynamicFilter, arrives};
use crate::store::endpoints::resolve;

/// Returns true if DataFusion may treat the two sides of each equality of a filter as equivalent, that is, if one
/// side is a column. From `length(s) = 1` it would replace every 1 of a sort key by `length(s)`, but only in some
/// places. `FilterExec` has the same rule.
fn is_safe_equivalence(filter: &Arc<dyn PhysicalExpr>) -> bool {
    split_conjunction(filter).into_iter().all(|part| match part.downcast_ref::<BinaryExpr>() {
        Some(it) if *it.op() == Operator::Eq => {
            it.left().is::<Column>() || it.right().is::<Column>()
        }
        _ => true,
    })
}

impl FileSource for S3SelectSource {
    fn create_file_opener(
        &self,
        _object_store: Arc<dyn ObjectStore>,
        _base_config: &FileScanConfig,
        _partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        internal_err!("a Select scan finds its endpoint in the session; open it as an S3Scan")
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(self.in_batches(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        let exact = self.exact_filters();
        (!exact.is_empty()).then(|| conjunction(exact.into_iter().filter(is_safe_equivalence)))
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "s3_select"
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let sql = self.statement(self.limit).map(|statement| statement.sql()).unwrap_or_default();
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, ", format={}", self.format.name())?;
                if self.left_out > 0 {
                    write!(f, ", files_left_out={}", self.left_out)?;
                }
                write!(f, ", endpoint={}{}, select={sql}", self.endpoint, self.shown_keys(),)
            }
            DisplayFormatType::TreeRender => writeln!(f, "select={sql}"),
        }
    }

    fn supports_repartitioning(&self) -> bool {
        self.format.is_splittable()
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        _repartition_file_min_size: usize,
        output_ordering: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        // With a limit, enough rows are found soon, so concurrent statements would be wasted.
        let split = match config.limit {
            Some(_) => Split { partitions: 0, ..self.split },
            None => self.split,
        };
        let groups = match output_ordering {
            Some(_) if !self.takes_ranges() => None,
            Some(_) => split.groups_in_order(&config.file_groups, target_partitions),
            None => split.groups(&config.file_groups, target_partitions, self.takes_ranges()),
        };
        Ok(groups.map(|groups| {
            FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).build()
        }))
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let endpoint = resolve(config, &self.endpoint)?;
        let mut source = self.clone();
        let mut verdicts = Vec::with_capacity(filters.len());
        for filter in filters {
            if arrives(&filter) {
                // With a limit, no arriving filter may be used: the limit counts the rows that pass the plan's
                // filters only.
                let new = DynamicFilter::new(filter);
                let known = source.arriving.iter().any(|known| known.ids() == new.ids());
                let sound = new.is_about_its_columns() && self.reads(&new.filter);
                if self.limit.is_none() && !known && sound {
                    source.arriving.push(new);
                }
                verdicts.push(PushedDown::No);
                continue;
            }
            if let Some(known) = source.filters.iter().find(|known| *known.here == *filter) {
                verdicts.push(verdict(known.there.exactness));
                continue;
            }
            let Ok(there) = source.translate(&endpoint, &filter) else {
                verdicts.push(PushedDown::No);
                continue;
            };
            verdicts.push(verdict(there.exactness));
            source.filters.push(Filter { here: filter, there });
        }
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(verdicts);
        Ok(propagation.with_updated_node(Arc::new(source) as Arc<dyn FileSource>))
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.table_schema.file_schema(), &merged);
        let projected = Self { projection, ..self.clone() };
        // Without any column, the store counts the rows, which not every store does exactly.
        let statement = projected.statement(None);
        Ok(statement.map(|_| Arc::new(projected) as Arc<dyn FileSource>))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let filters = self.filters.iter().map(|filter| &filter.here);
        let arriving = self.arriving.iter().map(|arriving| &arriving.filter);
        let columns = self.projection.source.iter().map(|projected| &projected.expr);
        apply_expression_roots(filters.chain(arriving).chain(columns), f)
    }
}

fn verdict(exactness: Exactness) -> PushedDown {
    match exactness {
        Exactness::Exact => PushedDown::Yes,
        Exactness::Superset | Exactness::No => PushedDown::No,
    }
}
