//! Tables of files, listed by DataFusion. An object that is named must exist, indexes are listed at the same time,
//! and columns have the names of the table ([`TableColumns`]).

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Constraints, Result, plan_err};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::{ListingTable, ListingTableUrl, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;
use object_store::ObjectMeta;

use crate::catalog::formats::S3Format;
use crate::catalog::listing_filter::ListingFilter;
use crate::catalog::table_columns::TableColumns;
use crate::context::notes::Notes;
use crate::index::discovery::ExpectedListing;
use crate::text::csv::dialect::expected_header::ExpectedHeader;
use crate::text::csv::dialect::headers::KnownHeaders;
use crate::text::csv::values::SampledTypes;
use crate::text::located_errors::LocatedSource;

/// A table of files. If the object at a location without a trailing `/` no longer exists, DataFusion takes the
/// location for an empty folder and returns no rows; this table fails instead.
#[derive(Debug)]
pub(crate) struct FilesTable {
    /// The table without partition columns.
    table: ListingTable,
    /// The table that is listed, with partition columns as text.
    listing: ListingTable,
    columns: TableColumns,
    /// The locations that name one object.
    named: Vec<ListingTableUrl>,
    /// The selection of objects below the locations, or `None` if all belong to the table.
    listed: Option<ListingFilter>,
    indexes: ExpectedListing,
    /// True if the columns were declared, false if they were inferred from the files.
    is_declared: bool,
}

impl FilesTable {
    /// Creates the table. Indexes below a location are listed together with its objects, if `indexes` expects that to
    /// pay. `table` has only the columns of its files.
    ///
    /// # Errors
    ///
    /// If the listing table cannot be made.
    pub(crate) fn new(
        state: &dyn Session,
        table: ListingTable,
        columns: TableColumns,
        indexes: ExpectedListing,
    ) -> Result<Self> {
        let paths = table.table_paths().iter();
        let named = paths.filter(|url| !url.is_collection()).cloned().collect();
        let csv = table.options().format.downcast_ref::<S3Format>().and_then(S3Format::csv);
        let nulls = csv.and_then(|csv| csv.options().null_regex.clone());
        let columns = columns.with_nulls(nulls.filter(|pattern| !pattern.is_empty()));
        let listing = columns.listing(state, &table)?;
        let (listed, is_declared) = (None, false);
        Ok(Self { table, listing, columns, named, listed, indexes, is_declared })
    }

    /// Sets whether the columns were declared.
    pub(crate) fn declared(self, is_declared: bool) -> Self {
        Self { is_declared, ..self }
    }

    /// Limits the table to a selection of the objects below its locations.
    pub(crate) fn listed(self, listed: Option<ListingFilter>) -> Self {
        Self { listed, ..self }
    }

    /// Returns whether the files are JSON.
    pub(crate) fn is_json(&self) -> bool {
        ["json", "ndjson", "jsonl"].contains(&self.table.options().format.get_ext().as_str())
    }

    /// Makes the plan compare the headers of CSV objects with the table's columns when it opens them, unless they
    /// were compared before.
    fn expecting_headers(
        &self,
        state: &dyn Session,
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let known = state.config().get_extension::<KnownHeaders>().unwrap_or_default();
        let names = self.columns.in_files();
        let format = self.table.options().format.downcast_ref::<S3Format>();
        if format.is_some_and(S3Format::reads_by_name) {
            return Ok(plan);
        }
        let csv = format.and_then(S3Format::csv);
        let says_header = csv.is_some_and(|csv| csv.options().has_header.is_some());
        with_scans(plan, |scan| {
            let expected =
                ExpectedHeader::for_scan(scan, &names, self.is_declared, Arc::clone(&known))?;
            let expected = if says_header { expected } else { expected.by_default() };
            expected.attach(scan, |_| true)
        })
    }

    /// Makes the plan read local files in the order of their names.
    fn in_order(
        state: &dyn Session,
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let least_cut = state.config_options().optimizer.repartition_file_min_size as u64;
        with_scans(plan, |scan| in_order_of_names(scan, least_cut))
    }

    /// Checks that every location that names an object has one.
    ///
    /// # Errors
    ///
    /// If the plan reads no file of such a location, and no object is there.
    async fn are_there(&self, state: &dyn Session, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
        for location in &self.named {
            if reads(plan, location)? {
                continue;
            }
            // A filter on partitions may also have removed the file.
            let store = state.runtime_env().object_store(location)?;
            let mut objects = location.list_all_files(state, store.as_ref(), "").await?;
            if objects.try_next().await?.is_none() {
                return plan_err!("there is no object at {location}");
            }
        }
        Ok(())
    }
}

/// Returns whether a plan reads a file of the location.
fn reads(plan: &Arc<dyn ExecutionPlan>, location: &ListingTableUrl) -> Result<bool> {
    let mut found = false;
    each_file(plan, |object| {
        found = location.contains(&object.location, false);
        if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue }
    })?;
    Ok(found)
}

/// Makes scans of JSON note keys that are not columns.
fn noting_keys(
    state: &dyn Session,
    plan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    match state.config().get_extension::<Notes>() {
        Some(notes) => with_scans(plan, |files| LocatedSource::noting_keys(files, &notes)),
        None => Ok(plan),
    }
}

/// Sorts the files of a local scan by name, because folders are listed in any order; returns none for any other scan.
/// If all files together are too small to be split, they are read one after the other.
fn in_order_of_names(scan: &FileScanConfig, least_cut: u64) -> Option<FileScanConfig> {
    let files = || scan.file_groups.iter().flat_map(FileGroup::iter);
    let is_here = scan.object_store_url.as_str().starts_with("file:");
    if !is_here || !scan.output_ordering.is_empty() || files().count() < 2 {
        return None;
    }
    let mut all: Vec<PartitionedFile> = files().cloned().collect();
    all.sort_by(|one, other| {
        let key = |file: &PartitionedFile| (file.object_meta.location.clone(), file.range());
        key(one).cmp(&key(other))
    });
    let bytes: u64 = files().map(PartitionedFile::effective_size).sum();
    let groups = if bytes < least_cut { 1 } else { scan.file_groups.len() };
    let each = all.len().div_ceil(groups);
    let groups = all.chunks(each).map(|files| FileGroup::new(files.to_vec())).collect();
    Some(FileScanConfigBuilder::from(scan.clone()).with_file_groups(groups).build())
}

/// Replaces the file scans of a plan for which `other` returns a new one.
fn with_scans(
    plan: Arc<dyn ExecutionPlan>,
    other: impl Fn(&FileScanConfig) -> Option<FileScanConfig>,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let files = node
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        Ok(match files.and_then(&other) {
            Some(files) => {
                let scan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(files);
                Transformed::yes(scan)
            }
            None => Transformed::no(node),
        })
    })
    .data()
}

/// Calls `see` for each file that a plan reads, until it returns [`TreeNodeRecursion::Stop`].
fn each_file(
    plan: &Arc<dyn ExecutionPlan>,
    mut see: impl FnMut(&ObjectMeta) -> TreeNodeRecursion,
) -> Result<()> {
    plan.apply(|node| {
        let files = node
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        let files = files.into_iter().flat_map(|scan| &scan.file_groups);
        for file in files.flat_map(|group| group.files()) {
            if see(&file.object_meta) == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

#[async_trait]
impl TableProvider for FilesTable {
    fn schema(&self) -> SchemaRef {
        self.columns.schema()
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
        let seen = match (&self.listed, state.as_any().downcast_ref::<SessionState>()) {
            (Some(listed), Some(state)) => Some(listed.session(state)?),
            _ => None,
        };
        let seen = seen.as_ref().map_or(state, |seen| seen as &dyn Session);
        let filters = self.columns.filters_of_listing(args.filters().unwrap_or_default())?;
        let projection = self.columns.projection_of_listing(args.projection());
        let of_listing = ScanArgs::default()
            .with_projection(projection.as_deref().or(args.projection()))
            .with_filters(Some(&filters))
            .with_limit(args.limit());
        let scan = async {
            let mut scan = self.listing.scan_with_args(seen, of_listing).await?.into_inner();
            if !self.is_declared && self.is_json() {
                scan = noting_keys(state, scan)?;
            }
            self.columns.called_as_declared(scan, args.projection())
        };
        // All locations are in one store.
        let plan = match self.table.table_paths().first() {
            Some(location) => self.indexes.attach(state, &location.object_store(), scan).await?,
            None => scan.await?,
        };
        self.are_there(state, &plan).await?;
        let mut plan = Self::in_order(state, self.expecting_headers(state, plan)?)?;
        if !self.is_declared {
            plan = with_scans(plan, SampledTypes::attach)?;
        }
        Ok(ScanResult::new(plan))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.listing.supports_filters_pushdown(filters)
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (files, input) = self.columns.written(&self.table, input)?;
        files.insert_into(state, input, op).await
    }
}
