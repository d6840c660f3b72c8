//! Model tables measure the time of a query whose scans return only the rows that pass their filters (ICPE 2020,
//! §5.3). This is an experiment.
//!
//! For each scan of a query, its rows and columns are written to a separate table. The query then runs over those
//! tables and keeps its filters. The saved time is an upper bound of the gain from a drive that scans, filters and
//! projects at no cost.
//!
//! The layout of a model table also differs from that of the original, which can make a query faster or slower. A
//! copy of each whole table by the same writer is the control, which the paper does not have.

mod rewrite;

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result as PlanResult};
use datafusion::config::{ConfigNonZeroUsize, TableParquetOptions};
use datafusion::dataframe::{DataFrame, DataFrameWriteOptions};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, TableScan, TableSource};
use datafusion::physical_plan::ExecutionPlan;

use self::rewrite::{Columns, columns, copied, has_limit, replaced, scans};
use crate::Engine;
use crate::context::error::Result;
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

/// Writes model tables below a location. The caller uses it for nothing else, and removes it afterwards.
#[derive(Debug)]
pub struct ModelTables {
    /// The URL of the location, which ends in `/`.
    root: String,
    /// The copies of whole tables, by the name of the table.
    copies: BTreeMap<String, Arc<dyn TableProvider>>,
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
    /// True if the plan over the model tables has the same operators as that over the original ones, in the same
    /// places.
    pub same_plan: bool,
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
        let mut models: Vec<(String, Arc<dyn TableProvider>)> = Vec::new();
        for scan in &scans {
            let files = files(state, scan).await?;
            let table = scan.table_name.to_string();
            if !self.copies.contains_key(&table) {
                let all: Columns = (0..scan.source.schema().fields().len()).collect();
                let copy = self.table(state, scan, (&all, false), files).await?;
                self.copies.insert(table, copy);
            }
            let like = like(scan);
            if !models.iter().any(|(it, _)| *it == like) {
                let model = self.table(state, scan, (&columns(scan)?, true), files).await?;
                models.push((like, model));
            }
        }
        let layout = replaced(&original, |scan| {
            let copy = self.copies.get(&scan.table_name.to_string());
            Ok(copy.map(|copy| ((0..copy.schema().fields().len()).collect(), source(copy))))
        })?;
        let model = replaced(&original, |scan| {
            let like = like(scan);
            let found = models.iter().find(|(it, _)| *it == like);
            found.map(|(_, model)| Ok((columns(scan)?, source(model)))).transpose()
        })?;
        let shape = async |plan: &LogicalPlan| -> PlanResult<Vec<String>> {
            let plan = state.create_physical_plan(plan).await?;
            let mut names = Vec::new();
            shape(&plan, 0, &mut names);
            Ok(names)
        };
        let same_plan = shape(&original).await? == shape(&model).await?;
        Ok(ModelQuery {
            sql: sql.to_owned(),
            scans: scans.len(),
            tables: models.len(),
            same_plan,
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
    ) -> PlanResult<Arc<dyn TableProvider>> {
        let url = format!("{}{}/", self.root, self.written);
        self.written += 1;
        let mut writing = state.clone();
        let execution = &mut writing.config_mut().options_mut().execution;
        execution.minimum_parallel_output_files = ConfigNonZeroUsize::try_new(files)?;
        let rows = DataFrame::new(writing, copied(scan, columns, filtered)?);
        let parquet: TableParquetOptions = state.default_table_options().parquet;
        rows.write_parquet(&url, DataFrameWriteOptions::new(), Some(parquet.clone())).await?;
        let indices: Vec<_> = columns.iter().copied().collect();
        let schema = Arc::new(scan.source.schema().project(&indices)?);
        let format = ParquetFormat::default().with_options(parquet);
        let options = ListingOptions::new(Arc::new(format)).with_file_extension(".parquet");
        let config = ListingTableConfig::new(ListingTableUrl::parse(&url)?)
            .with_listing_options(options)
            .with_schema(schema);
        Ok(Arc::new(ListingTable::try_new(config)?))
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

fn source(table: &Arc<dyn TableProvider>) -> Arc<dyn TableSource> {
    provider_as_source(Arc::clone(table))
}

/// Returns a key that is equal for scans that can share a model table.
fn like(scan: &TableScan) -> String {
    format!("{} {:?} {:?}", scan.table_name, scan.projection, scan.filters)
}

/// Returns the number of files of a scan's table; 1 if it has no files.
async fn files(state: &SessionState, scan: &TableScan) -> PlanResult<usize> {
    let session: &dyn Session = state;
    let table = source_as_provider(&scan.source)?;
    let plan = table.scan(session, scan.projection.as_ref(), &[], None).await?;
    let mut files = std::collections::BTreeSet::new();
    plan.apply(|node| {
        let config = node
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        for group in config.into_iter().flat_map(|it| &it.file_groups) {
            files.extend(group.files().iter().map(|it| it.object_meta.location.clone()));
        }
        Ok::<_, DataFusionError>(TreeNodeRecursion::Continue)
    })?;
    Ok(files.len().max(1))
}

/// Lists the operators of a plan with their depth.
fn shape(plan: &Arc<dyn ExecutionPlan>, depth: usize, names: &mut Vec<String>) {
    names.push(format!("{depth} {}", plan.name()));
    for child in plan.children() {
        shape(child, depth + 1, names);
    }
}
