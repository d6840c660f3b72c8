//! Encodes a scan through an index: the scan of whole objects, the filters to look up, and the index objects.

use std::sync::Arc;

use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion_proto::protobuf;
use object_store::path::Path;
use prost::Message;

use super::files::FilesMessage;
use super::select_scan::SelectMessage;
use super::{Decoder, Encoder};
use crate::index::discovery::{FileIndex, FileIndexes};
use crate::index::lookup::IndexObject;
use crate::index::read_plan::ReadPlan;
use crate::index::scan::{ColumnLookup, IndexLookup, IndexedSource};
use crate::scan::s3_select::S3SelectSource;

/// An [`S3Scan`](crate::scan::s3_scan::S3Scan) with an [`IndexedSource`].
#[derive(Clone, PartialEq, Message)]
pub(super) struct IndexMessage {
    /// The scan that reads whole objects.
    #[prost(message, optional, tag = "1")]
    files: Option<FilesMessage>,
    /// The columns whose indexes are used.
    #[prost(message, repeated, tag = "2")]
    columns: Vec<ColumnMessage>,
    /// The maximum number of bytes between two records that are read rather than skipped with a separate request.
    #[prost(uint64, tag = "4")]
    gap: u64,
    /// The bucket of the index objects.
    #[prost(string, tag = "5")]
    store: String,
    /// The number of bytes that cost as much as a request.
    #[prost(uint64, tag = "6")]
    request: u64,
    /// The maximum number of ranges in one request.
    #[prost(uint32, tag = "7")]
    ranges_per_request: u32,
    /// The scan of index tables, if such tables are used instead of indexes.
    #[prost(message, optional, tag = "8")]
    table: Option<SelectMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct ColumnMessage {
    /// The index of the column in the table.
    #[prost(uint64, tag = "1")]
    column: u64,
    /// A condition on the wanted rows, over the table's columns.
    #[prost(message, optional, tag = "2")]
    filter: Option<protobuf::PhysicalExprNode>,
    /// The index object of each file, in the order of the groups; the path is empty for files without one.
    #[prost(message, repeated, tag = "3")]
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
        let asked = source.lookup();
        let table = match &asked.table {
            Some(table) => {
                let select = table.file_source().downcast_ref::<S3SelectSource>();
                let Some(select) = select else {
                    return plan_err!("index tables without a statement");
                };
                Some(self.select(table, select)?)
            }
            None => None,
        };
        let column = |asked: &ColumnLookup| {
            let objects = config.file_groups.iter().flat_map(FileGroup::iter).map(|file| {
                let indexes = file.extension::<FileIndexes>();
                let index = indexes.and_then(|indexes| match table {
                    Some(_) => indexes.table_for(asked.column),
                    None => indexes.for_column(asked.column),
                });
                index.map_or_else(ObjectMessage::default, |index| ObjectMessage {
                    path: index.object.path.to_string(),
                    size: index.object.size,
                    e_tag: index.object.e_tag.clone(),
                })
            });
            Ok(ColumnMessage {
                column: asked.column as u64,
                filter: Some(self.expr(&asked.filter)?),
                objects: objects.collect(),
            })
        };
        Ok(IndexMessage {
            files: Some(self.files(&files)?),
            columns: asked.columns.iter().map(column).collect::<Result<_>>()?,
            gap: asked.reading.gap,
            request: asked.reading.request,
            ranges_per_request: asked.reading.ranges_per_request,
            store: asked.store.as_str().to_owned(),
            table,
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
        let count: usize = config.file_groups.iter().map(FileGroup::len).sum();
        let mut of_files = vec![Vec::new(); count];
        let mut columns = Vec::new();
        for asked in &message.columns {
            let column = usize::try_from(asked.column)
                .map_err(|_| plan_datafusion_err!("a column beyond this machine's"))?;
            if count != asked.objects.len() {
                return plan_err!("{count} files have {} places for an index", asked.objects.len());
            }
            for (indexes, object) in of_files.iter_mut().zip(&asked.objects) {
                if !object.path.is_empty() {
                    let path = Path::parse(&object.path);
                    let path = path.map_err(|error| plan_datafusion_err!("{error}"))?;
                    let (size, e_tag) = (object.size, object.e_tag.clone());
                    let object = IndexObject { path, size, e_tag };
                    indexes.push(FileIndex { column, object, sample: None });
                }
            }
            let filter = self.expr(asked.filter.as_ref(), &table)?;
            columns.push(ColumnLookup { column, filter });
        }
        let store = ObjectStoreUrl::parse(&message.store)?;
        let IndexMessage { request, ranges_per_request, gap, .. } = *message;
        let reading = ReadPlan { request, ranges_per_request, gap };
        let table = message.table.as_ref().map(|table| self.select(table)).transpose()?;
        let of_tables = table.is_some();
        let asked = IndexLookup { columns, reading, store, table: table.map(Arc::new) };
        let mut of_files = of_files.into_iter();
        let indexed = |group: &FileGroup| {
            let mut files = group.clone().into_inner();
            for (file, indexes) in files.iter_mut().zip(of_files.by_ref()) {
                if !indexes.is_empty() {
                    file.extensions.insert(match of_tables {
                        true => FileIndexes::only_tables(indexes),
                        false => FileIndexes::only(indexes),
                    });
                }
            }
            FileGroup::new(files)
        };
        let groups = config.file_groups.iter().map(indexed).collect();
        let config = FileScanConfigBuilder::from(config).with_file_groups(groups).build();
        IndexedSource::replace(&config, asked)
            .map_err(|why| plan_datafusion_err!("the scan cannot use an index: {why}"))
    }
}
