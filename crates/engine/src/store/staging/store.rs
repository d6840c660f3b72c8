//! Object stores whose writes are staged; everything else passes through.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::common::Result;
use datafusion::execution::object_store::ObjectStoreRegistry;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, UploadPart,
};
use url::{Position, Url};

use super::create_only::OnlyNew;
use super::{Object, Staging, Upload, stopped};

/// The stores of another registry, for one statement that writes.
#[derive(Debug)]
pub struct StagingStores {
    inner: Arc<dyn ObjectStoreRegistry>,
    staging: Arc<Staging>,
    only_new: bool,
}

impl StagingStores {
    /// Wraps the stores of `inner` so that writes are staged.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStoreRegistry>, staging: Arc<Staging>) -> Self {
        Self { inner, staging, only_new: false }
    }

    /// Makes the commit fail if an object of the same name exists.
    #[must_use]
    pub fn only_new(self) -> Self {
        Self { only_new: true, ..self }
    }
}

impl ObjectStoreRegistry for StagingStores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.inner.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let inner = self.inner.get_store(url)?;
        let only_new = self.only_new.then(|| url[..Position::BeforePath].to_owned() + "/");
        Ok(Arc::new(StagingStore { inner, staging: Arc::clone(&self.staging), only_new }))
    }
}

#[derive(Debug)]
struct StagingStore {
    inner: Arc<dyn ObjectStore>,
    staging: Arc<Staging>,
    /// The URL of the store if its objects must be new, or `None` if they may replace others.
    only_new: Option<String>,
}

impl StagingStore {
    fn only_new(&self, location: &Path) -> Option<OnlyNew> {
        self.only_new.as_ref().map(|root| OnlyNew::at(root, location))
    }
}

impl fmt::Display for StagingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for StagingStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        let (store, only_new) = (Arc::clone(&self.inner), self.only_new(location));
        let object = Object { store, location: location.clone(), payload, options, only_new };
        self.staging.hold(object).await?;
        Ok(not_yet())
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        let store = Arc::clone(&self.inner);
        let only_new = self.only_new(location);
        let upload = self.staging.begin(store, location.clone(), options, only_new).await?;
        Ok(Box::new(StagedUpload { upload, staging: Arc::clone(&self.staging) }))
    }

    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> object_store::Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
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

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
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

    async fn rename_opts(
        &self,
        from: &Path,
        to: &Path,
        options: RenameOptions,
    ) -> object_store::Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

/// A multipart upload that the commit completes instead of its writer.
#[derive(Debug)]
struct StagedUpload {
    upload: Arc<Upload>,
    staging: Arc<Staging>,
}

#[async_trait]
impl MultipartUpload for StagedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let mut inner = self.upload.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match inner.as_mut() {
            Some(inner) => {
                self.staging.count(&data);
                let (staging, part) = (Arc::clone(&self.staging), inner.put_part(data));
                Box::pin(async move { part.await.map_err(|error| staging.note(error)) })
            }
            None => Box::pin(async { Err(stopped()) }),
        }
    }

    async fn complete(&mut self) -> object_store::Result<PutResult> {
        self.upload.finished.store(true, Ordering::Relaxed);
        Ok(not_yet())
    }

    async fn abort(&mut self) -> object_store::Result<()> {
        match self.upload.take() {
            Some(mut inner) => inner.abort().await,
            None => Ok(()),
        }
    }
}

/// Returns the answer to a write that waits for the commit: there is no version yet.
fn not_yet() -> PutResult {
    PutResult { e_tag: None, version: None }
}
