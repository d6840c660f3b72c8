//! Tables that are named by their URL: `FROM 's3://bucket/prefix/*.csv'`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use async_trait::async_trait;
use datafusion::catalog::{DynamicFileCatalog, TableProvider, UrlTableFactory};
use datafusion::common::{Result, internal_datafusion_err, plan_datafusion_err};
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;
use datafusion_session::SessionStore;
use futures::TryStreamExt;
use object_store::ObjectMeta;

/// Suffixes of compressed objects, as file names and as the format's option say them.
const COMPRESSIONS: [(&str, &str); 4] =
    [(".gz", "gzip"), (".bz2", "bzip2"), (".xz", "xz"), (".zst", "zstd")];

/// Makes a table of the objects that a URL names: one object, a prefix that ends in `/`, or a
/// glob. Their names say the format and the compression; the schema is inferred.
#[derive(Debug)]
pub struct UrlTables {
    session: SessionStore,
}

impl UrlTables {
    /// A session like this one, in which a URL is a table.
    #[must_use]
    pub fn enable(context: SessionContext) -> SessionContext {
        let tables = Arc::new(Self { session: SessionStore::new() });
        let catalogs = Arc::clone(context.state().catalog_list());
        let catalogs = DynamicFileCatalog::new(catalogs, Arc::clone(&tables) as _);
        let id = context.session_id();
        let builder = context.into_state_builder().with_session_id(id);
        let context = SessionContext::from(builder.with_catalog_list(Arc::new(catalogs)).build());
        tables.session.with_state(context.state_weak_ref());
        context
    }

    fn state(&self) -> Result<SessionState> {
        let session = self.session.get_session().upgrade();
        session
            .and_then(|session| session.read().as_any().downcast_ref::<SessionState>().cloned())
            .ok_or_else(|| internal_datafusion_err!("the session is gone"))
    }
}

#[async_trait]
impl UrlTableFactory for UrlTables {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        // Anything else may be a name that merely does not exist.
        if !url.contains("://") && !std::path::Path::new(url).exists() {
            return Ok(None);
        }
        let state = self.state()?;
        let location = location(url)?;
        let store = state.runtime_env().object_store(&location)?;
        let objects: Vec<ObjectMeta> =
            location.list_all_files(&state, store.as_ref(), "").await?.try_collect().await?;
        let found = objects.iter().find_map(|object| Kind::of(&state, object));
        let kind = found.ok_or_else(|| match objects.first() {
            None => plan_datafusion_err!("there is no object at {url}"),
            Some(object) => plan_datafusion_err!(
                "the name of `{}` does not say its format; name it with CREATE EXTERNAL TABLE",
                object.location
            ),
        })?;
        let format = state
            .get_file_format_factory(&kind.format)
            .ok_or_else(|| internal_datafusion_err!("no format {}", kind.format))?
            .create(&state, &kind.options)?;
        let mut options = ListingOptions::new(format).with_file_extension(kind.extension);
        let partitions = options.infer_partitions(&state, &location).await?;
        let text = DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8));
        options = options.with_table_partition_cols(
            partitions.into_iter().map(|name| (name, text.clone())).collect(),
        );
        let schema = options.infer_schema(&state, &location).await?;
        let config =
            ListingTableConfig::new(location).with_listing_options(options).with_schema(schema);
        let cache = state.runtime_env().cache_manager.get_file_statistic_cache();
        Ok(Some(Arc::new(ListingTable::try_new(config)?.with_cache(cache))))
    }
}

/// A URL, with a glob in its path or without.
fn location(url: &str) -> Result<ListingTableUrl> {
    let is_glob = |segment: &str| segment.contains(['*', '?', '[']);
    let Some((scheme, path)) = url.split_once("://").filter(|(_, path)| is_glob(path)) else {
        return ListingTableUrl::parse(url);
    };
    let segments: Vec<&str> = path.split('/').collect();
    let plain = segments.iter().take_while(|segment| !is_glob(segment)).count();
    let (prefix, glob) = segments.split_at(plain);
    ListingTableUrl::parse(format!("{scheme}://{}/", prefix.join("/")))?.with_glob(&glob.join("/"))
}

/// What an object's name says.
struct Kind {
    format: String,
    extension: String,
    options: HashMap<String, String>,
}

impl Kind {
    fn of(state: &SessionState, object: &ObjectMeta) -> Option<Self> {
        let name = object.location.filename()?.to_ascii_lowercase();
        let compression = COMPRESSIONS.iter().find(|(suffix, _)| name.ends_with(suffix));
        let suffix = compression.map_or("", |(suffix, _)| suffix);
        let (_, format) = name.strip_suffix(suffix)?.rsplit_once('.')?;
        state.get_file_format_factory(format)?;
        let options =
            compression.map(|(_, name)| ("format.compression".to_owned(), (*name).to_owned()));
        Some(Self {
            format: format.to_owned(),
            extension: format!(".{format}{suffix}"),
            options: options.into_iter().collect(),
        })
    }
}
