//! Tables of objects that are named one by one, which must be there.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Constraints, Result, plan_err};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::{ListingTable, ListingTableUrl};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;

/// A table of files with locations that do not end in `/`. DataFusion takes what is no longer at
/// such a location for an empty folder, and answers as if the object had no rows.
#[derive(Debug)]
pub(crate) struct NamedObjects {
    table: Arc<dyn TableProvider>,
    locations: Vec<ListingTableUrl>,
}

impl NamedObjects {
    /// The table itself, if it has no such location.
    pub(crate) fn of(table: Arc<dyn TableProvider>) -> Arc<dyn TableProvider> {
        let Some(listing) = table.downcast_ref::<ListingTable>() else { return table };
        let locations: Vec<ListingTableUrl> =
            listing.table_paths().iter().filter(|url| !url.is_collection()).cloned().collect();
        match locations.is_empty() {
            true => table,
            false => Arc::new(Self { table, locations }),
        }
    }

    /// # Errors
    ///
    /// If the plan has no file of a location, and there is none either.
    async fn are_there(&self, state: &dyn Session, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
        for location in &self.locations {
            if reads(plan, location)? {
                continue;
            }
            // Or a filter on partitions has left it out.
            let store = state.runtime_env().object_store(location)?;
            let mut objects = location.list_all_files(state, store.as_ref(), "").await?;
            if objects.try_next().await?.is_none() {
                return plan_err!("there is no object at {location}");
            }
        }
        Ok(())
    }
}

/// Whether a plan reads a file of the location.
fn reads(plan: &Arc<dyn ExecutionPlan>, location: &ListingTableUrl) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        let files = node
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        let files = files.into_iter().flat_map(|scan| &scan.file_groups);
        found |= files
            .flat_map(|group| group.files())
            .any(|file| location.contains(&file.object_meta.location, false));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

#[async_trait]
impl TableProvider for NamedObjects {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.table.constraints()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.table.get_table_definition()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.table.get_column_default(column)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let args = ScanArgs::default()
            .with_projection(projection.map(Vec::as_slice))
            .with_filters(Some(filters))
            .with_limit(limit);
        Ok(Arc::clone(self.scan_with_args(state, args).await?.plan()))
    }

    async fn scan_with_args<'a>(
        &self,
        state: &dyn Session,
        args: ScanArgs<'a>,
    ) -> Result<ScanResult> {
        let result = self.table.scan_with_args(state, args).await?;
        self.are_there(state, result.plan()).await?;
        Ok(result)
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.table.insert_into(state, input, op).await
    }
}
