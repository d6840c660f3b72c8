//! Infers the dialect and the columns of CSV files that are named by their URL, with one look at the objects.
//!
//! `prefetched` reads the beginning of the first object, `detection` detects the dialect, and `columns` infers the
//! columns from the first records (`prefix`, `column_names`, `invalid_dates`, `numeric_dates`, `unsigned_numbers`,
//! `undetectable`).
//! `headers` and `expected_header` check that all files of a table have the same header. `by_name` merges files whose
//! headers differ.

mod by_name;
mod column_names;
mod columns;
mod detection;
pub(crate) mod expected_header;
pub(crate) mod headers;
mod invalid_dates;
mod numeric_dates;
mod prefetched;
mod prefix;
mod undetectable;
mod unsigned_numbers;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::catalog::Session;
use datafusion::common::{Result, config_err};
use datafusion::datasource::file_format::csv::{CsvFormat, CsvFormatFactory};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::execution::SessionState;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use regex::Regex;

use self::detection::{DELIMITER, DelimiterName, Dialect};
use self::prefetched::PrefetchedObject;
use crate::context::read_layer::Layered;
use crate::text::csv::options;
use crate::text::csv::options::{CsvOptions, Recoding, Values};
use crate::text::decompression;
use crate::text::json::bom::blanked;
use crate::text::json::columns as json_columns;
use crate::text::json::order;
use crate::text::magic_bytes;
use crate::text::sampled_schema;

/// The dialect and the columns of some objects.
#[derive(Debug, PartialEq)]
pub(crate) struct DetectedCsv {
    /// The detected properties that differ from the usual dialect, in words.
    pub(crate) unusual: Option<String>,
    /// All options of the format.
    pub(crate) options: BTreeMap<String, String>,
    /// The columns that were inferred.
    pub(crate) schema: SchemaRef,
}

/// Infers the dialect and columns of CSV objects, of which there must be at least one. Options that are given are not
/// detected.
///
/// # Errors
///
/// If the objects cannot be read, or their schema cannot be inferred.
pub(crate) async fn infer(
    state: &SessionState,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    options: &BTreeMap<String, String>,
) -> Result<DetectedCsv> {
    let csv = CsvOptions::parse(state, options)?;
    let mut read = options.clone();
    let mut recoded = None;
    if csv.recoding.is_needed() {
        // Decoding includes decompression.
        let compression = match read.remove(COMPRESSION) {
            Some(name) => name.parse::<FileCompressionType>()?,
            None => FileCompressionType::UNCOMPRESSED,
        };
        recoded = Some(csv.recoding.read_from(Arc::clone(store), compression));
    }
    let (values, given, by_name) = (&csv.values, &read, csv.recoding.by_name);
    // Headers need no verified bytes: a wrong one is refused.
    let all = recoded.as_ref().unwrap_or(store);
    let look = move |store: Arc<dyn ObjectStore>| {
        let look = async move {
            let compression = match given.get(COMPRESSION) {
                Some(name) => name.parse::<FileCompressionType>()?,
                None => FileCompressionType::UNCOMPRESSED,
            };
            let (mut beginning, mut store) = begin(&store, objects, compression).await?;
            let (mut given, mut all) = (given.clone(), Arc::clone(all));
            let first_line = detection::separator_line(&beginning.0).filter(|delimiter| {
                let delimiter = char::from(*delimiter).to_string();
                given.get(DELIMITER).is_none_or(|it| *it == delimiter) && !given.contains_key(SKIP)
            });
            if let Some(delimiter) = first_line {
                given.insert(DELIMITER.to_owned(), char::from(delimiter).to_string());
                given.insert(SKIP.to_owned(), "1".to_owned());
                given.remove(COMPRESSION);
                let skipping = Recoding { skip: 1, ..Recoding::default() };
                (store, all) =
                    (skipping.read_from(store, compression), skipping.read_from(all, compression));
                let plain = FileCompressionType::UNCOMPRESSED;
                (beginning, store) = begin(&store, objects, plain).await?;
            }
            let given = &given;
            let dialect = Dialect::detect(&beginning.0, beginning.1, given);
            // If the session sets that files have no header, none is detected.
            let dialect = match state.config_options().catalog.has_header {
                true => dialect,
                false => dialect.without_header(),
            };
            let first_line = first_line.map(|delimiter| {
                format!(
                    "its first line says that fields are separated by {}",
                    DelimiterName(delimiter)
                )
            });
            let unusual: Vec<String> =
                first_line.into_iter().chain(dialect.unusual(given)).collect();
            let unusual = (!unusual.is_empty()).then(|| unusual.join(", "));
            let options = dialect.options(given);
            let (_, theirs) = options::apart(&options);
            let format = CsvFormatFactory::new().create(state, &theirs.into_iter().collect())?;
            check_options(&format)?;
            let schema = match by_name {
                true => by_name::columns(state, &format, &store, objects, values).await?,
                false => {
                    check_headers(state, &format, &all, objects, &beginning).await?;
                    schema(state, &format, &store, objects, values).await?
                }
            };
            Ok(DetectedCsv { unusual, options, schema })
        };
        Box::pin(look) as BoxFuture<'_, Result<DetectedCsv>>
    };
    let mut told = sampled_schema::infer(all, objects, look).await?;
    told.schema = csv.values.with_types(&told.schema)?;
    if let Some(compression) = options.get(COMPRESSION) {
        told.options.insert(COMPRESSION.to_owned(), compression.clone());
    }
    Ok(told)
}

const COMPRESSION: &str = "format.compression";
const SKIP: &str = "format.skip";

/// Returns the delimiter in the first line of an object, such as `sep=;`, or `None` if the first line is a record.
///
/// # Errors
///
/// If the object cannot be read.
pub(crate) async fn separator_line(
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
    compression: FileCompressionType,
) -> Result<Option<char>> {
    const PLAIN: u64 = 16;
    const COMPRESSED: u64 = 16 << 10;
    let most = if compression.is_compressed() { COMPRESSED } else { PLAIN };
    let mut beginning = store.get_range(&object.location, 0..object.size.min(most)).await?;
    if compression.is_compressed() {
        (beginning, _) = text_of(compression, beginning).await;
    }
    Ok(detection::separator_line(&beginning).map(char::from))
}

/// Refuses options of CSV with which DataFusion's reader panics.
///
/// # Errors
///
/// If there is such an option.
pub(crate) fn check_options(format: &Arc<dyn FileFormat>) -> Result<()> {
    let csv = format.downcast_ref::<CsvFormat>();
    let Some(pattern) = csv.and_then(|csv| csv.options().null_regex.as_deref()) else {
        return Ok(());
    };
    match Regex::new(pattern) {
        Ok(_) => Ok(()),
        // The last line contains the reason.
        Err(error) => config_err!(
            "null_regex `{pattern}` is no regular expression: {}",
            error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ")
        ),
    }
}

/// Infers the columns of text objects of a format. The sample is read from `sampled`, the headers of other objects
/// from `all`.
///
/// # Errors
///
/// If the objects cannot be read, their schema cannot be inferred, or CSV objects have different headers.
pub(crate) async fn columns(
    state: &dyn Session,
    format: &Arc<dyn FileFormat>,
    (sampled, all): (&Arc<dyn ObjectStore>, &Arc<dyn ObjectStore>),
    objects: &[ObjectMeta],
    options: &CsvOptions,
) -> Result<SchemaRef> {
    let values = &options.values;
    if !format.is::<CsvFormat>() {
        return schema(state, format, sampled, objects, values).await;
    }
    if options.recoding.by_name {
        return by_name::columns(state, format, sampled, objects, values).await;
    }
    let compression = format.compression_type().unwrap_or(FileCompressionType::UNCOMPRESSED);
    let (beginning, sampled) = begin(sampled, objects, compression).await?;
    check_headers(state, format, all, objects, &beginning).await?;
    schema(state, format, &sampled, objects, values).await
}

/// Returns the first record of the first object of a CSV table that declares its columns, if it is a row that would
/// be treated as a header.
///
/// # Errors
///
/// If the object cannot be read.
pub(crate) async fn row_first(
    state: &dyn Session,
    format: &CsvFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    declared: &[String],
) -> Result<Option<String>> {
    if format.options().has_header.is_some() {
        return Ok(None);
    }
    let compression = FileCompressionType::from(format.options().compression);
    let (beginning, _) = begin(store, objects, compression).await?;
    Ok(headers::row_first(state, format.options(), &beginning, declared))
}

async fn check_headers(
    state: &dyn Session,
    format: &Arc<dyn FileFormat>,
    all: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    beginning: &(Bytes, bool),
) -> Result<()> {
    match format.downcast_ref::<CsvFormat>() {
        Some(csv) => headers::check(state, csv, all, objects, beginning).await,
        None => Ok(()),
    }
}

async fn schema(
    state: &dyn Session,
    format: &Arc<dyn FileFormat>,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    values: &Values,
) -> Result<SchemaRef> {
    let inferred = inferred(state, format, store, objects, values).await?;
    Ok(sampled_schema::with_text_for_nothing(&inferred))
}

/// Infers a schema in which columns without a value have no type.
async fn inferred(
    state: &dyn Session,
    format: &Arc<dyn FileFormat>,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    values: &Values,
) -> Result<SchemaRef> {
    let (format, store) = decompression::format_over(format, store);
    if let Some(csv) = format.downcast_ref::<CsvFormat>() {
        let has_header = headers::has_header(state, csv.options());
        let sampled = values.infer_types().then(|| values.sampled(csv, has_header, &store));
        let (csv, store) = sampled.as_ref().map_or((csv, &store), |(csv, store)| (csv, store));
        return columns::infer_schema(state, csv, store, objects, values).await;
    }
    let json = format.downcast_ref::<JsonFormat>();
    let store = blanked(store);
    let schema = match json {
        Some(json) if json.is_newline_delimited() => {
            json_columns::columns(state, json, &store, objects).await?
        }
        Some(json) => {
            let schema = match json_columns::of_arrays(state, json, &store, objects).await? {
                Some(schema) => schema,
                None => {
                    let inferred = format.infer_schema(state, &store, objects).await;
                    inferred.map_err(|error| json_columns::of_array_fault(error, objects))?
                }
            };
            order::of_arrays(schema, &store, objects).await?
        }
        None => format.infer_schema(state, &store, objects).await?,
    };
    Ok(schema)
}

/// Reads the beginning of the first object. Returns the text, true if it is the whole object, and a store that
/// returns its bytes without another request.
async fn begin(
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    compression: FileCompressionType,
) -> Result<((Bytes, bool), Arc<dyn ObjectStore>)> {
    let Some(first) = objects.first() else {
        return Ok(((Bytes::new(), true), Arc::clone(store)));
    };
    let is_compressed = compression.is_compressed();
    let most = if is_compressed { 4 * detection::SAMPLE } else { detection::SAMPLE };
    let begun = PrefetchedObject::read(store, first, most, !is_compressed).await?;
    let (mut sample, mut is_whole) = (begun.prefix(), begun.is_whole());
    if is_compressed {
        let (text, all) = text_of(compression, sample).await;
        (sample, is_whole) = (text, is_whole && all);
    }
    magic_bytes::check_text(first, &sample)?;
    Ok(((sample, is_whole), Arc::new(Layered::new(Arc::clone(store), begun))))
}

/// Decompresses the beginning of a text. Returns the text, and true if it is the whole text.
async fn text_of(compression: FileCompressionType, bytes: Bytes) -> (Bytes, bool) {
    let mut parts = decompression::text(compression, stream::iter([Ok(bytes)]).boxed());
    let mut text = Vec::new();
    while text.len() < detection::SAMPLE {
        match parts.next().await {
            Some(Ok(part)) => text.extend_from_slice(&part),
            // The text continues behind the sample.
            Some(Err(_)) => return (text.into(), false),
            None => return (text.into(), true),
        }
    }
    text.truncate(detection::SAMPLE);
    (text.into(), false)
}
