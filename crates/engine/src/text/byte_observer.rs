//! Inspects bytes on their way from a store to a reader.

use std::error::Error as StdError;
use std::fmt::Debug;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, GetResultPayload, ObjectStore};

use crate::context::read_layer::{Layered, ReadLayer};

/// An inspector of the bytes of one file, which is read once from its first byte to its last, or in one part.
pub(crate) trait ByteObserver: Debug + Send + 'static {
    /// The error that it returns.
    type Error: StdError + Send + Sync + 'static;

    /// Inspects bytes, the first of which is at the offset `at`.
    ///
    /// # Errors
    ///
    /// If the bytes are not acceptable.
    fn pass(&mut self, at: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Called at the end of the file.
    ///
    /// # Errors
    ///
    /// If the end is not acceptable.
    fn end(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Wraps the store of one file so that `watch` inspects the bytes that are read.
pub(crate) fn watched<W: ByteObserver>(
    store: Arc<dyn ObjectStore>,
    watch: W,
) -> Arc<dyn ObjectStore> {
    Arc::new(Layered::new(store, ObservedStore(Arc::new(Mutex::new(watch)))))
}

#[derive(Debug)]
struct ObservedStore<W>(Arc<Mutex<W>>);

fn observer_error(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::Generic { store: "watched", source: Box::new(error) }
}

#[async_trait]
impl<W: ByteObserver> ReadLayer for ObservedStore<W> {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        let is_head = options.head;
        let answer = inner.get_opts(location, options).await?;
        if is_head {
            return Ok(answer);
        }
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let attributes = answer.attributes.clone();
        let is_last = range.end >= meta.size;
        let bytes = stream_of(answer.payload, range.clone())?;
        let start = (bytes, Some(range.start));
        let watch = Arc::clone(&self.0);
        let bytes = stream::unfold(start, move |(mut bytes, at)| {
            let watch = Arc::clone(&watch);
            async move {
                let at = at?;
                let next = bytes.next().await;
                let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
                match next {
                    Some(Ok(part)) => match watch.pass(at, &part) {
                        Ok(()) => {
                            let at = at + part.len() as u64;
                            Some((Ok(part), (bytes, Some(at))))
                        }
                        Err(error) => Some((Err(observer_error(error)), (bytes, None))),
                    },
                    Some(Err(error)) => Some((Err(error), (bytes, None))),
                    None if is_last => {
                        watch.end().err().map(|error| (Err(observer_error(error)), (bytes, None)))
                    }
                    None => None,
                }
            }
        });
        let payload = GetResultPayload::Stream(bytes.boxed());
        Ok(GetResult { payload, meta, range, attributes })
    }
}

/// The number of bytes of a local file that are read at a time.
const PART_BYTES: u64 = 64 << 10;

/// Returns the bytes of an answer. Local files are read synchronously, as DataFusion does.
pub(crate) fn stream_of(
    payload: GetResultPayload,
    range: Range<u64>,
) -> object_store::Result<BoxStream<'static, object_store::Result<Bytes>>> {
    let local = |error: std::io::Error| Error::Generic { store: "local", source: error.into() };
    match payload {
        GetResultPayload::Stream(bytes) => Ok(bytes),
        GetResultPayload::File(mut file, _) => {
            file.seek(SeekFrom::Start(range.start)).map_err(local)?;
            let bytes = stream::try_unfold((file, range), move |(mut file, left)| async move {
                let most = PART_BYTES.min(left.end - left.start);
                let mut bytes = Vec::with_capacity(usize::try_from(most).unwrap_or(0));
                let read = file.by_ref().take(most).read_to_end(&mut bytes).map_err(local)?;
                let left = left.start + read as u64..left.end;
                Ok((read > 0).then(|| (Bytes::from(bytes), (file, left))))
            });
            Ok(bytes.boxed())
        }
    }
}
