//! The statistics of a table at the time when a scan of it is planned.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::physical_plan::{
    CsvSource, FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use object_store::ObjectMeta;
use sluicegate_index::name::Tag;

use super::cache::{StatisticsCache, Version};
use super::footers;
use super::sample::{OBJECTS, Sampling};
use super::sketch::Sketch;
use super::{CLUSTERED, ColumnStatistics, ObjectStatistics, Origin, StatisticsKey};
use crate::context::notes::Notes;
use crate::estimate::declared_sizes::actual_object;
use crate::index::location::e_tag;
use crate::index::scan::IndexedSource;
use crate::scan::adaptive::AdaptiveSource;
use crate::scan::s3_select::S3SelectSource;
use crate::store::endpoints::Endpoints;
use crate::text::located_errors::LocatedSource;

/// Assumed compression ratio of tables by gzip.
const COMPRESSION_RATIO: f64 = 4.0;
/// Number of times that each value must recur after other values, to be typical, in rows where equal values are not
/// adjacent.
const AGAIN: f64 = 4.0;
/// The maximum number of objects whose distinct values are counted together. More objects are extrapolated from
/// these.
const COUNTED: usize = 512;

/// The statistics of the objects of a scan.
#[derive(Debug, Clone)]
pub struct TableStatistics {
    pub(super) schema: SchemaRef,
    /// Bytes of all objects.
    bytes: u64,
    /// Number of objects that are not empty.
    count: usize,
    /// The known statistics, of some objects.
    objects: Vec<Arc<ObjectStatistics>>,
    /// Assumed bytes of a record if no object has statistics.
    record_bytes: f64,
}

impl TableStatistics {
    /// Returns the statistics in memory of the objects of a scan; `None` if there are none.
    #[must_use]
    pub fn for_scan(config: &FileScanConfig, options: &ConfigOptions) -> Option<Self> {
        let known = StatisticsCache::from_options(options)?;
        let table = Objects::for_scan(config, options)?;
        // What ANALYZE TABLE stored is better than what a footer tells.
        let footer = |object: &ObjectMeta| known.stored().statistics(object);
        let objects = known.in_memory(&table.versions).into_iter().zip(&table.objects);
        let objects = objects.map(|(it, object)| it.or_else(|| footer(object))).collect();
        let table = Self::new(config, objects);
        (!table.objects.is_empty()).then_some(table)
    }

    fn new(config: &FileScanConfig, objects: Vec<Option<Arc<ObjectStatistics>>>) -> Self {
        let schema = Arc::clone(config.file_source().table_schema().file_schema());
        let (mut bytes, mut count, mut record_bytes) = (0, 0, default_record_bytes(&schema));
        let mut seen = BTreeSet::new();
        for file in files(config) {
            if seen.insert(&file.location) {
                bytes += file.size;
                count += usize::from(file.size > 0);
            }
        }
        if config.file_compression_type != FileCompressionType::UNCOMPRESSED {
            record_bytes /= COMPRESSION_RATIO;
        }
        Self {
            schema,
            bytes,
            count,
            objects: objects.into_iter().flatten().collect(),
            record_bytes,
        }
    }

    /// Returns the statistics of all objects of a table.
    #[must_use]
    pub fn of_objects(schema: SchemaRef, objects: Vec<Arc<ObjectStatistics>>) -> Self {
        let bytes = objects.iter().map(|object| object.size).sum();
        let record_bytes = default_record_bytes(&schema);
        Self { schema, bytes, count: objects.len(), objects, record_bytes }
    }

    /// Returns true if every object was read whole.
    #[must_use]
    pub fn is_analyzed(&self) -> bool {
        let analyzed = self.objects.iter().filter(|it| it.origin == Origin::Analyze);
        analyzed.count() == self.count
    }

    /// Returns the approximate number of rows of all objects.
    #[must_use]
    pub fn rows(&self) -> f64 {
        let (bytes, rows) = self.known();
        let per_byte = if bytes > 0.0 { rows / bytes } else { 1.0 / self.record_bytes };
        // At least one row, because an unlucky estimate must not make a table empty.
        let others = (self.bytes as f64 - bytes).max(0.0) * per_byte;
        if self.bytes == 0 { 0.0 } else { (rows + others).ceil().max(1.0) }
    }

    /// Returns the bytes and rows of the objects with statistics.
    fn known(&self) -> (f64, f64) {
        let known = self.objects.iter().map(|object| (object.size as f64, object.rows as f64));
        known.fold((0.0, 0.0), |(bytes, rows), (more, and)| (bytes + more, rows + and))
    }

    /// Returns the statistics of a column, with the objects that have them.
    pub(super) fn column(
        &self,
        position: usize,
    ) -> impl Iterator<Item = (&ObjectStatistics, &ColumnStatistics)> {
        let field = self.schema.fields().get(position);
        let about = field.map(|field| (field.name(), field.data_type().to_string()));
        self.objects.iter().filter_map(move |object| {
            let (name, data_type) = about.as_ref()?;
            Some((object.as_ref(), object.column(position, name, data_type)?))
        })
    }

    /// Returns the share of a column's values that are NULL.
    #[must_use]
    pub fn nulls(&self, position: usize) -> Option<f64> {
        let (mut seen, mut nulls) = (0.0, 0.0);
        for (object, column) in self.column(position) {
            seen += object.seen as f64;
            nulls += column.nulls as f64;
        }
        (seen > 0.0).then(|| nulls / seen)
    }

    /// Returns the mean bytes of a column's value as text.
    #[must_use]
    pub fn width(&self, position: usize) -> Option<f64> {
        let (mut rows, mut bytes) = (0.0, 0.0);
        for (object, column) in self.column(position) {
            rows += object.rows as f64;
            bytes += object.rows as f64 * column.width;
        }
        (rows > 0.0).then(|| bytes / rows)
    }

    /// Returns the approximate number of distinct values of a column.
    #[must_use]
    pub fn distinct(&self, position: usize) -> Option<f64> {
        let known: Vec<_> = self.column(position).collect();
        let step = known.len().div_ceil(COUNTED).max(1);
        let counted = || known.iter().step_by(step);
        let seen: f64 = counted().map(|(object, _)| object.seen as f64).sum();
        if seen == 0.0 {
            return None;
        }
        let sketches = Sketch::count_of(counted().map(|(_, column)| &column.distinct));
        let distinct = sketches.max(of_footers(counted().copied()));
        let rows = self.rows();
        Some(match counted().all(|(_, column)| column.correlation.abs() >= CLUSTERED) {
            // Clustered rows that were not read have other values.
            true => (distinct * (rows / seen).max(1.0)).min(rows),
            false => of_all(distinct, seen, rows),
        })
    }

    /// Returns true if the statistics of a column's values hold for all rows. Either all rows were read, or the same
    /// values recur again and again in every object, so that the other rows are assumed to have them, too.
    #[must_use]
    pub fn is_typical(&self, position: usize) -> bool {
        if self.is_analyzed() {
            return true;
        }
        let (mut less, mut footers, mut sketches) = (0.0, 0.0_f64, Vec::new());
        for (object, column) in self.column(position) {
            // A value that is less than the one before starts a new run, in which earlier values recur.
            let here = (1.0 - column.ascending) * object.seen as f64;
            if column.correlation.abs() >= CLUSTERED || here < column.distinct_values() {
                return false;
            }
            less += here;
            footers = column.counted.map_or(footers, |it| footers.max(it));
            sketches.push(&column.distinct);
        }
        !sketches.is_empty() && less >= AGAIN * Sketch::count_of(sketches).max(footers)
    }

    /// Returns the approximate share of the rows that have one of the `most` most frequent values of a column; `None`
    /// if that is unknown.
    #[must_use]
    pub fn heaviest(&self, position: usize, most: usize) -> Option<f64> {
        let (mut rows, mut heavy) = (0.0, 0.0);
        for (object, column) in self.column(position) {
            // A footer says nothing about frequent values.
            if column.counted.is_some() {
                return None;
            }
            let mut shares: Vec<f64> = column.heavy.iter().map(|(_, share)| *share).collect();
            shares.sort_by(|a, b| b.total_cmp(a));
            rows += object.rows as f64;
            heavy += object.rows as f64 * shares.iter().take(most).sum::<f64>();
        }
        let share = heavy / rows;
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }

    /// Describes the source of the statistics: `ANALYZE of 4 of 4 objects`.
    #[must_use]
    pub fn origin(&self) -> impl fmt::Display {
        let of = |origin| self.objects.iter().filter(|it| it.origin == origin).count();
        let (analyzed, sampled) = (of(Origin::Analyze), of(Origin::Sample));
        match (analyzed, sampled) {
            (0, 0) => "the listing".to_owned(),
            (0, sampled) => format!("a sample of {sampled} of {} objects", self.count),
            (analyzed, 0) => format!("ANALYZE of {analyzed} of {} objects", self.count),
            (analyzed, sampled) => {
                format!("ANALYZE of {analyzed} and a sample of {sampled} of {} objects", self.count)
            }
        }
    }

    /// Returns the statistics that DataFusion plans with, all of them inexact.
    ///
    /// The least and greatest values are not included. If a filter leaves one value between them, DataFusion treats
    /// the column as constant and no longer sorts by it.
    fn offered(&self, config: &FileScanConfig) -> datafusion::common::Statistics {
        let mut statistics = config.statistics();
        let rows = self.rows();
        let inexact = |number: f64| Precision::Inexact(number.max(0.0).round() as usize);
        statistics.num_rows = inexact(rows);
        statistics.total_byte_size = inexact(self.bytes as f64);
        let wanted = config.file_source().projection().map(|it| it.column_indices());
        for position in 0..self.schema.fields().len() {
            let Some(column) = statistics.column_statistics.get_mut(position) else { continue };
            if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&position)) {
                continue;
            }
            if let Some(share) = self.nulls(position) {
                column.null_count = inexact(share * rows);
            }
            if let Some(distinct) = self.distinct(position) {
                column.distinct_count = inexact(distinct);
            }
            if let Some(width) = self.width(position) {
                column.byte_size = inexact(width * rows);
            }
        }
        statistics
    }
}

/// Describes the source of a scan's estimates.
#[must_use]
pub fn origin(config: &FileScanConfig, options: &ConfigOptions) -> String {
    if own_source(config).file_type() == "parquet" {
        return match (config.statistics().num_rows, footers::known(config)) {
            (Precision::Exact(_), _) => "the footers of all objects".to_owned(),
            (Precision::Inexact(_), (all, some)) if some < all => {
                format!("the footers of {some} of {all} objects")
            }
            (Precision::Inexact(_), _) => "footers".to_owned(),
            (Precision::Absent, _) => "the listing".to_owned(),
        };
    }
    let known = TableStatistics::for_scan(config, options).map(|table| table.origin().to_string());
    known.unwrap_or_else(|| "the listing".to_owned())
}

/// Estimates the number of distinct values in all rows if `seen` of them, drawn at random, have `distinct` values
/// that are equally frequent. For few rows the sketch is exact, so each repeated value indicates the total (as with
/// birthdays; Chao 1984 estimates from the values that occur once and twice). For more rows, the error of the sketch
/// hides some repetitions.
pub(super) fn of_all(distinct: f64, seen: f64, rows: f64) -> f64 {
    // The sketch may count more values than there are rows.
    if seen >= rows || distinct <= 0.0 {
        return distinct.min(rows);
    }
    let is_exact = seen <= EXACT;
    if is_exact && distinct.round() >= seen || !is_exact && distinct >= 0.97 * seen {
        return rows;
    }
    // For `all` values, `seen` rows are expected to have `all * (1 - exp(-seen / all))`.
    let (mut low, mut high) = (distinct, rows.max(distinct));
    for _ in 0..60 {
        let all = f64::midpoint(low, high);
        if all * (1.0 - (-seen / all).exp()) < distinct {
            low = all;
        } else {
            high = all;
        }
    }
    high.min(rows)
}

/// The maximum number of values that a sketch counts exactly.
const EXACT: f64 = 100.0;

/// Returns the assumed bytes of a record.
fn default_record_bytes(schema: &SchemaRef) -> f64 {
    10.0 * schema.fields().len().max(1) as f64
}

fn files(config: &FileScanConfig) -> impl Iterator<Item = &ObjectMeta> {
    config.file_groups.iter().flat_map(FileGroup::iter).map(actual_object)
}

/// The objects of a scan with their versions.
#[derive(Debug)]
pub(crate) struct Objects<'a> {
    /// Objects with an entity tag and data, sorted by name.
    pub(crate) objects: Vec<&'a ObjectMeta>,
    pub(crate) versions: Vec<Version>,
}

impl<'a> Objects<'a> {
    /// Returns the objects of a scan, if its endpoint and format are supported.
    pub(crate) fn for_scan(config: &'a FileScanConfig, options: &ConfigOptions) -> Option<Self> {
        let endpoint = Endpoints::from_options(options)?.serving(&config.object_store_url)?;
        let store = match endpoint.client.endpoint() {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("AWS, region {}", endpoint.client.region()),
        };
        let format = format_tag(config)?;
        let bucket = config.object_store_url.as_str().trim_end_matches('/');
        let mut objects: Vec<_> = files(config).filter(|object| object.size > 0).collect();
        objects.retain(|object| e_tag(object).is_some());
        objects.sort_by(|a, b| a.location.cmp(&b.location));
        objects.dedup_by(|a, b| a.location == b.location);
        let version = |object: &&ObjectMeta| Version {
            about: StatisticsKey {
                store: store.clone(),
                url: format!("{bucket}/{}", object.location),
                format: format.clone(),
            },
            e_tag: e_tag(object).unwrap_or_default().to_owned(),
            size: object.size,
        };
        Some(Self { versions: objects.iter().map(version).collect(), objects })
    }
}

/// Returns DataFusion's source of the files of a scan.
fn own_source(config: &FileScanConfig) -> &Arc<dyn FileSource> {
    let source = config.file_source();
    if let Some(select) = source.downcast_ref::<S3SelectSource>() {
        return select.get().source();
    }
    if let Some(turning) = source.downcast_ref::<AdaptiveSource>() {
        return turning.get();
    }
    source.downcast_ref::<IndexedSource>().map_or(source, IndexedSource::inner)
}

/// Returns a tag of the options that objects are read with, except for the types of columns.
fn format_tag(config: &FileScanConfig) -> Option<String> {
    let source = own_source(config);
    let named = source.downcast_ref::<LocatedSource>();
    let layout = named.map(LocatedSource::layout);
    let inner = named.map_or(source, LocatedSource::inner);
    let file_type = inner.file_type();
    let mut text = format!("{layout:?} {:?}", config.file_compression_type);
    if let Some(csv) = inner.downcast_ref::<CsvSource>() {
        // The wrapper that only adds object names to errors reads the same.
        text = format!(
            "{:?} {} {} {} {:?} {:?} {:?} {}",
            config.file_compression_type,
            csv.has_header(),
            csv.delimiter(),
            csv.quote(),
            csv.escape(),
            csv.comment(),
            csv.terminator(),
            csv.truncate_rows(),
        );
        if let Some(recoding) = named.and_then(LocatedSource::recoding) {
            text = format!("{text} {recoding}");
        }
    }
    Some(format!("{file_type} {}", Tag::hash(text.as_bytes())))
}

/// Returns the scan with statistics of its objects, which are sampled if there are none. Errors in stored statistics
/// do not affect the scan.
///
/// # Errors
///
/// If an object that is sampled cannot be read.
pub async fn attach(
    state: &dyn Session,
    plan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let config = plan
        .downcast_ref::<DataSourceExec>()
        .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
    let Some(config) = config else { return Ok(plan) };
    let options = state.config_options();
    // Parquet has statistics of its own.
    let is_read_whole =
        matches!(config.file_source().file_type(), "csv" | "json" | "arrow" | "avro");
    if !options.execution.collect_statistics || !is_read_whole {
        return Ok(plan);
    }
    let objects = match Objects::for_scan(config, options) {
        Some(table) => known(state, config, table).await?,
        None => Vec::new(),
    };
    let table = TableStatistics::new(config, objects);
    if table.bytes == 0 {
        return Ok(plan);
    }
    let offered = table.offered(config);
    let config = FileScanConfigBuilder::from(config.clone()).with_statistics(offered).build();
    Ok(DataSourceExec::from_data_source(config))
}

/// Returns the stored statistics of a table. Samples a few objects if fewer are known.
async fn known(
    state: &dyn Session,
    config: &FileScanConfig,
    table: Objects<'_>,
) -> Result<Vec<Option<Arc<ObjectStatistics>>>> {
    let ours = StatisticsCache::from_options(state.config_options()).cloned().unwrap_or_default();
    let versions = Arc::new(table.versions);
    let found = {
        let (ours, versions) = (ours.clone(), Arc::clone(&versions));
        SpawnedTask::spawn_blocking(move || ours.find(&versions)).await
    };
    let found = found.map_err(|error| exec_datafusion_err!("{error}"))?;
    if let (Some(note), Some(notes)) = (found.note, state.config().get_extension::<Notes>()) {
        notes.add(note);
    }
    let mut objects = found.objects;
    let there = objects.iter().flatten().count();
    let missing: Vec<usize> =
        (0..objects.len()).filter(|number| objects[*number].is_none()).collect();
    let budget = OBJECTS.saturating_sub(there).min(missing.len());
    let Some(sampling) = Sampling::for_scan(config).filter(|_| budget > 0) else {
        return Ok(objects);
    };
    // The sampled objects are spread over the names, which are often dates.
    let chosen: Vec<usize> =
        (0..budget).map(|look| missing[look * missing.len() / budget]).collect();
    let looked =
        chosen.iter().map(|number| (table.objects[*number].clone(), versions[*number].clone()));
    let bytes = table.objects.iter().map(|object| object.size).sum();
    let store = state.runtime_env().object_store(&config.object_store_url)?;
    for object in sampling.read_sample(&store, looked.collect(), bytes).await? {
        if let Err(error) = ours.keep(object.clone()) {
            tracing::info!(%error, "statistics cannot be kept");
        }
        let place = versions.iter().position(|version| version.about == object.about);
        if let Some(place) = place {
            objects[place] = Some(Arc::new(object));
        }
    }
    Ok(objects)
}

/// Returns the approximate number of distinct values in some objects by their footers. Objects have values of their own
/// if these are almost all different, or between other bounds. Otherwise the values of one object are assumed to be
/// among those of another.
fn of_footers<'a>(
    columns: impl Iterator<Item = (&'a ObjectStatistics, &'a ColumnStatistics)>,
) -> f64 {
    /// The share of the rows from which values are taken for keys.
    const KEYS: f64 = 0.9;
    let mut known: Vec<_> = columns.filter(|(_, column)| column.counted.is_some()).collect();
    known.sort_by(|(_, a), (_, b)| a.min.partial_cmp(&b.min).unwrap_or(Ordering::Equal));
    let are_apart = known.windows(2).all(|pair| pair[0].1.max < pair[1].1.min);
    let are_keys =
        known.iter().all(|(object, column)| column.distinct_values() >= KEYS * object.rows as f64);
    let values = known.iter().map(|(_, column)| column.distinct_values());
    if are_apart || are_keys { values.sum() } else { values.fold(0.0, f64::max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_values_of_all_rows_follow_from_those_of_some() {
        let near = |expected: f64, actual: f64| (actual / expected - 1.0).abs() < 0.05;
        // All rows differ, or all values were seen.
        assert_eq!(of_all(1000.0, 1000.0, 1e6), 1e6);
        assert!(near(10.0, of_all(10.0, 1000.0, 1e6)));
        // 1000 rows of 2000 values have 2000 * (1 - exp(-1/2)) of them.
        assert!(near(2000.0, of_all(786.9, 1000.0, 1e6)));
        assert_eq!(of_all(1100.0, 1000.0, 1000.0), 1000.0);
        assert_eq!(of_all(0.0, 10.0, 100.0), 0.0);
    }

    #[test]
    fn objects_have_keys_and_ranges_of_their_own() {
        let distinct = |columns: &[(i64, i64, f64)]| {
            let objects: Vec<(ObjectStatistics, ColumnStatistics)> = columns
                .iter()
                .map(|(min, max, counted)| {
                    let column = ColumnStatistics {
                        min: Some((*min).into()),
                        max: Some((*max).into()),
                        counted: Some(*counted),
                        ..ColumnStatistics::none()
                    };
                    (ObjectStatistics { rows: 1000, ..ObjectStatistics::none() }, column)
                })
                .collect();
            of_footers(objects.iter().map(|(object, column)| (object, column)))
        };
        // The same values in each object.
        assert_eq!(distinct(&[(0, 99, 100.0), (0, 98, 90.0)]), 100.0);
        // Ranges of their own, in any order.
        assert_eq!(distinct(&[(200, 299, 100.0), (0, 99, 100.0), (100, 199, 50.0)]), 250.0);
        // Keys.
        assert_eq!(distinct(&[(0, 9000, 1000.0), (5, 9001, 950.0)]), 1950.0);
        assert_eq!(distinct(&[]), 0.0);
    }
}
