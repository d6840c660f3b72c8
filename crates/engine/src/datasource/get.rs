//! The same rows, read by DataFusion's own sources and filtered here.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::Count;
use datafusion::physical_plan::projection::ProjectionExec;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

use super::named::NamedSource;

/// The source that a Select scan replaced, and the columns it reads.
#[derive(Clone)]
pub struct GetScan {
    source: Arc<dyn FileSource>,
    /// Which column of the table each of its outputs is.
    columns: Vec<usize>,
}

impl GetScan {
    /// The scan as it is; `None` if it computes more than columns.
    #[must_use]
    pub fn of(config: &FileScanConfig) -> Option<Self> {
        let source = config.file_source();
        let columns = match source.projection() {
            Some(projection) => projection
                .iter()
                .map(|item| item.expr.downcast_ref::<Column>().map(Column::index))
                .collect::<Option<Vec<_>>>()?,
            None => (0..source.table_schema().table_schema().fields().len()).collect(),
        };
        Some(Self { source: Arc::clone(source), columns })
    }

    /// A plan over the files of `config`: read, filter, project. Filters and projection are over
    /// the table's columns.
    ///
    /// # Errors
    ///
    /// If an expression names a column that the scan did not read.
    pub fn plan(
        &self,
        config: &FileScanConfig,
        filters: &[Arc<dyn PhysicalExpr>],
        projection: &ProjectionExprs,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filters =
            filters.iter().map(|filter| self.rebase(filter)).collect::<Result<Vec<_>>>()?;
        let projection = projection
            .iter()
            .map(|item| Ok(ProjectionExpr::new(self.rebase(&item.expr)?, item.alias.clone())))
            .collect::<Result<Vec<_>>>()?;
        // A limit counts the rows that pass the filter.
        let limit = if filters.is_empty() { config.limit } else { None };
        let scan = FileScanConfigBuilder::from(config.clone())
            .with_source(Arc::clone(&self.source))
            .with_limit(limit)
            .build();
        let scan = NamedSource::replace(&scan).unwrap_or(scan);
        // Parquet skips row groups and pages by the filter, and leaves the rest to FilterExec.
        let pushed = scan.try_pushdown_filters(filters.clone(), options)?;
        let mut plan: Arc<dyn ExecutionPlan> = match pushed.updated_node {
            Some(scan) => Arc::new(DataSourceExec::new(scan)),
            None => DataSourceExec::from_data_source(scan),
        };
        if !filters.is_empty() {
            plan = Arc::new(FilterExec::try_new(conjunction(filters), plan)?);
        }
        let project = ProjectionExec::try_new(projection, Arc::clone(&plan))?;
        // Straight above the scan, columns that nobody needs are not even parsed.
        match plan.try_swapping_with_projection(&project)? {
            Some(swapped) => Ok(swapped),
            None => Ok(Arc::new(project)),
        }
    }

    /// From the table's columns to the scan's output.
    fn rebase(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        Arc::clone(expr)
            .transform(|node| {
                let Some(column) = node.downcast_ref::<Column>() else {
                    return Ok(Transformed::no(node));
                };
                let index = self
                    .columns
                    .iter()
                    .position(|index| *index == column.index())
                    .ok_or_else(|| internal_datafusion_err!("column {column} is not read"))?;
                let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), index));
                Ok(Transformed::yes(column))
            })
            .data()
    }
}

impl fmt::Debug for GetScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GetScan({}, columns {:?})", self.source.file_type(), self.columns)
    }
}

/// A store in which every read of an object sees the version that the listing saw, or fails.
#[derive(Debug)]
pub struct PinnedStore {
    inner: Arc<dyn ObjectStore>,
    location: Path,
    e_tag: Option<String>,
    got: Count,
}

impl PinnedStore {
    /// Pins one object of a store to the version in its listing, if it has one; counts the bytes
    /// of answers in `got`.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, object: &ObjectMeta, got: Count) -> Self {
        Self { inner, location: object.location.clone(), e_tag: object.e_tag.clone(), got }
    }

    fn pin(&self, location: &Path, mut options: GetOptions) -> GetOptions {
        if *location == self.location && options.if_match.is_none() {
            options.if_match.clone_from(&self.e_tag);
        }
        options
    }
}

impl fmt::Display for PinnedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pinned to one version of {}", self.inner, self.location)
    }
}

#[async_trait]
impl ObjectStore for PinnedStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        let result = self.inner.get_opts(location, self.pin(location, options)).await?;
        let bytes = result.range.end.saturating_sub(result.range.start);
        self.got.add(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(result)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &Path,
        to: &Path,
        options: CopyOptions,
    ) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
