//! Ensures one version of each object if an execution reads an object more than once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::execution::runtime_env::RuntimeEnv;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, ObjectStore};
use url::Url;

use crate::context::read_layer::{LayeredStores, ReadLayer};

/// The entity tags that an execution has seen, by store and path.
type ObjectVersions = Arc<Mutex<HashMap<(String, Path), String>>>;

/// Returns the runtime with stores that fail to read an object if an earlier read returned another version of it.
pub(super) fn one_version(runtime: &RuntimeEnv) -> RuntimeEnv {
    let seen = ObjectVersions::default();
    let stores = LayeredStores::new(&runtime.object_store_registry, move |url: &Url| Snapshot {
        name: format!("{}://{}", url.scheme(), url.authority()),
        seen: Arc::clone(&seen),
    });
    RuntimeEnv { object_store_registry: Arc::new(stores), ..runtime.clone() }
}

/// A store that returns every object in one version.
#[derive(Debug)]
struct Snapshot {
    name: String,
    seen: ObjectVersions,
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
