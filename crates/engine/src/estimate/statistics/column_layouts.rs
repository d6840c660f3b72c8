//! Places of the columns in Parquet objects, and statistics of their values, from their footers.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::Schema;
use datafusion::common::Statistics;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use object_store::path::Path;
use object_store::{OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta};
use parquet::file::metadata::ParquetMetaData;

use super::ObjectStatistics;
use super::cache::StatisticsCache;
use super::footer_values::footer_values;
use super::row_group_bounds::RowGroupBounds;
use crate::estimate::declared_sizes::actual_object;
use crate::store::endpoints::Endpoints;

/// The most bytes of all layouts. Beyond, all are dropped, and their columns are estimated.
const MOST_BYTES: usize = 128 << 20;
/// The bytes of a column's statistics.
const STATISTICS_BYTES: usize = 400;

/// The layouts of objects whose footers were read in this session.
#[derive(Debug, Default)]
pub struct LayoutCache {
    known: Mutex<Layouts>,
}

#[derive(Debug, Default)]
struct Layouts {
    objects: HashMap<Version, Arc<Layout>>,
    /// The bytes of all layouts together.
    bytes: usize,
}

/// A version of an object. An object of the same name, tag and size in another bucket is treated as a copy.
type Version = (Path, Option<String>, u64);

/// The byte range of each column of the table in each row group, empty if the column is missing, the bounds of the row
/// groups, and the statistics of the values.
#[derive(Debug)]
struct Layout {
    columns: usize,
    groups: Vec<Vec<Range<u64>>>,
    bounds: RowGroupBounds,
    values: Arc<ObjectStatistics>,
}

impl Layout {
    fn memory_size(&self) -> usize {
        let ranges = self.columns * self.groups.len() * size_of::<Range<u64>>();
        ranges + self.columns * STATISTICS_BYTES + self.bounds.memory_size()
    }
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
        let bounds = RowGroupBounds::from_footer(footer, declared);
        let layout = Layout { columns, groups: groups.collect(), bounds, values };
        let bytes = layout.memory_size();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.bytes.saturating_add(bytes) > MOST_BYTES {
            *known = Layouts::default();
        }
        let before = known.objects.insert(version(object), Arc::new(layout));
        known.bytes = known.bytes + bytes - before.map_or(0, |before| before.memory_size());
    }

    /// Returns the statistics of an object's values, if its footer was read.
    #[must_use]
    pub fn statistics(&self, object: &ObjectMeta) -> Option<Arc<ObjectStatistics>> {
        Some(Arc::clone(&self.get(object)?.values))
    }

    fn get(&self, object: &ObjectMeta) -> Option<Arc<Layout>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.objects.get(&version(object)).cloned()
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

/// An object of a scan whose layout is known.
#[derive(Debug)]
struct ScannedObject {
    layout: Arc<Layout>,
    /// The share of the object that the scan reads.
    part: f64,
    /// True for each row group that the filters of the scan may keep rows of.
    kept: Vec<bool>,
}

impl ScannedObject {
    /// Iterates over the row groups that are read.
    fn groups(&self) -> impl Iterator<Item = &Vec<Range<u64>>> {
        self.layout.groups.iter().zip(&self.kept).filter_map(|(group, kept)| kept.then_some(group))
    }
}

/// The objects of a scan whose layouts are known.
#[derive(Debug)]
pub struct ScanLayouts {
    objects: Vec<ScannedObject>,
    /// Bytes of these objects that the scan reads.
    bytes: f64,
    /// Bytes of all objects that the scan reads.
    all_bytes: f64,
    /// The largest gap between column chunks that is read.
    gap: u64,
}

impl ScanLayouts {
    /// Returns the layouts of a scan's objects; `None` if none is known. Row groups that the filter excludes by their
    /// bounds are not read.
    #[must_use]
    pub fn for_scan(
        config: &FileScanConfig,
        filter: Option<Arc<dyn PhysicalExpr>>,
        options: &ConfigOptions,
    ) -> Option<Self> {
        let known = StatisticsCache::from_options(options)?.stored();
        let schema = config.file_source().table_schema().file_schema();
        let columns = schema.fields().len();
        let predicate = filter.and_then(|filter| {
            let predicate = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
            predicate.try_build(filter).ok()
        });
        let gap = gap_of(config, options);
        let mut found = Self { objects: Vec::new(), bytes: 0.0, all_bytes: 0.0, gap };
        for file in config.file_groups.iter().flat_map(|group| group.files()) {
            let bytes = file.effective_size() as f64;
            found.all_bytes += bytes;
            let layout = known.get(actual_object(file)).filter(|it| it.columns == columns);
            if let Some(layout) = layout {
                let part = bytes / (file.object_meta.size as f64).max(1.0);
                let kept = match &predicate {
                    Some(predicate) => layout.bounds.kept(predicate),
                    None => vec![true; layout.groups.len()],
                };
                found.objects.push(ScannedObject { layout, part, kept });
                found.bytes += bytes;
            }
        }
        (found.bytes > 0.0).then_some(found)
    }

    /// Returns the share of the bytes that some columns take in the row groups that are read.
    #[must_use]
    pub fn share(&self, columns: &BTreeSet<usize>) -> f64 {
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start) as f64;
        let of_group = |group: &Vec<Range<u64>>| -> f64 {
            columns.iter().filter_map(|column| group.get(*column)).map(length).sum()
        };
        let of_object = |object: &ScannedObject| object.groups().map(of_group).sum::<f64>();
        let bytes: f64 = self.objects.iter().map(|it| of_object(it) * it.part).sum();
        bytes / self.bytes
    }

    /// Returns the share of the rows that are in row groups that are read.
    #[must_use]
    pub fn rows(&self) -> f64 {
        let (mut all, mut read) = (0.0, 0.0);
        for ScannedObject { layout, part, kept } in &self.objects {
            for (rows, kept) in layout.bounds.rows().iter().zip(kept) {
                let rows = *rows as f64 * part;
                all += rows;
                read += if *kept { rows } else { 0.0 };
            }
        }
        if all > 0.0 { read / all } else { 1.0 }
    }

    /// Returns the part that GET fetches for some columns: the column chunks of each row group. A reader also fetches
    /// gaps that are so small that it prefers them to a further request.
    #[must_use]
    pub fn fetched(&self, columns: &BTreeSet<usize>) -> FetchEstimate {
        let (mut bytes, mut requests) = (0.0, 0.0);
        for object in &self.objects {
            let part = object.part;
            for group in object.groups() {
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
    use super::super::row_group_bounds::tests::footer;
    use super::*;

    /// Each statement inserts the layouts of its objects.
    #[test]
    fn a_layout_that_is_inserted_again_counts_once() {
        let (cache, footer) = (LayoutCache::default(), footer());
        let schema = footer.file_metadata().schema_descr();
        let declared = parquet::arrow::parquet_to_arrow_schema(schema, None).unwrap();
        let object = ObjectMeta {
            location: Path::from("a.parquet"),
            last_modified: Default::default(),
            size: 1_000,
            e_tag: None,
            version: None,
        };
        let known = Statistics::new_unknown(&declared);
        let bytes = [1, 2, 3].map(|_| {
            cache.insert(&object, &footer, &declared, &known);
            cache.known.lock().unwrap().bytes
        });
        assert!(bytes[0] > 0 && bytes == [bytes[0]; 3], "{bytes:?}");
    }

    #[test]
    fn small_gaps_are_fetched_and_large_ones_are_not() {
        const MIB: u64 = 1 << 20;
        let group = |start: u64| {
            vec![start..start + 10, start + 110..start + 120, start + 3 * MIB..start + 3 * MIB + 5]
        };
        let groups = vec![group(4), group(8 * MIB)];
        let bounds = RowGroupBounds::of_rows(vec![100, 300]);
        let values = Arc::new(ObjectStatistics::none());
        let layout = Arc::new(Layout { columns: 3, groups, bounds, values });
        let scanned = |kept| {
            let layout = Arc::clone(&layout);
            vec![ScannedObject { layout, part: 1.0, kept }]
        };
        let objects = scanned(vec![true, true]);
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
        let second = ScanLayouts { objects: scanned(vec![false, true]), ..stored };
        let all = BTreeSet::from([0, 1, 2]);
        assert!((second.share(&all) * 1e6 - 25.0).abs() < 1e-6);
        assert_eq!((second.fetched(&all).requests, second.rows()), (2, 0.75));
        let stored = ScanLayouts { objects: scanned(vec![true, true]), ..second };
        // Half of the bytes are in objects whose layout is unknown.
        let some = ScanLayouts { all_bytes: 2e6, ..stored };
        assert_eq!(some.fetched(&BTreeSet::from([0])).requests, 4);
    }
}
