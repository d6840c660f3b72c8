//! Objects that cannot change while they are read.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::physical_plan::metrics::Count;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

/// A store in which every read of an object sees the version that the listing saw, or fails.
#[derive(Debug)]
pub struct PinnedStore {
    inner: Arc<dyn ObjectStore>,
    location: Path,
    e_tag: Option<String>,
    got: Count,
}

impl PinnedStore {
    /// Pins one object of a store to the version in its listing, if it has one; counts the bytes
    /// of answers in `got`.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, object: &ObjectMeta, got: Count) -> Self {
        Self { inner, location: object.location.clone(), e_tag: object.e_tag.clone(), got }
    }

    fn pin(&self, location: &Path, mut options: GetOptions) -> GetOptions {
        if *location == self.location && options.if_match.is_none() {
            options.if_match.clone_from(&self.e_tag);
        }
        options
    }
}

impl fmt::Display for PinnedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pinned to one version of {}", self.inner, self.location)
    }
}

#[async_trait]
impl ObjectStore for PinnedStore {
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
        let result = self.inner.get_opts(location, self.pin(location, options)).await?;
        let bytes = result.range.end.saturating_sub(result.range.start);
        self.got.add(usize::try_from(bytes).unwrap_or(usize::MAX));
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
