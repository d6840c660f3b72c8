//! CREATE EXTERNAL TABLE: DataFusion's tables of files, with notes or corrections where DataFusion would silently
//! ignore something.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{
    Column, DataFusionError, Result, ToDFSchema, plan_datafusion_err, plan_err,
};
use datafusion::datasource::listing::{ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{CreateExternalTable, Expr};
use futures::TryStreamExt;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::catalog::declared_headers::{check_headers, without_header};
use crate::catalog::declared_names;
use crate::catalog::delta;
use crate::catalog::files_table::FilesTable;
use crate::catalog::formats::S3Format;
use crate::catalog::listing_filter::ListingFilter;
use crate::catalog::locations::{as_url, check_readable};
use crate::catalog::partitions::{Partitions, inferred};
use crate::catalog::separators;
use crate::catalog::table_columns::TableColumns;
use crate::catalog::url_tables::{check_kinds, check_options, of_bucket};
use crate::context::file_names::{ARROW, COMPRESSIONS, TABS};
use crate::context::listing::{implies_format, is_hidden, with_subfolders};
use crate::context::not_found::nothing_at;
use crate::context::notes::{Notes, some_of};
use crate::index::discovery::ExpectedListing;
use crate::text::csv::options;
use crate::text::csv::options::Values;
use crate::{ErrorKind, UserError};

/// Makes tables of files.
#[derive(Debug, Default)]
pub struct ExternalTables {
    inner: DefaultTableFactory,
}

/// The kinds of tables, as STORED AS names them.
pub const KINDS: [&str; 10] =
    ["CSV", "JSON", "JSONL", "NDJSON", "PARQUET", "ARROW", "AVRO", "DELTA", "FEATHER", "IPC"];

#[async_trait]
impl TableProviderFactory for ExternalTables {
    async fn create(
        &self,
        state: &dyn Session,
        command: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        if command.locations.iter().any(String::is_empty) {
            return plan_err!("LOCATION is empty");
        }
        command.locations.iter().try_for_each(|location| check_readable(location))?;
        if command.file_type.eq_ignore_ascii_case(delta::KIND) {
            return delta::declared(state, command).await;
        }
        let buckets: Vec<_> = command.locations.iter().map(|url| of_bucket(url)).collect();
        if buckets.iter().any(Option::is_some) {
            let whole = buckets.into_iter().zip(command.locations.clone());
            let locations = whole.map(|(bucket, url)| bucket.unwrap_or(url)).collect();
            return self.create(state, &CreateExternalTable { locations, ..command.clone() }).await;
        }
        let in_folder = command.locations.iter().any(|location| location.ends_with('/'));
        let listed = in_folder.then(|| ListingFilter::of_kind(&command.file_type));
        let session = state.as_any().downcast_ref::<SessionState>();
        let seen = session.zip(listed.as_ref()).map(|(session, listed)| listed.session(session));
        let seen = seen.transpose()?;
        let state = seen.as_ref().map_or(state, |seen| seen as &dyn Session);
        check_folders(state, command).await?;
        let named = as_named(state, command).await?;
        let command = named.as_ref().unwrap_or(command);
        let separated = separators::told(state, command).await?;
        let command = separated.as_ref().unwrap_or(command);
        let partitions = partitions(state, command).await?;
        let mut files = of_files(command, &partitions)?;
        files.locations = files
            .locations
            .iter()
            .map(|url| Ok(without_escaped_end(&as_url(url)?)))
            .collect::<Result<_>>()?;
        let told = without_inferred_partitions(state);
        let inner = told.as_ref().map_or(state, |told| told as &dyn Session);
        let table = match self.inner.create(inner, &files).await {
            Ok(table) => table,
            Err(error) => return Err(no_columns(state, command, &error).await?.unwrap_or(error)),
        };
        let Some(listing) = table.downcast_ref::<ListingTable>() else { return Ok(table) };
        if let Some(without) = without_header(state, command, listing).await? {
            return self.create(state, &without).await;
        }
        let (indexes, objects) = sniff(state, command, listing).await?;
        let is_declared = !command.schema.fields().is_empty();
        let mut called = HashMap::new();
        if !files.schema.fields().is_empty() && !command.file_type.eq_ignore_ascii_case("csv") {
            let names = files.schema.fields().iter().map(|field| field.name().clone());
            let names: Vec<String> = names.collect();
            called = declared_names::in_files(state, listing, &objects, &names).await?;
        }
        let listing = match called.is_empty() {
            true => listing.clone(),
            false => called_as_in_files(state, &files, listing, &called)?,
        };
        let text = as_text(state, &listing, &partitions)?;
        let files = text.as_ref().map_or(listing, |text| text.files.clone());
        let columns = TableColumns::new(files.schema(), partitions, &called);
        let table = FilesTable::new(state, files, columns, indexes)?.listed(listed);
        let table = Arc::new(table.declared(is_declared));
        match text {
            Some(text) => options::table(table, &text.values, &text.columns),
            None => Ok(table),
        }
    }
}

/// Returns the partition columns of a table: the declared ones, or else those that the folders of all objects name.
///
/// # Errors
///
/// If the table declares its columns, but not a partition column, or a location cannot be listed.
async fn partitions(state: &dyn Session, command: &CreateExternalTable) -> Result<Partitions> {
    let declared = &command.table_partition_cols;
    if !declared.is_empty() {
        let schema = command.schema.inner();
        let column = |name: &String| {
            let data_type = match schema.column_with_name(name) {
                Some((_, field)) => field.data_type().clone(),
                None if schema.fields().is_empty() => inferred_partition_type(),
                None => {
                    return plan_err!(
                        "PARTITIONED BY names `{name}`, which is none of the declared columns; declare it, too"
                    );
                }
            };
            Ok((name.clone(), data_type))
        };
        return Ok(Partitions::new(declared.iter().map(column).collect::<Result<Vec<_>>>()?));
    }
    let (Some(session), Some(location)) =
        (state.as_any().downcast_ref::<SessionState>(), command.locations.first())
    else {
        return Ok(Partitions::default());
    };
    let infers = session.config_options().execution.listing_table_factory_infer_partitions;
    if !infers || !command.schema.fields().is_empty() || !location.ends_with('/') {
        return Ok(Partitions::default());
    }
    let folder = ListingTableUrl::parse(as_url(location)?)?;
    let there = below(session, command, location).await?;
    let (found, note) = inferred::columns(&folder, &there);
    let notes = state.config().get_extension::<Notes>().unwrap_or_default();
    note.into_iter().for_each(|note| notes.add(note));
    let as_text = found.as_text().into_iter().map(|(name, _)| (name, inferred_partition_type()));
    Ok(Partitions::new(as_text))
}

/// Escapes the dots of a URL's last segment if the segment is escaped. DataFusion would otherwise take the escaped
/// end of the name for a file extension, and look for it in keys, which are not escaped.
fn without_escaped_end(url: &str) -> String {
    match url.rsplit_once('/') {
        Some((folder, name)) if url.contains("://") && name.contains('%') => {
            format!("{folder}/{}", name.replace('.', "%2E"))
        }
        _ => url.to_owned(),
    }
}

/// Returns the command without its partition columns. If no other columns are declared, they are inferred.
fn of_files(command: &CreateExternalTable, partitions: &Partitions) -> Result<CreateExternalTable> {
    let schema = command.schema.inner();
    let fields = schema.fields().iter().filter(|field| !partitions.has(field.name()));
    let fields: Vec<Arc<Field>> = fields.map(Arc::clone).collect();
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone()).to_dfschema_ref()?;
    Ok(CreateExternalTable { schema, table_partition_cols: Vec::new(), ..command.clone() })
}

/// Returns the session with DataFusion's inference of partition columns turned off.
fn without_inferred_partitions(state: &dyn Session) -> Option<SessionState> {
    let mut state = state.as_any().downcast_ref::<SessionState>()?.clone();
    let options = state.config_mut().options_mut();
    options.execution.listing_table_factory_infer_partitions = false;
    Some(state)
}

/// Renames the columns of a table to the names in its files.
fn called_as_in_files(
    state: &dyn Session,
    command: &CreateExternalTable,
    table: &ListingTable,
    called: &HashMap<String, String>,
) -> Result<ListingTable> {
    let in_files: HashMap<&String, &String> =
        called.iter().map(|(file, declared)| (declared, file)).collect();
    let named = |name: &String| in_files.get(name).map_or(name, |file| file).to_owned();
    let schema = table.schema();
    let fields = schema.fields().iter().map(|field| {
        let name = named(field.name());
        Arc::new(field.as_ref().clone().with_name(name))
    });
    let fields: Vec<Arc<Field>> = fields.collect();
    let mut options = table.options().clone();
    for sort in options.file_sort_order.iter_mut().flatten() {
        let expr = sort.expr.clone().transform(|part| match part {
            Expr::Column(column) => {
                Ok(Transformed::yes(Expr::Column(Column::from_name(named(&column.name)))))
            }
            other => Ok(Transformed::no(other)),
        });
        sort.expr = expr.data()?;
    }
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let config = ListingTableConfig::new_with_multi_paths(table.table_paths().clone())
        .with_listing_options(options)
        .with_schema(schema);
    let cache = state.runtime_env().cache_manager.get_file_statistic_cache();
    Ok(ListingTable::try_new(config)?
        .with_cache(cache)
        .with_definition(command.definition.clone())
        .with_constraints(command.constraints.clone())
        .with_column_defaults(command.column_defaults.clone()))
}

/// A table of files that reads computed columns as text.
pub(crate) struct TextColumnsTable {
    pub(crate) files: ListingTable,
    /// The options that compute values from the text.
    pub(crate) values: Values,
    /// The columns of the files, without partition columns, with their computed types.
    pub(crate) columns: Schema,
}

/// Returns the table with text in its computed columns, or `None` if it computes no column from text.
pub(crate) fn as_text(
    state: &dyn Session,
    table: &ListingTable,
    partitions: &Partitions,
) -> Result<Option<TextColumnsTable>> {
    let options = table.options();
    let values = match options.format.downcast_ref::<S3Format>() {
        Some(format) => format.values().clone(),
        None => return Ok(None),
    };
    let schema = table.schema();
    let Some(text) = options::reads_text(&values, &schema) else { return Ok(None) };
    let columns = schema.fields().iter().filter(|field| !partitions.has(field.name()));
    let columns: Vec<Arc<Field>> = columns.map(Arc::clone).collect();
    let columns = Schema::new_with_metadata(columns, schema.metadata().clone());
    // Text sorts differently from the values that it stands for.
    let options = options.clone().with_file_sort_order(Vec::new());
    let config = ListingTableConfig::new_with_multi_paths(table.table_paths().clone())
        .with_listing_options(options)
        .with_schema(text);
    let cache = state.runtime_env().cache_manager.get_file_statistic_cache();
    let files = ListingTable::try_new(config)?.with_cache(cache);
    Ok(Some(TextColumnsTable { files, values, columns }))
}

/// Refuses folders in which DataFusion would also read objects of other formats.
///
/// # Errors
///
/// If there is such a folder, or it cannot be listed.
async fn check_folders(state: &dyn Session, command: &CreateExternalTable) -> Result<()> {
    let Some(session) = state.as_any().downcast_ref::<SessionState>() else { return Ok(()) };
    let format = match command.file_type.to_ascii_lowercase() {
        lines if ["ndjson", "jsonl"].contains(&lines.as_str()) => "json".to_owned(),
        arrow if ARROW.contains(&arrow.as_str()) => ARROW[0].to_owned(),
        other => other,
    };
    for location in command.locations.iter().filter(|location| location.ends_with('/')) {
        // In local folders, DataFusion selects objects by their names.
        let folder = ListingTableUrl::parse(as_url(location)?)?;
        let ignored = session.config_options().execution.listing_table_ignore_subdirectory;
        let mut there = below(session, command, location).await?;
        there.retain(|object| folder.contains(&object.location, ignored));
        match folder.is_folder() {
            true => check_options(session, location, &there, &format)?,
            false => check_kinds(session, location, &there, &format)?,
        }
    }
    Ok(())
}

/// Explains why the columns of a folder cannot be inferred. Returns none unless the folder has no objects, or none
/// that the table reads.
async fn no_columns(
    state: &dyn Session,
    command: &CreateExternalTable,
    error: &DataFusionError,
) -> Result<Option<DataFusionError>> {
    let Some(session) = state.as_any().downcast_ref::<SessionState>() else { return Ok(None) };
    let [location] = command.locations.as_slice() else { return Ok(None) };
    if !location.ends_with('/') {
        let is_missing = error.to_string().contains("No files found at ");
        return Ok(is_missing.then(|| no_object(location)));
    }
    let there = below(session, command, location).await?;
    let names: Vec<&Path> = there.iter().map(|object| &object.location).collect();
    if names.is_empty() && command.schema.fields().is_empty() {
        let told = UserError {
            kind: ErrorKind::NotFound,
            message: format!(
                "there is no object at {location} that would tell the columns of table {}",
                command.name
            ),
            hint: Some(format!(
                "Check the location, or declare the columns: CREATE EXTERNAL TABLE {} (…).",
                command.name
            )),
        };
        return Ok(Some(told.into()));
    }
    if !names.is_empty() {
        let folder = ListingTableUrl::parse(as_url(location)?)?;
        let checked = check_partitions(command, (location, &folder), &there, &Notes::default());
        if let Err(error) = checked {
            return Ok(Some(error));
        }
    }
    if names.is_empty() || names.iter().any(|name| implies_format(name, &command.file_type)) {
        let folder = ListingTableUrl::parse(as_url(location)?)?;
        if names.is_empty() || names.iter().any(|name| folder.contains(name, true)) {
            return Ok(None);
        }
        let told = UserError {
            kind: ErrorKind::NotFound,
            message: format!(
                "there is no object in {location} itself, only in its subfolders: {}",
                some_of(&names)
            ),
            hint: Some(format!("Name one of them, or read all: SET {SUBFOLDERS}.")),
        };
        return Ok(Some(told.into()));
    }
    Ok(Some(plan_datafusion_err!(
        "there is no {} at {location}: by their names, its objects are others: {}",
        command.file_type.to_ascii_uppercase(),
        some_of(&names)
    )))
}

/// Lists the objects with data below a folder, including subfolders.
pub(super) async fn below(
    session: &SessionState,
    command: &CreateExternalTable,
    location: &str,
) -> Result<Vec<ObjectMeta>> {
    let folder = ListingTableUrl::parse(as_url(location)?)?.with_table_ref(command.name.clone());
    let store = session.runtime_env().object_store(&folder)?;
    let everything = with_subfolders(session);
    let there = folder.list_all_files(&everything, store.as_ref(), "").await?;
    let mut there: Vec<ObjectMeta> = there.try_collect().await?;
    there.retain(|object| object.size > 0 && !is_hidden(&object.location));
    Ok(there)
}

/// Adds the compression and the tab delimiter that object names imply, unless the command sets these options. Returns
/// none if nothing is added.
async fn as_named(
    state: &dyn Session,
    command: &CreateExternalTable,
) -> Result<Option<CreateExternalTable>> {
    let is_said = |option: &str| {
        command.options.keys().any(|name| name.to_ascii_lowercase().ends_with(option))
    };
    let kind = command.file_type.to_ascii_lowercase();
    let [location] = command.locations.as_slice() else { return Ok(None) };
    if is_said("compression") && is_said("delimiter")
        || !["csv", "json", "jsonl", "ndjson"].contains(&kind.as_str())
    {
        return Ok(None);
    }
    let in_folder = location.ends_with('/');
    let names: Vec<String> = if in_folder {
        let Some(session) = state.as_any().downcast_ref::<SessionState>() else { return Ok(None) };
        let there = below(session, command, location).await?;
        there.iter().map(|object| object.location.as_ref().to_ascii_lowercase()).collect()
    } else {
        vec![location.to_ascii_lowercase()]
    };
    let all_end = |end: &str| !names.is_empty() && names.iter().all(|name| name.ends_with(end));
    let tabs = format!(".{TABS}");
    let mut named = command.clone();
    for (suffix, compression) in [("", "")].iter().chain(&COMPRESSIONS) {
        // A single object may have any extension before its compression suffix.
        let of_format = if in_folder { format!(".{kind}{suffix}") } else { (*suffix).to_owned() };
        let has_tabs = kind == "csv" && all_end(&format!("{tabs}{suffix}"));
        let says_compression = !suffix.is_empty() && (has_tabs || all_end(&of_format));
        if says_compression && !is_said("compression") {
            named.options.insert("format.compression".to_owned(), (*compression).to_owned());
        }
        if has_tabs && !is_said("delimiter") {
            named.options.insert("format.delimiter".to_owned(), "\t".to_owned());
        }
    }
    Ok((named.options != command.options).then_some(named))
}

/// Returns the error for a location without an object of its name.
fn no_object(location: &str) -> DataFusionError {
    if !location.contains(['*', '?', '[']) {
        return nothing_at(location);
    }
    UserError {
        kind: ErrorKind::NotFound,
        message: format!("there is no object at {location}: a LOCATION takes no pattern"),
        hint: Some(format!("Write CREATE VIEW … AS FROM '{location}'.")),
    }
    .into()
}

/// Checks that objects are in folders of the declared partitions, because DataFusion reads no others. Notes those
/// that are not.
///
/// # Errors
///
/// If none of the objects is in such a folder.
fn check_partitions(
    command: &CreateExternalTable,
    (location, folder): (&str, &ListingTableUrl),
    there: &[ObjectMeta],
    notes: &Notes,
) -> Result<()> {
    let columns = &command.table_partition_cols;
    if columns.is_empty() {
        return Ok(());
    }
    let is_data = |object: &&ObjectMeta| object.size > 0 && !is_hidden(&object.location);
    let there: Vec<&Path> = there.iter().filter(is_data).map(|object| &object.location).collect();
    let is_outside = |path: &&&Path| {
        let mut parts = folder.strip_prefix(path).into_iter().flatten();
        let is_in = |column: &String| {
            let name = parts.next().and_then(|part| part.split_once('=')).map(|(name, _)| name);
            name == Some(column.as_str())
        };
        !columns.iter().all(is_in)
    };
    let outside: Vec<&Path> = there.iter().filter(is_outside).copied().collect();
    if outside.is_empty() {
        return Ok(());
    }
    let expected: String = columns.iter().map(|column| format!("{column}=…/")).collect();
    if outside.len() == there.len() {
        let message = format!(
            "table {} is partitioned by {}, and no object at {location} is in a folder {expected}: there are {}",
            command.name,
            columns.join(", "),
            some_of(&outside)
        );
        let slash = if location.ends_with('/') { "" } else { "/" };
        let hint = format!(
            "Write the objects to {location}{slash}{expected}, as COPY … PARTITIONED BY ({}) does; or leave PARTITIONED \
             BY out.",
            columns.join(", ")
        );
        return Err(UserError { kind: ErrorKind::Plan, message, hint: Some(hint) }.into());
    }
    notes.add(format!(
        "table {} does not read {}: only what is in folders {expected}",
        command.name,
        some_of(&outside)
    ));
    Ok(())
}

/// Returns a note on a table whose objects are all empty.
pub(crate) fn without_bytes(location: &str) -> String {
    format!("what is at {location} has no bytes: as a table, it has neither columns nor rows")
}

/// Returns the objects at a location that its table reads.
pub(crate) fn objects_read(
    state: &dyn Session,
    table: &ListingTable,
    location: &ListingTableUrl,
    there: &[ObjectMeta],
) -> Vec<ObjectMeta> {
    let ignored = state.config_options().execution.listing_table_ignore_subdirectory;
    let is_read = |object: &&ObjectMeta| {
        object.location.as_ref().ends_with(table.options().file_extension.as_str())
            && location.contains(&object.location, ignored)
    };
    there.iter().filter(is_read).cloned().collect()
}

/// Checks the objects of the table, and decides whether a listing of its indexes pays. Returns this decision and the
/// objects that the table reads. The listing is the cached one that DataFusion made for the table.
///
/// # Errors
///
/// If there is nothing at a location and nothing can be inserted there, or it cannot be listed; if an object has
/// columns in other places than declared.
async fn sniff(
    state: &dyn Session,
    command: &CreateExternalTable,
    table: &ListingTable,
) -> Result<(ExpectedListing, Vec<ObjectMeta>)> {
    let (foreseen, mut all) = (ExpectedListing::default(), Vec::new());
    let extension = &table.options().file_extension;
    let ignored = state.config_options().execution.listing_table_ignore_subdirectory;
    let Some(session) = state.as_any().downcast_ref::<SessionState>() else {
        return Ok((foreseen, all));
    };
    let everything = with_subfolders(session);
    let notes = state.config().get_extension::<Notes>().unwrap_or_default();
    for (location, read) in command.locations.iter().zip(table.table_paths()) {
        let store = state.runtime_env().object_store(read)?;
        let there: Vec<ObjectMeta> = ListingTableUrl::parse(as_url(location)?)?
            .with_table_ref(command.name.clone())
            .list_all_files(&everything, store.as_ref(), "")
            .await?
            .try_collect()
            .await?;
        let read_now = objects_read(state, table, read, &there);
        if let Some(format) = table.options().format.downcast_ref::<S3Format>() {
            format.check_sizes(read, &read_now)?.into_iter().for_each(|note| notes.add(note));
        }
        check_partitions(command, (location, read), &there, &notes)?;
        check_headers(state, command, table, read, &read_now).await?;
        if there.is_empty() && !read.is_collection() {
            return Err(no_object(location));
        }
        if there.is_empty() {
            notes.add(format!(
                "there is no object at {location}: table {} is empty until something is inserted",
                command.name
            ));
        }
        let has_bytes = read_now.iter().any(|object| object.size > 0);
        if table.schema().fields().is_empty() && !has_bytes {
            notes.add(without_bytes(location));
        }
        if let [_] = table.table_paths().as_slice() {
            foreseen.learn(state, &read.object_store(), &there);
        }
        all.extend(read_now);
        let there = there.iter().map(|object| &object.location).filter(|path| !is_hidden(path));
        let (unread, read_or_deeper): (Vec<&Path>, Vec<&Path>) = there.partition(|path| {
            !(path.as_ref().ends_with(extension.as_str()) && read.contains(path, false))
        });
        let deeper: Vec<&Path> = read_or_deeper
            .into_iter()
            .filter(|path| ignored && !read.contains(path, true))
            .collect();
        if !unread.is_empty() {
            notes.add(format!(
                "table {} does not read {}: by their names, they are no {}",
                command.name,
                some_of(&unread),
                command.file_type,
            ));
        }
        if !deeper.is_empty() {
            notes.add(in_subfolders(location, &deeper));
        }
    }
    Ok((foreseen, all))
}

/// The setting that makes tables read subfolders.
pub(crate) const SUBFOLDERS: &str =
    "datafusion.execution.listing_table_ignore_subdirectory = false";

/// Returns a note on objects in subfolders.
pub(crate) fn in_subfolders(location: &str, objects: &[&Path]) -> String {
    format!(
        "objects in subfolders of {location} are not read: {}; SET {SUBFOLDERS} to read them",
        some_of(objects)
    )
}

/// Returns the type of a partition column that is inferred from folders' names.
pub(crate) fn inferred_partition_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
}
