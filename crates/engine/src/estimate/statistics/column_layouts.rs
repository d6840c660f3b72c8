//! Places of the columns in Parquet objects, and statistics of their values, from their footers.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::Schema;
use datafusion::common::Statistics;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use object_store::path::Path;
use object_store::{OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta};
use parquet::file::metadata::ParquetMetaData;

use super::ObjectStatistics;
use super::cache::StatisticsCache;
use super::footer_values::footer_values;
use crate::store::endpoints::Endpoints;

/// Most column chunks that are remembered. Beyond, all layouts are dropped, and their columns are estimated.
const MOST_COLUMNS: usize = 4 << 20;
/// The memory of a column's statistics, in multiples of a range.
const STATISTICS_SIZE: usize = 24;

/// The layouts of objects whose footers were read in this session.
#[derive(Debug, Default)]
pub struct LayoutCache {
    objects: Mutex<HashMap<Version, Arc<Layout>>>,
}

/// A version of an object. An object of the same name, tag and size in another bucket is treated as a copy.
type Version = (Path, Option<String>, u64);

/// The byte range of each column of the table in each row group, empty if the column is missing, and the statistics of
/// the values.
#[derive(Debug, PartialEq)]
struct Layout {
    columns: usize,
    groups: Vec<Vec<Range<u64>>>,
    values: Arc<ObjectStatistics>,
}

fn version(object: &ObjectMeta) -> Version {
    (object.location.clone(), object.e_tag.clone(), object.size)
}

impl LayoutCache {
    /// Stores the layout of an object from its footer, and the statistics of its values. `known` is what DataFusion
    /// found in the footer, proven or not.
    pub fn insert(
        &self,
        object: &ObjectMeta,
        footer: &ParquetMetaData,
        declared: &Schema,
        known: &Statistics,
    ) {
        let groups = footer.row_groups().iter().map(|group| {
            let mut places: HashMap<&str, Range<u64>> = HashMap::new();
            for chunk in group.columns() {
                let Some(name) = chunk.column_path().parts().first() else { continue };
                let (start, length) = chunk.byte_range();
                let end = start.saturating_add(length);
                // The chunks of a nested column are adjacent.
                let own = places.entry(name).or_insert(start..end);
                *own = own.start.min(start)..own.end.max(end);
            }
            let place = |name: &str| places.get(name).cloned().unwrap_or(0..0);
            declared.fields().iter().map(|it| place(it.name())).collect()
        });
        let columns = declared.fields().len();
        let values = Arc::new(footer_values(object, footer, declared, known));
        let layout = Layout { columns, groups: groups.collect(), values };
        let size =
            |layout: &Layout| (layout.columns * (layout.groups.len() + STATISTICS_SIZE)).max(1);
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let known: usize = objects.len().saturating_mul(size(&layout));
        if known.saturating_add(size(&layout)) > MOST_COLUMNS {
            objects.clear();
        }
        objects.insert(version(object), Arc::new(layout));
    }

    /// Returns the statistics of an object's values, if its footer was read.
    #[must_use]
    pub fn statistics(&self, object: &ObjectMeta) -> Option<Arc<ObjectStatistics>> {
        Some(Arc::clone(&self.get(object)?.values))
    }

    fn get(&self, object: &ObjectMeta) -> Option<Arc<Layout>> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.get(&version(object)).cloned()
    }
}

/// The largest gap between column chunks that GET of a scan reads instead of sending another request.
fn gap_of(config: &FileScanConfig, options: &ConfigOptions) -> u64 {
    let endpoints = Endpoints::from_options(options);
    let endpoint = endpoints.and_then(|it| it.serving(&config.object_store_url));
    endpoint.map_or(OBJECT_STORE_COALESCE_DEFAULT, |it| it.gap())
}

/// The part of a scan's objects that GET fetches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FetchEstimate {
    /// Share of the objects' bytes.
    pub share: f64,
    /// Number of requests.
    pub requests: u64,
}

/// The objects of a scan whose layouts are known, and the share of each object that the scan reads.
#[derive(Debug)]
pub struct ScanLayouts {
    objects: Vec<(Arc<Layout>, f64)>,
    /// Bytes of these objects that the scan reads.
    bytes: f64,
    /// Bytes of all objects that the scan reads.
    all_bytes: f64,
    /// The largest gap between column chunks that is read.
    gap: u64,
}

impl ScanLayouts {
    /// Returns the layouts of a scan's objects; `None` if none is known.
    #[must_use]
    pub fn for_scan(config: &FileScanConfig, options: &ConfigOptions) -> Option<Self> {
        let known = StatisticsCache::from_options(options)?.stored();
        let columns = config.file_source().table_schema().file_schema().fields().len();
        let gap = gap_of(config, options);
        let mut found = Self { objects: Vec::new(), bytes: 0.0, all_bytes: 0.0, gap };
        for file in config.file_groups.iter().flat_map(|group| group.files()) {
            let bytes = file.effective_size() as f64;
            found.all_bytes += bytes;
            let layout = known.get(&file.object_meta).filter(|it| it.columns == columns);
            if let Some(layout) = layout {
                found.objects.push((layout, bytes / (file.object_meta.size as f64).max(1.0)));
                found.bytes += bytes;
            }
        }
        (found.bytes > 0.0).then_some(found)
    }

    /// Returns the share of the bytes that some columns take.
    #[must_use]
    pub fn share(&self, columns: &BTreeSet<usize>) -> f64 {
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start) as f64;
        let of_group = |group: &Vec<Range<u64>>| -> f64 {
            columns.iter().filter_map(|column| group.get(*column)).map(length).sum()
        };
        let of_object = |layout: &Layout| layout.groups.iter().map(of_group).sum::<f64>();
        let bytes: f64 = self.objects.iter().map(|(layout, part)| of_object(layout) * part).sum();
        bytes / self.bytes
    }

    /// Returns the part that GET fetches for some columns: the column chunks of each row group. A reader also fetches
    /// gaps that are so small that it prefers them to a further request.
    #[must_use]
    pub fn fetched(&self, columns: &BTreeSet<usize>) -> FetchEstimate {
        let (mut bytes, mut requests) = (0.0, 0.0);
        for (layout, part) in &self.objects {
            for group in &layout.groups {
                let ranges = columns.iter().filter_map(|column| group.get(*column));
                let mut ranges: Vec<_> = ranges.filter(|it| it.start < it.end).cloned().collect();
                ranges.sort_by_key(|range| range.start);
                let mut end = None;
                for range in ranges {
                    match end {
                        Some(last) if range.start <= last + self.gap => {
                            bytes += range.end.saturating_sub(last) as f64 * part;
                            end = Some(range.end.max(last));
                        }
                        _ => {
                            bytes += (range.end - range.start) as f64 * part;
                            requests += part;
                            end = Some(range.end);
                        }
                    }
                }
            }
        }
        let requests = requests * self.all_bytes / self.bytes;
        FetchEstimate { share: bytes / self.bytes, requests: requests.round() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_gaps_are_fetched_and_large_ones_are_not() {
        const MIB: u64 = 1 << 20;
        let group = |start: u64| {
            vec![start..start + 10, start + 110..start + 120, start + 3 * MIB..start + 3 * MIB + 5]
        };
        let groups = vec![group(4), group(8 * MIB)];
        let layout = Layout { columns: 3, groups, values: Arc::new(ObjectStatistics::none()) };
        let objects = vec![(Arc::new(layout), 1.0)];
        let stored = ScanLayouts { objects, bytes: 1e6, all_bytes: 1e6, gap: MIB };
        for (columns, bytes, fetched, requests) in [
            (vec![0], 20.0, 20.0, 2),
            (vec![0, 1], 40.0, 240.0, 2),
            (vec![0, 2], 30.0, 30.0, 4),
            (vec![0, 1, 2], 50.0, 250.0, 4),
            (vec![], 0.0, 0.0, 0),
        ] {
            let columns: BTreeSet<usize> = columns.into_iter().collect();
            assert!((stored.share(&columns) * 1e6 - bytes).abs() < 1e-6, "{columns:?}");
            let found = stored.fetched(&columns);
            assert!((found.share * 1e6 - fetched).abs() < 1e-6, "{columns:?}: {found:?}");
            assert_eq!(found.requests, requests, "{columns:?}");
        }
        // Half of the bytes are in objects whose layout is unknown.
        let some = ScanLayouts { all_bytes: 2e6, ..stored };
        assert_eq!(some.fetched(&BTreeSet::from([0])).requests, 4);
    }
}
