//! The dialect of CSV files that are named by their URL, and their columns: one look at the objects tells
//! both.

mod begun;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::datasource::file_format::csv::CsvFormatFactory;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::execution::SessionState;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use object_store::{ObjectMeta, ObjectStore};

use self::begun::Begun;
use self::told::Dialect;
use crate::layered::Layered;
use crate::sampled_schema;

/// What a look at the objects told.
#[derive(Debug, PartialEq)]
pub(crate) struct Told {
    /// What is unusual about the dialect and was not known before, in words.
    pub(crate) unusual: Option<String>,
    /// All options of the format.
    pub(crate) options: BTreeMap<String, String>,
    /// The columns.
    pub(crate) schema: SchemaRef,
}

/// Looks at CSV objects, of which there is at least one, whose format has some options. What they say is not
/// looked for.
///
/// # Errors
///
/// Those of reading and of inferring a schema.
pub(crate) async fn infer(
    state: &SessionState,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    options: &BTreeMap<String, String>,
) -> Result<Told> {
    let look = move |store: Arc<dyn ObjectStore>| {
        let look = async move {
            let (dialect, store) = look(&store, objects, options).await?;
            // Who sets that has none anywhere.
            let dialect = match state.config_options().catalog.has_header {
                true => dialect,
                false => dialect.without_header(),
            };
            let unusual = dialect.unusual(options);
            let options = dialect.options(options);
            let format =
                CsvFormatFactory::new().create(state, &options.clone().into_iter().collect())?;
            let schema = format.infer_schema(state, &store, objects).await?;
            let schema = sampled_schema::with_text_for_nothing(&schema);
            Ok(Told { unusual, options, schema })
        };
        Box::pin(look) as BoxFuture<'_, Result<Told>>
    };
    sampled_schema::infer(store, objects, look).await
}

/// The dialect of the first object, and a store that gives its bytes without another request.
async fn look(
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    options: &BTreeMap<String, String>,
) -> Result<(Dialect, Arc<dyn ObjectStore>)> {
    let usual = || (Dialect::default(), Arc::clone(store));
    let Some(first) = objects.first() else { return Ok(usual()) };
    let compression = match options.get("format.compression") {
        Some(name) => name.parse::<FileCompressionType>()?,
        None => FileCompressionType::UNCOMPRESSED,
    };
    let most = if compression.is_compressed() { 4 * told::SAMPLE } else { told::SAMPLE };
    let begun = Begun::read(store, first, most).await?;
    let (mut sample, mut is_whole) = (begun.beginning(), begun.is_whole());
    if compression.is_compressed() {
        let read = sample.clone();
        let (text, all) = decompressed(compression, read).await?;
        (sample, is_whole) = (text, is_whole && all);
    }
    Ok((Dialect::of(&sample, is_whole, options), Arc::new(Layered::new(Arc::clone(store), begun))))
}

/// The text at the beginning of compressed bytes, and whether that is all of it.
async fn decompressed(compression: FileCompressionType, bytes: Bytes) -> Result<(Bytes, bool)> {
    let bytes = stream::iter([Ok::<_, DataFusionError>(bytes)]).boxed();
    let mut parts = compression.convert_stream(bytes)?;
    let mut text = Vec::new();
    while text.len() < told::SAMPLE {
        match parts.next().await {
            Some(Ok(part)) => text.extend_from_slice(&part),
            // It goes on where the sample ends.
            Some(Err(_)) => return Ok((text.into(), false)),
            None => return Ok((text.into(), true)),
        }
    }
    text.truncate(told::SAMPLE);
    Ok((text.into(), false))
}
