//! Headers of CSV files whose table declares its columns.

use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::listing::{ListingTable, ListingTableUrl};
use datafusion::logical_expr::CreateExternalTable;
use futures::TryStreamExt;
use object_store::ObjectMeta;

use crate::catalog::external_tables::objects_read;
use crate::catalog::formats::S3Format;
use crate::context::notes::Notes;
use crate::text::csv::dialect;
use crate::text::csv::dialect::headers;

/// Returns the declared columns without partition columns.
fn declared(command: &CreateExternalTable) -> Vec<String> {
    let names = command.schema.fields().iter().map(|field| field.name());
    names.filter(|name| !command.table_partition_cols.contains(name)).cloned().collect()
}

/// Adds the option for files without a header, if the table declares columns and its first file begins with a row of
/// values. Returns none if the file has a header, or the command sets the option.
///
/// # Errors
///
/// If the location cannot be listed, or the file cannot be read.
pub(crate) async fn without_header(
    state: &dyn Session,
    command: &CreateExternalTable,
    table: &ListingTable,
) -> Result<Option<CreateExternalTable>> {
    let (declared, format) = (declared(command), table.options().format.downcast_ref::<S3Format>());
    let Some((format, location)) =
        format.zip(table.table_paths().first()).filter(|_| !declared.is_empty())
    else {
        return Ok(None);
    };
    let store = state.runtime_env().object_store(location)?;
    let (format, text) = format.text_of(&store);
    let Some(csv) = format.downcast_ref::<CsvFormat>() else { return Ok(None) };
    let there = location.list_all_files(state, store.as_ref(), "").await?;
    let there: Vec<ObjectMeta> = there.try_collect().await?;
    let mut read = objects_read(state, table, location, &there);
    read.retain(|object| object.size > 0);
    read.truncate(1);
    let Some(row) = dialect::row_first(state, csv, &text, &read, &declared).await? else {
        return Ok(None);
    };
    let notes = state.config().get_extension::<Notes>().unwrap_or_default();
    notes.add(format!(
        "table {} has no header: its first line ({row}) is read as a row; OPTIONS ('format.has_header' 'true') takes \
         it for the names of its columns",
        command.name
    ));
    let mut command = command.clone();
    command.options.insert("format.has_header".to_owned(), "false".to_owned());
    Ok(Some(command))
}

/// Compares the headers of CSV objects at a location with the columns that the table declares.
///
/// # Errors
///
/// If columns of an object are in other places, or an object cannot be read.
pub(crate) async fn check_headers(
    state: &dyn Session,
    command: &CreateExternalTable,
    table: &ListingTable,
    location: &ListingTableUrl,
    read: &[ObjectMeta],
) -> Result<()> {
    let (declared, format) = (declared(command), table.options().format.downcast_ref::<S3Format>());
    let format = format.filter(|format| !declared.is_empty() && !format.reads_by_name());
    let Some(format) = format else { return Ok(()) };
    let objects: Vec<ObjectMeta> = read.iter().filter(|object| object.size > 0).cloned().collect();
    let (format, store) = format.text_of(&state.runtime_env().object_store(location)?);
    match format.downcast_ref::<CsvFormat>() {
        Some(csv) => {
            let some = &objects[..objects.len().min(headers::MOST)];
            headers::check_declared(state, csv, &store, some, &declared).await
        }
        None => Ok(()),
    }
}
