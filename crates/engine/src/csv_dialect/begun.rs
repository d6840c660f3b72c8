//! An object whose beginning was looked at, and that is then read without another request.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use datafusion::common::Result;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

/// A store in which the first GET of an object gives what was begun to be read of it.
#[derive(Debug)]
pub(super) struct Begun {
    inner: Arc<dyn ObjectStore>,
    location: Path,
    beginning: Bytes,
    is_whole: bool,
    answer: Mutex<Option<GetResult>>,
}

impl Begun {
    /// Reads up to so many bytes, or a little more.
    pub(super) async fn read(
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        most: usize,
    ) -> Result<Self> {
        let mut answer = store.get_opts(&object.location, GetOptions::default()).await?;
        let size = answer.meta.size;
        let mut beginning = BytesMut::new();
        let mut again = None;
        if let GetResultPayload::Stream(mut rest) = answer.payload {
            while beginning.len() < most
                && let Some(part) = rest.try_next().await?
            {
                beginning.extend_from_slice(&part);
            }
            let begun = beginning.clone().freeze();
            let all = stream::once(async { Ok(begun) }).chain(rest).boxed();
            answer.payload = GetResultPayload::Stream(all);
            again = Some(answer);
        } else {
            // A file on this machine costs no request.
            let end = size.min(most as u64);
            beginning.extend_from_slice(&store.get_range(&object.location, 0..end).await?);
        }
        let is_whole = beginning.len() as u64 >= size;
        Ok(Self {
            inner: Arc::clone(store),
            location: object.location.clone(),
            beginning: beginning.freeze(),
            is_whole,
            answer: Mutex::new(again),
        })
    }

    /// The bytes that were looked at.
    pub(super) fn beginning(&self) -> Bytes {
        self.beginning.clone()
    }

    /// Whether they are all of the object.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

impl fmt::Display for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

#[async_trait]
impl ObjectStore for Begun {
    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        if *location == self.location && options.range.is_none() && !options.head {
            let begun = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(begun) = begun {
                return Ok(begun);
            }
        }
        self.inner.get_opts(location, options).await
    }

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

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn what_was_begun_is_read_to_its_end() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("a.csv");
        store.put(&path, "a,b\n1,2\n".into()).await.unwrap();
        let meta = store.head(&path).await.unwrap();
        let begun = Begun::read(&store, &meta, 4).await.unwrap();
        assert!(begun.beginning().starts_with(b"a,b\n"));
        for _ in 0..2 {
            let read = begun.get(&path).await.unwrap().bytes().await.unwrap();
            assert_eq!(read, "a,b\n1,2\n");
        }
    }
}
