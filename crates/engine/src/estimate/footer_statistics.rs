//! The statistics of a Parquet object, exact only where its footer proves them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{ColumnStatistics, Result, Statistics};
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use object_store::{ObjectMeta, ObjectStore};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::context::panics;
use crate::estimate::statistics::cache::StatisticsCache;
use crate::scan::stored_types::StoredTypes;

/// Marks the statistics that DataFusion derived from a footer as inexact where the footer does not prove them.
///
/// DataFusion uses the bounds of those row groups that have any as bounds of the whole object. It treats a column
/// without statistics as all NULL, reads bounds as the type that the table declares, and assumes that floating-point
/// bounds cover NaN. With such numbers it would answer MIN, MAX and COUNT wrongly and leave out objects that have
/// matching rows. Inexact statistics are still used for estimates.
pub(crate) async fn trusted_statistics(
    statistics: Statistics,
    state: &dyn Session,
    store: &Arc<dyn ObjectStore>,
    declared: &SchemaRef,
    object: &ObjectMeta,
) -> Statistics {
    // It was read a moment ago.
    let footer = cached_footer(state, store, object).await.ok();
    if let (Some(footer), Some(known)) =
        (&footer, StatisticsCache::from_options(state.config_options()))
    {
        // Statistics only estimate, so bounds that the reader panics on are left out.
        let remember = async {
            known.stored().insert(object, footer, declared, &statistics);
            Ok(())
        };
        let _ = panics::footer(object, remember).await;
    }
    exclude_untrusted(statistics, footer.as_deref(), declared)
}

/// Returns the footer of a Parquet object, which is read if it is not cached.
///
/// # Errors
///
/// If it cannot be read.
pub(crate) async fn cached_footer(
    state: &dyn Session,
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
) -> Result<Arc<ParquetMetaData>> {
    let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
    let footer = DFParquetMetadata::new(store.as_ref(), object);
    footer.with_file_metadata_cache(Some(cache)).fetch_metadata().await
}

fn exclude_untrusted(
    mut statistics: Statistics,
    footer: Option<&ParquetMetaData>,
    declared: &SchemaRef,
) -> Statistics {
    let stored = footer.and_then(|footer| Some((footer, StoredTypes::from_footer(footer).ok()?)));
    // All row groups have the columns of the schema, in the same order.
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, leaf) in
        footer.iter().flat_map(|it| it.file_metadata().schema_descr().columns()).enumerate()
    {
        if let [name] = leaf.path().parts() {
            places.entry(name).or_insert(place);
        }
    }
    let all_as_declared = stored.as_ref().is_some_and(|(_, stored)| {
        declared.fields().iter().all(|field| stored.check(field).is_ok())
    });
    for (column, field) in statistics.column_statistics.iter_mut().zip(declared.fields()) {
        let told = stored.as_ref().is_some_and(|(footer, stored)| {
            stored.check(field).is_ok()
                && places.get(field.name().as_str()).is_some_and(|place| {
                    footer.row_groups().iter().all(|group| is_known(group, *place))
                })
        });
        if !told {
            column.null_count = std::mem::take(&mut column.null_count).to_inexact();
        }
        // DataFusion replaces a column that has only one value by that value, and then removes the cast of a column
        // that is stored as another type: for 1.237 declared as a whole number, `1 = b` would be false.
        if !told || !all_as_declared || field.data_type().is_floating() {
            exclude_bounds(column);
        }
    }
    statistics
}

fn exclude_bounds(column: &mut ColumnStatistics) {
    for bound in [&mut column.min_value, &mut column.max_value] {
        *bound = std::mem::take(bound).to_inexact();
    }
}

/// Returns true if a row group has the bounds and the NULL count of a column.
fn is_known(group: &RowGroupMetaData, place: usize) -> bool {
    let chunk = group.columns().get(place);
    let Some(statistics) = chunk.and_then(|chunk| chunk.statistics()) else { return false };
    let Some(nulls) = statistics.null_count_opt() else { return false };
    let all_null = i64::try_from(nulls).is_ok_and(|nulls| nulls == group.num_rows());
    let bounds = statistics.min_bytes_opt().is_some() && statistics.max_bytes_opt().is_some();
    // The first Parquet writers compared text as signed bytes.
    let comparable =
        !statistics.is_min_max_deprecated() || statistics.is_min_max_backwards_compatible();
    all_null || (bounds && comparable)
}
