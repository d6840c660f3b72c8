//! Stores that do something to what is read, and leave all else to the store below.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
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
        self.inner.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
