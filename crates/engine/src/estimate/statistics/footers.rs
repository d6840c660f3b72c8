//! Limits the number of Parquet footers that are read to plan queries of a table.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::catalog::Session;
use datafusion::common::stats::Precision;
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use object_store::ObjectMeta;
use object_store::path::Path;

/// The maximum number of objects of a table whose footers are read before a query needs their rows. The other objects
/// are assumed to have as many rows per byte.
pub const OBJECTS: usize = 1024;

/// The objects of a table whose footers are read, in the order of listing.
#[derive(Debug, Default)]
pub struct Budget {
    objects: Mutex<HashSet<Path>>,
}

impl Budget {
    /// Returns true if the footer of this object is read. Once allowed, an object stays allowed, even if it is
    /// replaced.
    #[must_use]
    pub fn allows(&self, object: &ObjectMeta) -> bool {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if objects.len() < OBJECTS {
            objects.insert(object.location.clone());
            return true;
        }
        objects.contains(&object.location)
    }
}

/// Returns the number of objects of a scan, and the number of those whose footer is known.
#[must_use]
pub fn known(config: &FileScanConfig) -> (usize, usize) {
    let files = || config.file_groups.iter().flat_map(|group| group.files());
    let objects = |files: &mut dyn Iterator<Item = &Path>| files.collect::<HashSet<_>>().len();
    let known = files().filter(|file| rows(file.statistics.as_deref()).is_some());
    let all = objects(&mut files().map(|file| &file.object_meta.location));
    (all, objects(&mut known.map(|file| &file.object_meta.location)))
}

/// Returns the plan with estimated rows if it is a scan of Parquet objects and only some footers are known.
#[must_use]
pub fn attach(state: &dyn Session, plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let config = plan
        .downcast_ref::<DataSourceExec>()
        .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
    let collected = state.config_options().execution.collect_statistics;
    let Some(config) = config.filter(|config| {
        collected
            && config.file_source().file_type() == "parquet"
            && config.statistics().num_rows == Precision::Absent
    }) else {
        return plan;
    };
    let (mut known_bytes, mut known_rows, mut bytes) = (0.0, 0.0, 0.0);
    for file in config.file_groups.iter().flat_map(|group| group.files()) {
        let size = file.effective_size() as f64;
        bytes += size;
        if let Some(rows) = rows(file.statistics.as_deref()) {
            known_bytes += size;
            known_rows += rows as f64;
        }
    }
    if known_bytes == 0.0 {
        return plan;
    }
    let inexact = |number: f64| Precision::Inexact(number.round() as usize);
    let mut statistics = config.statistics();
    statistics.num_rows = inexact((known_rows * bytes / known_bytes).max(1.0));
    statistics.total_byte_size = inexact(bytes);
    let config = FileScanConfigBuilder::from(config.clone()).with_statistics(statistics).build();
    DataSourceExec::from_data_source(config)
}

/// Returns the rows of an object, if its footer is known.
fn rows(statistics: Option<&datafusion::common::Statistics>) -> Option<usize> {
    statistics?.num_rows.get_value().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(number: usize) -> ObjectMeta {
        ObjectMeta {
            location: Path::from(format!("{number}.parquet")),
            last_modified: Default::default(),
            size: 1,
            e_tag: None,
            version: None,
        }
    }

    #[test]
    fn the_same_objects_are_read_again_and_no_others() {
        let budget = Budget::default();
        for _ in 0..2 {
            let allowed = (0..2 * OBJECTS).filter(|number| budget.allows(&object(*number)));
            assert!(allowed.eq(0..OBJECTS));
        }
    }
}
