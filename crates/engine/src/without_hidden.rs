//! Folders without the objects that programs leave beside the data, such as `_SUCCESS`, `.part.crc` and
//! `_committed_1`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectStore};
use url::Url;

use crate::external_tables::is_hidden;
use crate::layered::{Layered, ReadLayer};
use crate::url_tables::{COMPRESSIONS, TABS};

/// A session in which listings have no hidden objects, but for those whose names say that they are of a kind of
/// tables: what is read is what a folder has that is named by its URL.
pub(crate) fn session(state: &SessionState, kind: &str) -> SessionState {
    let runtime = state.runtime_env();
    let stores = Stores { inner: Arc::clone(&runtime.object_store_registry), kind: kind.into() };
    let runtime =
        RuntimeEnv { object_store_registry: Arc::new(stores), ..RuntimeEnv::clone(runtime) };
    SessionStateBuilder::new_from_existing(state.clone())
        .with_runtime_env(Arc::new(runtime))
        .build()
}

/// Whether a name is hidden, and does not say that the object is of a kind.
fn is_beside(path: &Path, kind: &str) -> bool {
    is_hidden(path) && !says_kind(path, kind)
}

/// Whether the name of an object says that it is of a kind of tables, compressed or not.
pub(crate) fn says_kind(path: &Path, kind: &str) -> bool {
    let name = path.as_ref().to_ascii_lowercase();
    let stem = COMPRESSIONS.iter().find_map(|(suffix, _)| name.strip_suffix(suffix));
    let Some((_, end)) = stem.unwrap_or(&name).rsplit_once('.') else { return false };
    match kind.to_ascii_lowercase().as_str() {
        "csv" => end == "csv" || end == TABS,
        "json" | "ndjson" | "jsonl" => ["json", "ndjson", "jsonl"].contains(&end),
        kind => end == kind,
    }
}

#[derive(Debug)]
struct Stores {
    inner: Arc<dyn ObjectStoreRegistry>,
    kind: Arc<str>,
}

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.inner.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let store = self.inner.get_store(url)?;
        Ok(Arc::new(Layered::new(store, WithoutHidden(Arc::clone(&self.kind)))))
    }
}

/// Listings lack what is hidden.
#[derive(Debug)]
struct WithoutHidden(Arc<str>);

#[async_trait]
impl ReadLayer for WithoutHidden {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        inner.get_opts(location, options).await
    }

    fn lists(&self) -> Arc<dyn Fn(&Path) -> bool + Send + Sync> {
        let kind = Arc::clone(&self.0);
        Arc::new(move |path| !is_beside(path, &kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_that_say_no_kind_are_beside() {
        for (name, kind, expected) in [
            ("a/_SUCCESS", "CSV", true),
            ("a/.part.csv.crc", "CSV", true),
            ("_committed_1", "CSV", true),
            ("a/_metadata", "parquet", true),
            ("a/_x.json", "CSV", true),
            ("a/_x.csv", "CSV", false),
            ("a/.x.TSV.gz", "CSV", false),
            ("a/_x.jsonl", "JSON", false),
            ("_a/part-0", "CSV", false),
        ] {
            assert_eq!(is_beside(&Path::from(name), kind), expected, "{name}");
        }
    }
}
