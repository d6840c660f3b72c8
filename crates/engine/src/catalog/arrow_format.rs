//! Arrow files, whose schema is read from their footer.
//!
//! DataFusion looks for the schema behind the first 8 bytes of an object. Arrow's writer, and so COPY, aligns it to 64
//! bytes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::root_as_footer;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics};
use datafusion::datasource::file_format::arrow::ArrowFormatFactory;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

/// Creates the formats of `STORED AS ARROW` and `*.arrow`.
#[derive(Debug, Default)]
pub(crate) struct ArrowFiles {
    inner: ArrowFormatFactory,
}

impl FileFormatFactory for ArrowFiles {
    fn create(
        &self,
        state: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        Ok(Arc::new(ArrowFormat { inner: self.inner.create(state, format_options)? }))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(ArrowFormat { inner: FileFormatFactory::default(&self.inner) })
    }
}

impl GetExt for ArrowFiles {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }
}

/// DataFusion's format, with another inference of schemas.
#[derive(Debug)]
struct ArrowFormat {
    inner: Arc<dyn FileFormat>,
}

#[async_trait]
impl FileFormat for ArrowFormat {
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
        let mut schemas = Vec::with_capacity(objects.len());
        for object in objects {
            schemas.push(match schema_of_footer(store, object).await? {
                Some(schema) => schema,
                // A stream has no footer.
                None => {
                    let one = std::slice::from_ref(object);
                    Arc::unwrap_or_clone(self.inner.infer_schema(state, store, one).await?)
                }
            });
        }
        Ok(Arc::new(Schema::try_merge(schemas)?))
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        self.inner.infer_stats(state, store, table_schema, object).await
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

/// The end of a file: the length of the footer, and the magic number.
const TAIL: u64 = 10;

const MAGIC: &[u8] = b"ARROW1";

/// Reads the schema from the footer of an object, or returns `None` if it has none.
async fn schema_of_footer(
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
) -> Result<Option<Schema>> {
    let Some(end) = object.size.checked_sub(TAIL) else { return Ok(None) };
    let tail = store.get_range(&object.location, end..object.size).await?;
    let Some((length, magic)) = tail.split_first_chunk::<4>() else { return Ok(None) };
    let length = u64::try_from(i32::from_le_bytes(*length)).ok();
    let Some(start) = length.and_then(|length| end.checked_sub(length)) else { return Ok(None) };
    if magic != MAGIC {
        return Ok(None);
    }
    let footer = store.get_range(&object.location, start..end).await?;
    let schema = root_as_footer(&footer).ok().and_then(|footer| footer.schema());
    Ok(schema.map(fb_to_schema))
}
