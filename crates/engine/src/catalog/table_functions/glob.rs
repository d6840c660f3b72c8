//! `glob('s3://bucket/folder/*.csv')`: lists objects as a table.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;
use object_store::ObjectMeta;

use crate::catalog::listing_filter::ListingFilter;
use crate::context::listing::with_subfolders;

/// The objects that a URL names: one, all those below a prefix that ends in `/`, or those that a pattern matches, as
/// in a shell. The listing is made whenever the table is planned.
#[derive(Debug)]
pub(crate) struct GlobTable {
    location: ListingTableUrl,
    schema: SchemaRef,
}

impl GlobTable {
    pub(crate) fn new(location: ListingTableUrl) -> Self {
        let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let schema = Schema::new(vec![
            Field::new("url", DataType::Utf8, false),
            Field::new("size", DataType::UInt64, false),
            Field::new("modified", time, false),
            Field::new("e_tag", DataType::Utf8, true),
        ]);
        Self { location, schema: Arc::new(schema) }
    }

    fn rows(&self, objects: &[ObjectMeta]) -> Result<RecordBatch> {
        let root = self.location.object_store();
        // A file is named by its path, because `%` and spaces would be decoded in a URL.
        let root = match root.as_str().trim_end_matches('/') {
            "file:" => "",
            bucket => bucket,
        };
        let urls = objects.iter().map(|object| format!("{root}/{}", object.location));
        let times = objects.iter().map(|object| object.last_modified.timestamp_micros());
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(urls)),
            Arc::new(UInt64Array::from_iter_values(objects.iter().map(|object| object.size))),
            Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC")),
            Arc::new(StringArray::from_iter(objects.iter().map(|object| object.e_tag.as_deref()))),
        ];
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

#[async_trait]
impl TableProvider for GlobTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (listed, folder) = match ListingFilter::matching(&self.location)? {
            Some((listed, folder)) => (Some(listed), folder),
            None => (None, self.location.clone()),
        };
        let session = state.as_any().downcast_ref::<SessionState>();
        let below = session.map(|session| match &listed {
            Some(listed) => listed.session(session),
            None => Ok(with_subfolders(session)),
        });
        let below = below.transpose()?;
        let state = below.as_ref().map_or(state, |below| below as &dyn Session);
        let store = state.runtime_env().object_store(&folder)?;
        let listed = folder.list_all_files(state, store.as_ref(), "").await?;
        let mut objects: Vec<ObjectMeta> = listed.try_collect().await?;
        objects.sort_by(|a, b| a.location.cmp(&b.location));
        let rows = self.rows(&objects)?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![rows]], self.schema(), projection.cloned())?)
    }
}
