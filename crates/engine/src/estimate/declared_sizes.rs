//! Sizes of tables that are declared instead of listed, so that EXPLAIN can predict queries over more data than exists.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use object_store::ObjectMeta;
use sluicegate_costmodel::{Bytes, Rows};

use crate::context::config_extension::carried;

/// The size of a table, whatever its objects hold now. The distribution of its values stays that of its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSize {
    /// The URL of an object, or of a folder and a final slash.
    pub url: String,
    /// The number of objects, at least 1. All are equally large.
    pub objects: u32,
    /// The bytes of all objects, as they are stored.
    pub bytes: Bytes,
    /// The rows of all objects.
    pub rows: Rows,
}

/// The declared sizes of a session's tables. Only EXPLAIN uses them, because their objects cannot be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeclaredSizes {
    tables: Arc<[(TableSize, AtomicBool)]>,
}

carried!(
    DeclaredSizes,
    "sluice_declared_sizes",
    "declared sizes belong to EXPLAIN and cannot be SET ({})"
);

/// The object that a declared object stands for.
#[derive(Debug)]
struct ActualObject(ObjectMeta);

/// Returns the object in the store that a file of a plan is about.
pub(crate) fn actual_object(file: &PartitionedFile) -> &ObjectMeta {
    file.extension::<ActualObject>().map_or(&file.object_meta, |actual| &actual.0)
}

impl DeclaredSizes {
    pub(crate) fn new(tables: Vec<TableSize>) -> Self {
        Self { tables: tables.into_iter().map(|table| (table, AtomicBool::new(false))).collect() }
    }

    pub(crate) fn from_options(options: &ConfigOptions) -> Option<&Self> {
        options.extensions.get::<Self>().filter(|sizes| !sizes.tables.is_empty())
    }

    /// Returns the URLs of the sizes that no scan used so far.
    pub(crate) fn unused(&self) -> Vec<&str> {
        let unused = self.tables.iter().filter(|(_, used)| !used.load(Ordering::Relaxed));
        unused.map(|(table, _)| table.url.as_str()).collect()
    }

    /// Returns the scan as if its table had the declared size, or `None` if none is declared.
    pub(crate) fn apply(
        &self,
        config: &FileScanConfig,
        partitions: usize,
    ) -> Option<FileScanConfig> {
        let bucket = config.object_store_url.as_str().trim_end_matches('/');
        let files: Vec<_> = config
            .file_groups
            .iter()
            .flat_map(FileGroup::iter)
            .filter(|file| file.object_meta.size > 0)
            .collect();
        let is_about = |url: &str| {
            let has = |file: &&PartitionedFile| {
                let object = format!("{bucket}/{}", file.object_meta.location);
                object == url || url.ends_with('/') && object.starts_with(url)
            };
            !files.is_empty() && files.iter().all(has)
        };
        let (table, used) = self.tables.iter().find(|(table, _)| is_about(&table.url))?;
        used.store(true, Ordering::Relaxed);
        let objects = u64::from(table.objects.max(1));
        let start = |number: u64| {
            u64::try_from(u128::from(table.bytes.0) * u128::from(number) / u128::from(objects))
                .unwrap_or(u64::MAX)
        };
        let object = |(number, file): (u64, &&PartitionedFile)| {
            let mut declared = (*file).clone();
            declared.object_meta.size = start(number + 1) - start(number);
            declared.range = None;
            declared.statistics = None;
            declared.with_extension(ActualObject(file.object_meta.clone()))
        };
        let all: Vec<_> = (0..objects).zip(files.iter().cycle()).map(object).collect();
        let group = all.len().div_ceil(partitions.max(1));
        let groups = all.chunks(group.max(1)).map(|files| FileGroup::new(files.to_vec())).collect();
        let mut statistics = config.statistics();
        let count = |number: u64| Precision::Inexact(usize::try_from(number).unwrap_or(usize::MAX));
        statistics.num_rows = count(table.rows.0);
        statistics.total_byte_size = count(table.bytes.0);
        let builder = FileScanConfigBuilder::from(config.clone());
        Some(builder.with_file_groups(groups).with_statistics(statistics).build())
    }
}
