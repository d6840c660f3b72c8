//! A scan through an index: the scan that reads whole objects, what is looked up, and the index
//! objects.

use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion_proto::protobuf;
use object_store::path::Path;
use prost::Message;

use super::files::FilesMessage;
use super::{Decoder, Encoder};
use crate::datasource::indexed::{Asked, IndexedSource};
use crate::index::found::{FileIndex, FileIndexes};
use crate::index::lookup::IndexObject;

/// An [`S3Scan`](crate::datasource::s3_scan::S3Scan) with an [`IndexedSource`].
#[derive(Clone, PartialEq, Message)]
pub(super) struct IndexMessage {
    /// The scan that reads whole objects.
    #[prost(message, optional, tag = "1")]
    files: Option<FilesMessage>,
    /// The column, by its place among the table's.
    #[prost(uint64, tag = "2")]
    column: u64,
    /// What is known of the rows that are wanted, over the table's columns.
    #[prost(message, optional, tag = "3")]
    filter: Option<protobuf::PhysicalExprNode>,
    /// Bytes between two records that are read rather than asked around.
    #[prost(uint64, tag = "4")]
    gap: u64,
    /// The bucket of the index objects.
    #[prost(string, tag = "5")]
    store: String,
    /// The index object of each file, in the order of the groups; without a path if it has none.
    #[prost(message, repeated, tag = "6")]
    objects: Vec<ObjectMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct ObjectMessage {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(uint64, tag = "2")]
    size: u64,
    #[prost(string, optional, tag = "3")]
    e_tag: Option<String>,
}

impl Encoder<'_> {
    pub(super) fn index(
        &self,
        config: &FileScanConfig,
        source: &IndexedSource,
    ) -> Result<IndexMessage> {
        let get = source.inner().clone();
        let files = FileScanConfigBuilder::from(config.clone()).with_source(get).build();
        let asked = source.asked();
        let objects = config.file_groups.iter().flat_map(FileGroup::iter).map(|file| {
            let indexes = file.extension::<FileIndexes>();
            let index = indexes.and_then(|indexes| indexes.of(asked.column));
            index.map_or_else(ObjectMessage::default, |index| ObjectMessage {
                path: index.object.path.to_string(),
                size: index.object.size,
                e_tag: index.object.e_tag.clone(),
            })
        });
        Ok(IndexMessage {
            files: Some(self.files(&files)?),
            column: asked.column as u64,
            filter: Some(self.expr(&asked.filter)?),
            gap: asked.gap,
            store: asked.store.as_str().to_owned(),
            objects: objects.collect(),
        })
    }
}

impl Decoder<'_> {
    pub(super) fn index(&self, message: &IndexMessage) -> Result<FileScanConfig> {
        let Some(files) = &message.files else {
            return plan_err!("an index scan without files in the bytes of a plan");
        };
        let config = self.files(files)?;
        let table = config.file_source().table_schema().table_schema().clone();
        let column = usize::try_from(message.column)
            .map_err(|_| plan_datafusion_err!("a column beyond this machine's"))?;
        let asked = Asked {
            column,
            filter: self.expr(message.filter.as_ref(), &table)?,
            gap: message.gap,
            store: ObjectStoreUrl::parse(&message.store)?,
        };
        let count: usize = config.file_groups.iter().map(FileGroup::len).sum();
        if count != message.objects.len() {
            return plan_err!("{count} files have {} places for an index", message.objects.len());
        }
        let mut objects = message.objects.iter();
        let indexed = |group: &FileGroup| {
            let mut files = group.clone().into_inner();
            for (file, object) in files.iter_mut().zip(objects.by_ref()) {
                if object.path.is_empty() {
                    continue;
                }
                let path = Path::parse(&object.path).map_err(|e| plan_datafusion_err!("{e}"))?;
                let (size, e_tag) = (object.size, object.e_tag.clone());
                let object = IndexObject { path, size, e_tag };
                let only = FileIndexes::only(FileIndex { column, object, sample: None });
                file.extensions.insert(only);
            }
            Ok(FileGroup::new(files))
        };
        let groups = config.file_groups.iter().map(indexed).collect::<Result<_>>()?;
        let config = FileScanConfigBuilder::from(config).with_file_groups(groups).build();
        IndexedSource::replace(&config, asked)
            .map_err(|why| plan_datafusion_err!("the scan cannot use an index: {why}"))
    }
}
