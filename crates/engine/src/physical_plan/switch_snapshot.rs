//! One version of each object, where an execution reads an object more than once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnv;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, ObjectStore};
use url::Url;

use crate::layered::{Layered, ReadLayer};

/// The entity tags that an execution has seen, by store and path.
type Seen = Arc<Mutex<HashMap<(String, Path), String>>>;

/// The same runtime, in which reading an object fails if an earlier read gave another version of it.
pub(super) fn one_version(runtime: &RuntimeEnv) -> RuntimeEnv {
    let inner = Arc::clone(&runtime.object_store_registry);
    let registry = Arc::new(Snapshots { inner, seen: Seen::default() });
    RuntimeEnv { object_store_registry: registry, ..runtime.clone() }
}

#[derive(Debug)]
struct Snapshots {
    inner: Arc<dyn ObjectStoreRegistry>,
    seen: Seen,
}

impl ObjectStoreRegistry for Snapshots {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.inner.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.inner.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let inner = self.inner.get_store(url)?;
        let name = format!("{}://{}", url.scheme(), url.authority());
        let snapshot = Snapshot { name, seen: Arc::clone(&self.seen) };
        Ok(Arc::new(Layered::new(inner, snapshot)))
    }
}

/// Every object is read in one version.
#[derive(Debug)]
struct Snapshot {
    name: String,
    seen: Seen,
}

impl Snapshot {
    fn check(&self, location: &Path, e_tag: &str) -> object_store::Result<()> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let first =
            seen.entry((self.name.clone(), location.clone())).or_insert_with(|| e_tag.to_owned());
        if first == e_tag {
            return Ok(());
        }
        let source = format!(
            "`{location}` changed while it was being read: its entity tag was {first} and is {e_tag}"
        );
        let source = source.into();
        Err(Error::Precondition { path: location.to_string(), source })
    }
}

#[async_trait]
impl ReadLayer for Snapshot {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        let result = inner.get_opts(location, options).await?;
        if let Some(e_tag) = &result.meta.e_tag {
            self.check(location, e_tag)?;
        }
        Ok(result)
    }

    fn named(&self, inner: &dyn ObjectStore, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one version of each object of {inner}")
    }
}
