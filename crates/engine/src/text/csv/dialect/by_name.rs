//! Infers the columns of CSV files whose headers differ, for `union_by_name`.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{ObjectMeta, ObjectStore};

use super::headers::{check_headers, has_header, named};
use super::inferred;
use crate::context::notes::Notes;
use crate::text::csv::options::Values;
use crate::text::merged_columns::MergedColumns;
use crate::text::sampled_schema::with_text_for_nothing;

/// The number of objects that are read concurrently.
const AT_ONCE: usize = 32;

/// Returns the columns of all files, in the order in which they first appear. The header of each file is read. Files
/// with the same header are sampled together.
///
/// # Errors
///
/// If the files have no headers, an object cannot be read, or a column has incompatible types.
pub(super) async fn columns(
    state: &dyn Session,
    format: &Arc<dyn FileFormat>,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    values: &Values,
) -> Result<SchemaRef> {
    let options = match format.downcast_ref::<CsvFormat>() {
        Some(csv) if has_header(state, csv.options()) => csv.options(),
        _ => {
            return plan_err!(
                "union_by_name finds columns by the names in the header of each file, and the files are read without \
                 headers"
            );
        }
    };
    let looks: Vec<_> =
        objects.iter().map(|object| check_headers(store, object, options)).collect();
    let headers: Vec<_> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
    let mut groups: Vec<(Arc<[String]>, Vec<ObjectMeta>)> = Vec::new();
    for (object, header) in objects.iter().zip(headers) {
        let Some(header) = header.map(|header| named(&header)) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == header) {
            Some((_, alike)) => alike.push(object.clone()),
            None => groups.push((header, vec![object.clone()])),
        }
    }
    let samples: Vec<_> =
        groups.iter().map(|(_, alike)| inferred(state, format, store, alike, values)).collect();
    let samples: Vec<SchemaRef> = stream::iter(samples).buffered(AT_ONCE).try_collect().await?;
    let mut columns = MergedColumns::of_csv_by_name();
    for ((_, alike), schema) in groups.iter().zip(samples) {
        if let [first, ..] = alike.as_slice() {
            columns.add(first, &schema)?;
        }
    }
    let notes = state.config().get_extension::<Notes>().unwrap_or_default();
    columns.take_widened().into_iter().for_each(|note| notes.add(note));
    Ok(with_text_for_nothing(&Arc::new(columns.into_schema())))
}
