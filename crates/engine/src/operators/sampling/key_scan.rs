//! A scan that reads only the columns that decide about an order.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{Result, Statistics, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr, conjunction_opt};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;

use super::Sampling;
use crate::pushdown::statement::Statement;
use crate::scan::s3_scan::S3Scan;
use crate::scan::s3_select::S3SelectSource;
use sluicegate_guards::guarded;

type Expr = Arc<dyn PhysicalExpr>;

/// A scan of the columns by which rows are filtered and sorted.
#[derive(Debug)]
pub struct KeyScan {
    source: S3SelectSource,
    config: FileScanConfig,
    /// Schema of the scanned columns.
    schema: SchemaRef,
    keys: LexOrdering,
    filters: Vec<Expr>,
}

impl KeyScan {
    /// Creates a scan of the files of `config`, which `source` reads. Requests are counted in `metrics`.
    ///
    /// # Errors
    ///
    /// If an expression does not fit the table.
    pub fn try_new(
        config: &FileScanConfig,
        source: &S3SelectSource,
        sampling: &Sampling,
        metrics: ExecutionPlanMetricsSet,
    ) -> Result<Self> {
        let columns = sampling.columns();
        let table = source.table_schema().table_schema();
        let schema = Arc::new(table.project(&columns)?);
        let over = |expr: &Expr| reassign_expr_columns(Arc::clone(expr), &schema);
        let keys = sampling.keys.iter();
        let keys = keys.map(|key| Ok(PhysicalSortExpr::new(over(&key.expr)?, key.options)));
        let keys = LexOrdering::new(keys.collect::<Result<Vec<_>>>()?)
            .ok_or_else(|| internal_datafusion_err!("a sample without an order"))?;
        let filters = sampling.filters.iter().map(over).collect::<Result<_>>()?;
        let source = source.sampled(&ProjectionExprs::from_indices(&columns, table), metrics);
        Ok(Self { source, config: config.clone(), schema, keys, filters })
    }

    /// Returns the statement sent for each file or part of a file; `None` if a column cannot be sent.
    #[must_use]
    pub fn statement(&self, limit: Option<usize>) -> Option<Statement> {
        self.source.statement(limit)
    }

    /// Returns the configuration of the scan, with its files.
    #[must_use]
    pub fn config(&self) -> &FileScanConfig {
        &self.config
    }

    /// Returns the keys of the order, over the scanned columns.
    #[must_use]
    pub fn keys(&self) -> &LexOrdering {
        &self.keys
    }

    /// Returns the schema of the table.
    #[must_use]
    pub fn table(&self) -> &Schema {
        self.source.table_schema().table_schema()
    }

    /// Returns the schema of the scanned columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rewrites an expression over the table's columns to one over the scanned columns.
    ///
    /// # Errors
    ///
    /// If it refers to another column.
    pub fn over(&self, expr: &Expr) -> Result<Expr> {
        reassign_expr_columns(Arc::clone(expr), &self.schema)
    }

    /// Returns a plan for the rows of these files that pass the filters and keep `bound`, a condition over the
    /// table's columns. At most `limit` rows of each file are read. Each file is a partition.
    ///
    /// # Errors
    ///
    /// If the bound refers to another column.
    pub fn rows(
        &self,
        files: &[PartitionedFile],
        limit: Option<usize>,
        bound: Option<&Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let source = match bound {
            Some(bound) => self.source.with_arriving_filter(Arc::clone(bound)),
            None => self.source.clone(),
        };
        let groups = files.iter().map(|file| FileGroup::new(vec![file.clone()]));
        let config = FileScanConfigBuilder::from(self.config.clone())
            .with_source(Arc::new(source))
            .with_file_groups(groups.collect())
            .with_statistics(Statistics::new_unknown(self.table()))
            .with_limit(limit)
            .build();
        let scan = S3Scan::node(config);
        let mut filters = self.filters.clone();
        filters.extend(bound.map(|bound| self.over(bound)).transpose()?);
        Ok(match conjunction_opt(filters) {
            Some(filter) => Arc::new(FilterExec::try_new(guarded(filter, &scan.schema())?, scan)?),
            None => scan,
        })
    }
}

impl Sampling {
    /// Returns the indexes of the table's columns by which rows are filtered and sorted.
    #[must_use]
    pub fn columns(&self) -> Vec<usize> {
        let exprs = self.keys.iter().map(|key| &key.expr).chain(&self.filters);
        let columns: BTreeSet<_> =
            exprs.flat_map(collect_columns).map(|column| column.index()).collect();
        columns.into_iter().collect()
    }
}
