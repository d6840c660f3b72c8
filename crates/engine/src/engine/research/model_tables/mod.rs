//! Model tables measure the time of a query whose scans return only the rows that pass their filters (ICPE 2020,
//! §5.3). This is an experiment.
//!
//! For each scan of a query, its rows and columns are written to a separate table. The query then runs over those
//! tables and keeps its filters. The saved time is an upper bound of the gain from a drive that scans, filters and
//! projects at no cost.
//!
//! The layout of a model table also differs from that of the original, which can make a query faster or slower. A
//! copy of each whole table by the same writer is the control, which the paper does not have.
//!
//! `rewrite` makes the plans over other tables, and `shape` compares them.

mod rewrite;
mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as PlanResult;
use datafusion::common::cast::as_uint64_array;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::config::{ConfigNonZeroUsize, TableParquetOptions};
use datafusion::dataframe::{DataFrame, DataFrameWriteOptions};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, TableScan, TableSource};
use sluicegate_costmodel::storage::{OperatorCounts, ScannedTable};

use self::rewrite::{Columns, columns, copied, has_limit, replaced, scans};
pub use self::shape::PlanDifference;
use self::shape::{Shape, TableNames};
use super::operators::counts;
use crate::Engine;
use crate::context::error::Result;
use crate::engine::plan_graph::scan::ScanNode;
use crate::engine::query::Query;

/// The tables that a query runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableInput {
    /// The tables of the query.
    Original,
    /// Copies of the whole tables, which show the effect of the writer's layout.
    Layout,
    /// For each scan, the rows that pass its filters, with the columns that it needs.
    Model,
}

/// A table that was written.
#[derive(Debug, Clone)]
struct WrittenTable {
    provider: Arc<dyn TableProvider>,
    rows: u64,
}

/// Writes model tables below a location. The caller uses it for nothing else, and removes it afterwards.
#[derive(Debug)]
pub struct ModelTables {
    /// The URL of the location, which ends in `/`.
    root: String,
    /// The copies of whole tables, by the name of the table.
    copies: BTreeMap<String, WrittenTable>,
    /// The number of tables written so far, and so the number of the next one.
    written: usize,
}

/// A query whose model tables are written.
#[derive(Debug, Clone)]
pub struct ModelQuery {
    sql: String,
    /// The number of scans of its plan.
    pub scans: usize,
    /// The number of model tables that they read; equal scans share one.
    pub tables: usize,
    /// The operators of its plan over its own tables.
    pub operators: OperatorCounts,
    /// How the plan over the model tables differs from that over its own, apart from what depends on the number and
    /// the size of files; `None` if it does not.
    pub plan_difference: Option<PlanDifference>,
    /// For each scan, its table with the rows that pass its filters, counted when they were written.
    pub scanned: Vec<ScannedTable>,
    /// True if the plan limits rows somewhere. The query may then leave open which rows it returns.
    pub has_limit: bool,
    plans: [LogicalPlan; 3],
}

impl ModelTables {
    /// Creates the writer for a location in a store of the engine: `s3://bucket/prefix/`.
    #[must_use]
    pub fn new(root: impl Into<String>) -> Self {
        let mut root = root.into();
        if !root.ends_with('/') {
            root.push('/');
        }
        Self { root, copies: BTreeMap::new(), written: 0 }
    }

    /// Writes the tables of a query.
    ///
    /// # Errors
    ///
    /// If the query cannot be planned, or its tables cannot be read or written.
    pub async fn write(&mut self, engine: &Engine, sql: &str) -> Result<ModelQuery> {
        let (state, plan) = engine.query_recorded(sql).await?.into_frame().into_parts();
        Ok(Box::pin(self.modelled(&state, &plan, sql)).await?)
    }

    async fn modelled(
        &mut self,
        state: &SessionState,
        plan: &LogicalPlan,
        sql: &str,
    ) -> PlanResult<ModelQuery> {
        let original = state.optimize(plan)?;
        let scans = scans(&original)?;
        let mut models: Vec<(String, WrittenTable)> = Vec::new();
        let (mut names, mut scanned) = (TableNames::new(), Vec::new());
        for scan in &scans {
            let own = objects(state, &scan.source).await?;
            let files = own.len().max(1);
            let table = scan.table_name.to_string();
            names.extend(own.into_iter().map(|object| (object, table.clone())));
            if !self.copies.contains_key(&table) {
                let all: Columns = (0..scan.source.schema().fields().len()).collect();
                let copy = self.table(state, scan, (&all, false), files).await?;
                self.copies.insert(table.clone(), copy);
            }
            let like = like(scan);
            let model = match models.iter().find(|(it, _)| *it == like) {
                Some((_, model)) => model.clone(),
                None => {
                    let model = self.table(state, scan, (&columns(scan)?, true), files).await?;
                    let written = objects(state, &source(&model)).await?;
                    names.extend(written.into_iter().map(|object| (object, table.clone())));
                    models.push((like, model.clone()));
                    model
                }
            };
            let rows = self.copies.get(&table).map(|copy| copy.rows);
            scanned.push(ScannedTable { table, rows, kept: model.rows });
        }
        let layout = replaced(&original, |scan| {
            let copy = self.copies.get(&scan.table_name.to_string());
            let all = |copy: &WrittenTable| (0..copy.provider.schema().fields().len()).collect();
            Ok(copy.map(|copy| (all(copy), source(copy))))
        })?;
        let model = replaced(&original, |scan| {
            let like = like(scan);
            let found = models.iter().find(|(it, _)| *it == like);
            found.map(|(_, model)| Ok((columns(scan)?, source(model)))).transpose()
        })?;
        let own = state.create_physical_plan(&original).await?;
        let over_models = state.create_physical_plan(&model).await?;
        let plan_difference =
            Shape::new(&own, &names).difference(&Shape::new(&over_models, &names));
        Ok(ModelQuery {
            sql: sql.to_owned(),
            scans: scans.len(),
            tables: models.len(),
            operators: counts(&own),
            plan_difference,
            scanned,
            has_limit: has_limit(&original)?,
            plans: [original, layout, model],
        })
    }

    /// Writes some columns of a scan's table as this many Parquet files. If `filtered`, only the rows that pass its
    /// filters are written.
    async fn table(
        &mut self,
        state: &SessionState,
        scan: &TableScan,
        (columns, filtered): (&Columns, bool),
        files: usize,
    ) -> PlanResult<WrittenTable> {
        let url = format!("{}{}/", self.root, self.written);
        self.written += 1;
        let mut writing = state.clone();
        let execution = &mut writing.config_mut().options_mut().execution;
        execution.minimum_parallel_output_files = ConfigNonZeroUsize::try_new(files)?;
        let rows = DataFrame::new(writing, copied(scan, columns, filtered)?);
        let parquet: TableParquetOptions = state.default_table_options().parquet;
        let written =
            rows.write_parquet(&url, DataFrameWriteOptions::new(), Some(parquet.clone())).await?;
        let indices: Vec<_> = columns.iter().copied().collect();
        let schema = Arc::new(scan.source.schema().project(&indices)?);
        let format = ParquetFormat::default().with_options(parquet);
        let options = ListingOptions::new(Arc::new(format)).with_file_extension(".parquet");
        let config = ListingTableConfig::new(ListingTableUrl::parse(&url)?)
            .with_listing_options(options)
            .with_schema(schema);
        let provider = Arc::new(ListingTable::try_new(config)?);
        Ok(WrittenTable { provider, rows: counted(&written)? })
    }
}

impl ModelQuery {
    /// Returns the query over its own tables, their copies or the model tables, with its own counters and timeline.
    ///
    /// # Errors
    ///
    /// If the query can no longer be planned.
    pub async fn query(&self, engine: &Engine, over: TableInput) -> Result<Query> {
        let plan = match over {
            TableInput::Original => &self.plans[0],
            TableInput::Layout => &self.plans[1],
            TableInput::Model => &self.plans[2],
        };
        Ok(engine.query_recorded(&self.sql).await?.with_plan(plan.clone()))
    }
}

fn source(table: &WrittenTable) -> Arc<dyn TableSource> {
    provider_as_source(Arc::clone(&table.provider))
}

/// Returns the number of rows that a write reports.
fn counted(written: &[RecordBatch]) -> PlanResult<u64> {
    let mut rows = 0;
    for batch in written {
        for column in batch.columns() {
            rows += as_uint64_array(column)?.iter().flatten().sum::<u64>();
        }
    }
    Ok(rows)
}

/// Returns a key that is equal for scans that can share a model table.
fn like(scan: &TableScan) -> String {
    format!("{} {:?} {:?}", scan.table_name, scan.projection, scan.filters)
}

/// Returns the URLs of the objects that a scan of a table reads.
async fn objects(state: &SessionState, table: &Arc<dyn TableSource>) -> PlanResult<Vec<String>> {
    let session: &dyn Session = state;
    let plan = source_as_provider(table)?.scan(session, None, &[], None).await?;
    let mut objects = Vec::new();
    plan.apply(|node| {
        objects.extend(ScanNode::from_plan(node).into_iter().flat_map(|it| it.objects));
        Ok(TreeNodeRecursion::Continue)
    })?;
    objects.sort_unstable();
    objects.dedup();
    Ok(objects)
}
