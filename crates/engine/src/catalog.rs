//! Formats of tables in a store: DataFusion's, with statistics.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics};
use datafusion::datasource::file_format::csv::{CsvFormat, CsvFormatFactory};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::{JsonFormat, JsonFormatFactory};
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use object_store::{ObjectMeta, ObjectStore};

use crate::datasource::named::{NamedSource, TextLayout};
use crate::statistics::Sampler;

/// Makes [`S3TextFormat`]s for a kind of text: `STORED AS CSV` and `*.csv`, for example.
#[derive(Debug)]
pub struct S3TextFormatFactory {
    inner: Arc<dyn FileFormatFactory>,
    extension: &'static str,
}

impl S3TextFormatFactory {
    /// CSV, JSON, and the other names of JSON with an object per line. Their formats take their
    /// options from the statement and the session.
    #[must_use]
    pub fn all() -> Vec<Arc<dyn FileFormatFactory>> {
        let csv: Arc<dyn FileFormatFactory> = Arc::new(CsvFormatFactory::new());
        let json: Arc<dyn FileFormatFactory> = Arc::new(JsonFormatFactory::new());
        let named = |extension, inner: &Arc<dyn FileFormatFactory>| {
            let factory: Arc<dyn FileFormatFactory> =
                Arc::new(Self { inner: Arc::clone(inner), extension });
            factory
        };
        vec![
            named("csv", &csv),
            named("json", &json),
            named("ndjson", &json),
            named("jsonl", &json),
        ]
    }

    fn wrap(&self, inner: Arc<dyn FileFormat>) -> Arc<dyn FileFormat> {
        Arc::new(S3TextFormat { inner, extension: self.extension, sampler: Sampler::default() })
    }
}

impl FileFormatFactory for S3TextFormatFactory {
    fn create(
        &self,
        state: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        Ok(self.wrap(self.inner.create(state, format_options)?))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        self.wrap(FileFormatFactory::default(self.inner.as_ref()))
    }
}

impl GetExt for S3TextFormatFactory {
    fn get_ext(&self) -> String {
        self.extension.to_owned()
    }
}

/// DataFusion's CSV or JSON with statistics: bytes from the listing, rows estimated from samples of
/// a few objects of the table.
///
/// Joins, and with them everything that a join can push down, are planned by these.
#[derive(Debug)]
pub struct S3TextFormat {
    inner: Arc<dyn FileFormat>,
    extension: &'static str,
    sampler: Sampler,
}

#[async_trait]
impl FileFormat for S3TextFormat {
    fn get_ext(&self) -> String {
        self.extension.to_owned()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        Ok(format!("{}{}", self.extension, compression.get_ext()))
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
        let header = self.inner.downcast_ref::<CsvFormat>().is_some_and(|csv| {
            csv.has_header().unwrap_or_else(|| state.config_options().catalog.has_header)
        });
        self.sampler.statistics(store, &table_schema, object, compressed, header).await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        conf: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let conf = match self.inner.downcast_ref::<JsonFormat>() {
            Some(json) if json.is_newline_delimited() => {
                NamedSource::wrap(&conf, TextLayout::JsonLines)
            }
            Some(_) => NamedSource::wrap(&conf, TextLayout::JsonArray),
            None => conf,
        };
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
