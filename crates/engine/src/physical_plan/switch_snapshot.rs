//! One version of each object, where an execution reads an object more than once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnv;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use url::Url;

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
        Ok(Arc::new(Snapshot { inner, name, seen: Arc::clone(&self.seen) }))
    }
}

/// A store of which every object is read in one version.
#[derive(Debug)]
struct Snapshot {
    inner: Arc<dyn ObjectStore>,
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

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one version of each object of {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Snapshot {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        let result = self.inner.get_opts(location, options).await?;
        if let Some(e_tag) = &result.meta.e_tag {
            self.check(location, e_tag)?;
        }
        Ok(result)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &Path,
        to: &Path,
        options: CopyOptions,
    ) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
