//! Looks at the beginning of an object and then reads all of it without another request.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use datafusion::common::Result;
use futures::stream;
use futures::{StreamExt, TryStreamExt};
use memchr::memchr2_iter;
use object_store::path::Path;
use object_store::{
    GetOptions, GetResult, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt,
};

use crate::context::read_layer::ReadLayer;

/// The number of line ends needed among the bytes to detect a dialect.
const LINES: usize = 3;
/// The most times that the beginning may exceed the requested length to include these line ends.
const LONGEST: usize = 32;

/// A store layer whose first GET of an object returns the answer that was already begun.
#[derive(Debug)]
pub(super) struct PrefetchedObject {
    location: Path,
    beginning: Bytes,
    is_whole: bool,
    answer: Mutex<Option<GetResult>>,
}

impl PrefetchedObject {
    /// Reads `most` bytes, or a little more. With `by_lines`, it reads on until there are some lines, within limits.
    pub(super) async fn read(
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        most: usize,
        by_lines: bool,
    ) -> Result<Self> {
        let is_enough = |bytes: &[u8]| {
            let has_lines = || memchr2_iter(b'\n', b'\r', bytes).nth(LINES).is_some();
            bytes.len() >= most * LONGEST || (bytes.len() >= most && (!by_lines || has_lines()))
        };
        let mut answer = store.get_opts(&object.location, GetOptions::default()).await?;
        let size = answer.meta.size;
        let mut beginning = BytesMut::new();
        let (mut again, mut has_ended) = (None, false);
        if let GetResultPayload::Stream(mut rest) = answer.payload {
            while !is_enough(&beginning) {
                let Some(part) = rest.try_next().await? else {
                    has_ended = true;
                    break;
                };
                beginning.extend_from_slice(&part);
            }
            let begun = beginning.clone().freeze();
            let all = stream::once(async { Ok(begun) }).chain(rest).boxed();
            answer.payload = GetResultPayload::Stream(all);
            again = Some(answer);
        } else {
            // Reading a local file again costs no request.
            while !is_enough(&beginning) && (beginning.len() as u64) < size {
                let start = beginning.len() as u64;
                let end = size.min(start + most as u64);
                beginning.extend_from_slice(&store.get_range(&object.location, start..end).await?);
            }
        }
        // Decoded bytes may have another length than the object.
        let is_whole = has_ended || beginning.len() as u64 >= size;
        Ok(Self {
            location: object.location.clone(),
            beginning: beginning.freeze(),
            is_whole,
            answer: Mutex::new(again),
        })
    }

    /// Returns the bytes that were read.
    pub(super) fn prefix(&self) -> Bytes {
        self.beginning.clone()
    }

    /// Returns true if these bytes are the whole object.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

#[async_trait]
impl ReadLayer for PrefetchedObject {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        if *location == self.location && options.range.is_none() && !options.head {
            let begun = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(begun) = begun {
                return Ok(begun);
            }
        }
        inner.get_opts(location, options).await
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;
    use crate::context::read_layer::Layered;

    #[tokio::test]
    async fn what_was_begun_is_read_to_its_end() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("a.csv");
        store.put(&path, "a,b\n1,2\n".into()).await.unwrap();
        let meta = store.head(&path).await.unwrap();
        let begun = PrefetchedObject::read(&store, &meta, 4, false).await.unwrap();
        assert!(begun.prefix().starts_with(b"a,b\n"));
        let begun = Layered::new(Arc::clone(&store), begun);
        for _ in 0..2 {
            let read = begun.get(&path).await.unwrap().bytes().await.unwrap();
            assert_eq!(read, "a,b\n1,2\n");
        }
    }
}
