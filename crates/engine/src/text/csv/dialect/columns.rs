//! Infers the columns of CSV objects from their first records.

use std::sync::Arc;

use arrow::datatypes::{DataType, Fields, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::file_format::DEFAULT_SCHEMA_INFER_MAX_RECORD;
use datafusion::datasource::file_format::csv::CsvFormat;
use futures::future::join_all;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use super::column_names::called;
use super::headers::has_header;
use super::prefix::TextPrefix;
use super::undetectable;
use super::{invalid_dates, numeric_dates, unsigned_numbers};
use crate::context::notes::Notes;
use crate::text::csv::options::Values;
use crate::text::merged_columns::MergedColumns;
use crate::text::sniff_cache::SniffOrder;

/// Infers the common columns of objects, in the order of the first object. `values` are the options for parsing text.
///
/// DataFusion's own inference merges two columns without a name, and refuses whole numbers in one object and
/// fractions in the next.
///
/// # Errors
///
/// The fault of the first object that has one, with a hint.
pub(super) async fn infer_schema(
    state: &dyn Session,
    csv: &CsvFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    values: &Values,
) -> Result<SchemaRef> {
    let options = csv.options();
    let mut left = options.schema_infer_max_rec.unwrap_or(DEFAULT_SCHEMA_INFER_MAX_RECORD);
    let mut columns = MergedColumns::of_csv();
    let mut looks = SniffOrder::new(objects);
    // Even if no record may be read, the header of the first object gives the names.
    while let Some(some) = looks.next(left) {
        let mut read = Vec::with_capacity(some.len());
        for object in some {
            read.push(of_object((state, values), csv, store, object, left));
        }
        for (object, read) in some.iter().zip(join_all(read).await) {
            let (schema, records) = read.map_err(|error| undetectable::named(error, object))?;
            columns.add(object, &with_names(&schema))?;
            left = left.saturating_sub(records);
            looks.insert(records);
            if left == 0 {
                break;
            }
        }
        if left == 0 {
            break;
        }
    }
    let notes = state.config().get_extension::<Notes>().unwrap_or_default();
    columns.take_widened().into_iter().for_each(|note| notes.add(note));
    Ok(Arc::new(columns.into_schema()))
}

/// Returns the columns of an object by at most `most` records, and the number of these records.
async fn of_object(
    (state, values): (&dyn Session, &Values),
    csv: &CsvFormat,
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
    most: usize,
) -> Result<(Schema, usize)> {
    let read = async {
        let bytes = store.get(&object.location).await?.into_stream();
        let mut beginning =
            TextPrefix::new(csv.options(), bytes.map_err(DataFusionError::from).boxed());
        // One record more may be the header.
        let mut wanted = most.saturating_add(1);
        loop {
            beginning.read(wanted).await?;
            let text = beginning.records();
            let parts = stream::iter([Ok(text.clone())]);
            let (schema, records) = csv.infer_schema_from_stream(state, most, parts).await?;
            if records >= most || beginning.is_enough() {
                let has_header = has_header(state, csv.options());
                let options = csv.options();
                let schema = invalid_dates::checked(schema, options, has_header, &text, most)?;
                let schema =
                    numeric_dates::found(schema, values, options, has_header, &text, most)?;
                let schema = unsigned_numbers::found(schema, options, has_header, &text, most)?;
                return Ok((schema, records));
            }
            // Some of the lines were comments.
            wanted = wanted.saturating_add(most - records);
        }
    };
    let named = format!("Error when processing CSV file {}", object.location);
    read.await.map_err(|error: DataFusionError| error.context(named))
}

/// Makes the names of columns unique and gives times fractions of a second.
fn with_names(schema: &Schema) -> Schema {
    let names = called(schema.fields().iter().map(|field| field.name()));
    let fields = schema.fields().iter().zip(names);
    let fields = fields.map(|(field, name)| match *field.name() == name {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_name(name)),
    });
    let fields = fields.map(|field| match field.data_type() {
        // Later times may have fractions of a second, which the reader would drop.
        DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, zone) => {
            let times = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            Arc::new(field.as_ref().clone().with_data_type(times))
        }
        _ => field,
    });
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}
