//! The sample as a plan: the best rows of parts of the table, of which only the sort columns are
//! read.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::{Result, Statistics, internal_datafusion_err};
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr, conjunction_opt};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::Sampling;
use super::pieces::Pieces;
use crate::datasource::s3_scan::S3Scan;
use crate::datasource::s3_select::S3SelectSource;
use crate::datasource::statement::Statement;

/// A sample of a scan, ready to be asked for.
#[derive(Debug)]
pub struct Sample {
    /// Which columns of the table it reads, in that order.
    columns: Vec<usize>,
    source: S3SelectSource,
    pieces: Pieces,
    config: FileScanConfig,
}

impl Sample {
    /// Of the files of `config`, which `source` reads. Requests count in `metrics`.
    #[must_use]
    pub fn of(
        config: &FileScanConfig,
        source: &S3SelectSource,
        sampling: &Sampling,
        metrics: ExecutionPlanMetricsSet,
    ) -> Self {
        let columns = sampling.columns();
        let table = source.table_schema().table_schema();
        let source = source.sampled(&ProjectionExprs::from_indices(&columns, table), metrics);
        let pieces = Pieces::of(config, source.takes_ranges(), sampling);
        Self { columns, source, pieces, config: config.clone() }
    }

    /// How many requests it takes.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.pieces.files.len()
    }

    /// What each request asks; `None` if a column cannot be sent.
    #[must_use]
    pub fn statement(&self) -> Option<Statement> {
        self.source.statement(self.pieces.limit)
    }

    /// The best K rows of the sample in their order, and the keys of that order over their columns.
    ///
    /// # Errors
    ///
    /// If an expression does not fit the table.
    pub fn best(&self, sampling: &Sampling) -> Result<(Arc<dyn ExecutionPlan>, LexOrdering)> {
        let table = self.source.table_schema().table_schema();
        let groups = self.pieces.files.iter().map(|file| FileGroup::new(vec![file.clone()]));
        let config = FileScanConfigBuilder::from(self.config.clone())
            .with_source(Arc::new(self.source.clone()))
            .with_file_groups(groups.collect())
            .with_statistics(Statistics::new_unknown(table))
            .with_limit(self.pieces.limit)
            .build();
        let mut plan: Arc<dyn ExecutionPlan> = S3Scan::node(config);
        let schema = Arc::new(table.project(&self.columns)?);
        let over = |expr: &Arc<dyn PhysicalExpr>| reassign_expr_columns(Arc::clone(expr), &schema);
        let filters = sampling.filters.iter().map(over).collect::<Result<Vec<_>>>()?;
        if let Some(filter) = conjunction_opt(filters) {
            plan = Arc::new(FilterExec::try_new(filter, plan)?);
        }
        let keys = sampling.keys.iter();
        let keys = keys.map(|key| Ok(PhysicalSortExpr::new(over(&key.expr)?, key.options)));
        let keys = LexOrdering::new(keys.collect::<Result<Vec<_>>>()?)
            .ok_or_else(|| internal_datafusion_err!("a sample without an order"))?;
        plan = Arc::new(CoalescePartitionsExec::new(plan));
        let sort = SortExec::new(keys.clone(), plan).with_fetch(Some(sampling.k));
        Ok((Arc::new(sort), keys))
    }
}

impl Sampling {
    /// The columns of the table that a sample reads.
    #[must_use]
    pub fn columns(&self) -> Vec<usize> {
        let exprs = self.keys.iter().map(|key| &key.expr).chain(&self.filters);
        let columns: BTreeSet<_> =
            exprs.flat_map(collect_columns).map(|column| column.index()).collect();
        columns.into_iter().collect()
    }
}
