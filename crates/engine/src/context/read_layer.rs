//! Object stores that change reads or listings, and pass everything else on to the store below.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::execution::object_store::ObjectStoreRegistry;
use futures::future::ready;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, OBJECT_STORE_COALESCE_DEFAULT,
    ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result, coalesce_ranges,
};
use url::Url;

/// A layer that changes GETs and selects the objects of listings.
#[async_trait]
pub(crate) trait ReadLayer: fmt::Debug + Send + Sync + 'static {
    /// Reads an object of the store below, or a part of it.
    ///
    /// # Errors
    ///
    /// Those of the store below, and of the layer.
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> Result<GetResult> {
        inner.get_opts(location, options).await
    }

    /// Returns the filter for objects in listings.
    fn lists(&self) -> Arc<dyn Fn(&Path) -> bool + Send + Sync> {
        Arc::new(|_| true)
    }

    /// Returns true if the layer changes no GET, so that several ranges are read as the store below does.
    fn reads_as_below(&self) -> bool {
        false
    }

    /// Changes the options of a write in one request.
    fn writes(&self, options: PutOptions) -> PutOptions {
        options
    }

    /// Returns the folder that contains all listed objects below a prefix, or `None` if that is the prefix itself.
    fn lists_within(&self, _prefix: Option<&Path>) -> Option<Path> {
        None
    }

    /// Formats the name of the store.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn named(&self, inner: &dyn ObjectStore, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(inner, f)
    }
}

/// A store whose GETs and listings pass a layer.
#[derive(Debug)]
pub(crate) struct Layered<L> {
    inner: Arc<dyn ObjectStore>,
    layer: L,
}

impl<L: ReadLayer> Layered<L> {
    /// Puts a layer above a store.
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, layer: L) -> Self {
        Self { inner, layer }
    }
}

impl<L: ReadLayer> fmt::Display for Layered<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layer.named(&*self.inner, f)
    }
}

/// The stores of another registry, each below a layer that `above` makes for its URL.
pub(crate) struct LayeredStores<F> {
    inner: Arc<dyn ObjectStoreRegistry>,
    above: F,
}

impl<F> LayeredStores<F> {
    /// Puts layers above the stores of a registry.
    pub(crate) fn new(inner: &Arc<dyn ObjectStoreRegistry>, above: F) -> Self {
        Self { inner: Arc::clone(inner), above }
    }
}

impl<F> fmt::Debug for LayeredStores<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayeredStores").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<L, F> ObjectStoreRegistry for LayeredStores<F>
where
    L: ReadLayer,
    F: Fn(&Url) -> L + Send + Sync + 'static,
{
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.inner.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> datafusion::common::Result<Arc<dyn ObjectStore>> {
        self.inner.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> datafusion::common::Result<Arc<dyn ObjectStore>> {
        Ok(Arc::new(Layered::new(self.inner.get_store(url)?, (self.above)(url))))
    }
}

/// Filters a listing.
fn listed(
    there: BoxStream<'static, Result<ObjectMeta>>,
    lists: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
) -> BoxStream<'static, Result<ObjectMeta>> {
    there.try_filter(move |object| ready(lists(&object.location))).boxed()
}

#[async_trait]
impl<L: ReadLayer> ObjectStore for Layered<L> {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.inner.put_opts(location, payload, self.layer.writes(opts)).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.layer.get(&*self.inner, location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if self.layer.reads_as_below() {
            return self.inner.get_ranges(location, ranges).await;
        }
        let get = |range| self.get_range(location, range);
        coalesce_ranges(ranges, get, OBJECT_STORE_COALESCE_DEFAULT).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let within = self.layer.lists_within(prefix);
        listed(self.inner.list(within.as_ref().or(prefix)), self.layer.lists())
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        listed(self.inner.list_with_offset(prefix, offset), self.layer.lists())
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut there = self.inner.list_with_delimiter(prefix).await?;
        let lists = self.layer.lists();
        there.objects.retain(|object| lists(&object.location));
        Ok(there)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
