//! How many bytes each column of a Parquet object takes, as its footer says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use object_store::ObjectMeta;
use object_store::path::Path;
use parquet::file::metadata::ParquetMetaData;

use super::known::KnownStatistics;

/// The most columns of objects that are remembered; beyond, all are forgotten, and estimated.
const MOST_COLUMNS: usize = 4 << 20;

/// The bytes of the columns of objects whose footers were read in this session.
#[derive(Debug, Default)]
pub struct StoredColumns {
    objects: Mutex<HashMap<Version, Arc<[u64]>>>,
}

/// A version of an object: one of the same name, tag and size in another bucket is a copy.
type Version = (Path, Option<String>, u64);

fn version(object: &ObjectMeta) -> Version {
    (object.location.clone(), object.e_tag.clone(), object.size)
}

impl StoredColumns {
    /// Remembers what a footer says about the columns of a table.
    pub fn remember(&self, object: &ObjectMeta, footer: &ParquetMetaData, declared: &Schema) {
        let bytes_of = |name: &str| -> u64 {
            let groups = footer.row_groups().iter();
            let chunks = groups.flat_map(|group| group.columns());
            let own =
                chunks.filter(|it| it.column_path().parts().first().is_some_and(|it| it == name));
            own.map(|chunk| u64::try_from(chunk.compressed_size()).unwrap_or(0)).sum()
        };
        let columns: Arc<[u64]> = declared.fields().iter().map(|it| bytes_of(it.name())).collect();
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if (objects.len() + 1).saturating_mul(columns.len().max(1)) > MOST_COLUMNS {
            objects.clear();
        }
        objects.insert(version(object), columns);
    }

    fn of(&self, object: &ObjectMeta) -> Option<Arc<[u64]>> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.get(&version(object)).cloned()
    }
}

/// The share of a scan's bytes that each column of its table takes, by the footers that are known; none
/// if none is.
#[must_use]
pub fn shares(config: &FileScanConfig, options: &ConfigOptions) -> Option<Vec<f64>> {
    let known = KnownStatistics::of(options)?.stored();
    let mut shares = vec![0.0; config.file_source().table_schema().file_schema().fields().len()];
    let mut bytes = 0.0;
    for file in config.file_groups.iter().flat_map(|group| group.files()) {
        let Some(columns) = known.of(&file.object_meta).filter(|it| it.len() == shares.len())
        else {
            continue;
        };
        let size = file.object_meta.size as f64;
        // Of a part of an object, as much as of the whole.
        let part = file.effective_size() as f64 / size.max(1.0);
        for (share, column) in shares.iter_mut().zip(columns.iter()) {
            *share += *column as f64 * part;
        }
        bytes += size * part;
    }
    (bytes > 0.0).then(|| shares.into_iter().map(|it| it / bytes).collect())
}
