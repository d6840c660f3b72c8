//! Lists the contents of a store as folders and objects.

use chrono::{DateTime, Utc};
use datafusion::datasource::listing::ListingTableUrl;
use object_store::ObjectStore;

use crate::catalog::locations::as_url;
use crate::{Engine, Result};

/// A folder or an object, under its full URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A folder, `s3://bucket/prefix/`: there are keys that continue after the slash.
    Folder(String),
    /// An object.
    Object {
        /// The URL: `s3://bucket/key`.
        url: String,
        /// The size in bytes.
        bytes: u64,
        /// The time of the last modification.
        modified: DateTime<Utc>,
    },
}

impl Entry {
    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &str {
        match self {
            Self::Folder(url) | Self::Object { url, .. } => url,
        }
    }
}

/// Lists at most `most` folders and objects whose URLs begin with `url`, up to the next slash, in the order of their
/// URLs. `s3://bucket/a` lists names in the bucket that begin with `a`; `s3://bucket/a/` lists the folder.
///
/// # Errors
///
/// If the URL has no bucket, or the bucket cannot be listed.
pub async fn browse(engine: &Engine, url: &str, most: usize) -> Result<Vec<Entry>> {
    Ok(list(engine, url, most).await?)
}

async fn list(engine: &Engine, url: &str, most: usize) -> datafusion::common::Result<Vec<Entry>> {
    let url = crate::catalog::url_tables::of_bucket(url).unwrap_or_else(|| url.to_owned());
    let folder = url.rfind('/').map_or(url.as_str(), |slash| &url[..=slash]);
    let location = ListingTableUrl::parse(as_url(folder)?)?;
    let store = engine.runtime_env().object_store(&location)?;
    let root = location.object_store().as_str().trim_end_matches('/').to_owned();
    let prefix = Some(location.prefix()).filter(|prefix| !prefix.as_ref().is_empty());
    let listed = store.list_with_delimiter(prefix).await?;
    let folders =
        listed.common_prefixes.iter().map(|path| Entry::Folder(format!("{root}/{path}/")));
    let objects = listed.objects.iter().map(|object| Entry::Object {
        url: format!("{root}/{}", object.location),
        bytes: object.size,
        modified: object.last_modified,
    });
    let mut entries: Vec<Entry> =
        folders.chain(objects).filter(|entry| entry.url().starts_with(&url)).collect();
    entries.sort_by(|a, b| a.url().cmp(b.url()));
    entries.truncate(most);
    Ok(entries)
}
