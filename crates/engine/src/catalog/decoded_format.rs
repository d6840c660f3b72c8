//! The formats that are decoded locally, Arrow and Avro, as DataFusion's tables need them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use object_store::{ObjectMeta, ObjectStore};

use crate::catalog::option_values;
use crate::operators::arrow_sink::ArrowSink;
use crate::scan::decoded::{DecodedFormat, DecodedSource};
use crate::{ErrorKind, UserError};

/// Creates the formats of `STORED AS ARROW`, `STORED AS AVRO` and their files.
#[derive(Debug)]
pub(crate) struct DecodedFormatFactory {
    pub(crate) format: DecodedFormat,
}

impl FileFormatFactory for DecodedFormatFactory {
    fn create(
        &self,
        _state: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        option_values::check_all(self.format.name(), format_options)?;
        Ok(self.default())
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(DecodedFileFormat { format: self.format })
    }
}

impl GetExt for DecodedFormatFactory {
    fn get_ext(&self) -> String {
        self.format.name().to_owned()
    }
}

/// A format that is decoded locally.
#[derive(Debug)]
pub(crate) struct DecodedFileFormat {
    pub(crate) format: DecodedFormat,
}

#[async_trait]
impl FileFormat for DecodedFileFormat {
    fn get_ext(&self) -> String {
        self.format.name().to_owned()
    }

    fn get_ext_with_compression(&self, _: &FileCompressionType) -> Result<String> {
        // These files are compressed within.
        Ok(self.get_ext())
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        _state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let mut schemas = Vec::with_capacity(objects.len());
        for object in objects {
            schemas.push(Arc::unwrap_or_clone(self.format.columns_of(store, object).await?));
        }
        Ok(Arc::new(arrow::datatypes::Schema::try_merge(schemas)?))
    }

    async fn infer_stats(
        &self,
        _state: &dyn Session,
        _store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        _object: &ObjectMeta,
    ) -> Result<Statistics> {
        Ok(Statistics::new_unknown(&table_schema))
    }

    async fn create_physical_plan(
        &self,
        _state: &dyn Session,
        conf: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(DataSourceExec::from_data_source(conf))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        _state: &dyn Session,
        conf: FileSinkConfig,
        order_requirements: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match self.format {
            DecodedFormat::Arrow => {
                let sink = Arc::new(ArrowSink::new(conf)?);
                Ok(Arc::new(DataSinkExec::new(input, sink, order_requirements)))
            }
            DecodedFormat::Avro => Err(UserError {
                kind: ErrorKind::Unsupported,
                message: "Avro is read, and not written".to_owned(),
                hint: Some("Write PARQUET or ARROW, which keep all types.".to_owned()),
            }
            .into()),
        }
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(DecodedSource::new(self.format, table_schema))
    }
}
