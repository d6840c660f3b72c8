//! Formats of tables in a store: DataFusion's, with statistics.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics};
use datafusion::datasource::file_format::csv::{CsvFormat, CsvFormatFactory};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use object_store::{ObjectMeta, ObjectStore};

use crate::statistics::csv_statistics;

/// Makes [`S3CsvFormat`]s for `STORED AS CSV` and `*.csv`.
#[derive(Debug)]
pub struct S3CsvFormatFactory {
    inner: CsvFormatFactory,
}

impl S3CsvFormatFactory {
    /// A factory whose formats take their options from the statement and the session.
    #[must_use]
    pub fn new() -> Self {
        Self { inner: CsvFormatFactory::new() }
    }
}

impl Default for S3CsvFormatFactory {
    fn default() -> Self {
        Self::new()
    }
}

impl FileFormatFactory for S3CsvFormatFactory {
    fn create(
        &self,
        state: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        Ok(S3CsvFormat::wrap(self.inner.create(state, format_options)?))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        S3CsvFormat::wrap(FileFormatFactory::default(&self.inner))
    }
}

impl GetExt for S3CsvFormatFactory {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }
}

/// DataFusion's CSV with statistics: bytes from the listing, rows estimated from a sample.
///
/// Joins, and with them everything that a join can push down, are planned by these.
#[derive(Debug)]
pub struct S3CsvFormat {
    inner: Arc<dyn FileFormat>,
}

impl S3CsvFormat {
    fn wrap(inner: Arc<dyn FileFormat>) -> Arc<dyn FileFormat> {
        Arc::new(Self { inner })
    }
}

#[async_trait]
impl FileFormat for S3CsvFormat {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.inner.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.inner.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.inner.infer_schema(state, store, objects).await
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let compressed = self.inner.compression_type().is_some_and(|c| c.is_compressed());
        let csv = self.inner.downcast_ref::<CsvFormat>();
        let header = csv
            .and_then(CsvFormat::has_header)
            .unwrap_or_else(|| state.config_options().catalog.has_header);
        csv_statistics(store, &table_schema, object, compressed, header).await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        conf: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.create_physical_plan(state, conf).await
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        conf: FileSinkConfig,
        order_requirements: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.create_writer_physical_plan(input, state, conf, order_requirements).await
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        self.inner.file_source(table_schema)
    }
}
