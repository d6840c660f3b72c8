//! Stores that do something to what is read, and leave all else to the store below.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::ready;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// What is done to GETs.
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
    ) -> Result<GetResult>;

    /// Which objects are listed.
    fn lists(&self) -> Arc<dyn Fn(&Path) -> bool + Send + Sync> {
        Arc::new(|_| true)
    }

    /// What the store is called.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn named(&self, inner: &dyn ObjectStore, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(inner, f)
    }
}

/// A store whose GETs pass a layer.
#[derive(Debug)]
pub(crate) struct Layered<L> {
    inner: Arc<dyn ObjectStore>,
    layer: L,
}

impl<L: ReadLayer> Layered<L> {
    /// A store above another one.
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, layer: L) -> Self {
        Self { inner, layer }
    }
}

impl<L: ReadLayer> fmt::Display for Layered<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layer.named(&*self.inner, f)
    }
}

/// What is to be listed of a listing.
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
        self.inner.put_opts(location, payload, opts).await
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

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        listed(self.inner.list(prefix), self.layer.lists())
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
