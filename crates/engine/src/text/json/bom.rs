//! Replaces the byte order mark at the start of JSON, which some programs write, with blanks.

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, GetResultPayload, ObjectStore, Result};

use crate::context::read_layer::{Layered, ReadLayer};
use crate::text::byte_observer::stream_of;

/// The byte order mark in UTF-8.
pub(crate) const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Wraps a store so that a byte order mark at the start of an object is read as blanks.
pub(crate) fn blanked(store: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
    Arc::new(Layered::new(store, BomStripper))
}

#[derive(Debug)]
struct BomStripper;

#[async_trait]
impl ReadLayer for BomStripper {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> Result<GetResult> {
        let is_head = options.head;
        let mut answer = inner.get_opts(location, options).await?;
        if is_head || answer.range.start > 0 {
            return Ok(answer);
        }
        if let GetResultPayload::File(file, _) = &mut answer.payload
            && !begins_with_mark(file).map_err(local)?
        {
            return Ok(answer);
        }
        let GetResult { payload, meta, range, attributes } = answer;
        let bytes = without_mark(stream_of(payload, range.clone())?);
        Ok(GetResult { payload: GetResultPayload::Stream(bytes), meta, range, attributes })
    }
}

fn local(error: std::io::Error) -> Error {
    Error::Generic { store: "local", source: error.into() }
}

fn begins_with_mark(file: &mut std::fs::File) -> std::io::Result<bool> {
    let mut first = Vec::with_capacity(MARK.len());
    file.seek(SeekFrom::Start(0))?;
    file.by_ref().take(MARK.len() as u64).read_to_end(&mut first)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(first == MARK)
}

fn without_mark(bytes: BoxStream<'static, Result<Bytes>>) -> BoxStream<'static, Result<Bytes>> {
    stream::unfold((bytes, true), |(mut bytes, is_first)| async move {
        if !is_first {
            return Some((bytes.next().await?, (bytes, false)));
        }
        let mut first = Vec::new();
        while first.len() < MARK.len() {
            match bytes.next().await {
                Some(Ok(part)) => first.extend_from_slice(&part),
                Some(Err(error)) => return Some((Err(error), (bytes, false))),
                None if first.is_empty() => return None,
                None => break,
            }
        }
        if first.starts_with(&MARK) {
            first[..MARK.len()].fill(b' ');
        }
        Some((Ok(first.into()), (bytes, false)))
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn only_a_mark_at_the_beginning_is_blank() {
        let read = |parts: Vec<&'static [u8]>| async move {
            let parts = stream::iter(parts.into_iter().map(|part| Ok(Bytes::from_static(part))));
            without_mark(parts.boxed()).try_collect::<Vec<_>>().await.unwrap().concat()
        };
        assert_eq!(read(vec![b"\xef\xbb\xbf{}", b"\xef\xbb\xbf"]).await, b"   {}\xef\xbb\xbf");
        assert_eq!(read(vec![b"\xef", b"\xbb", b"\xbf{", b"}"]).await, b"   {}");
        assert_eq!(read(vec![b"{", b"}"]).await, b"{}");
        assert_eq!(read(vec![]).await, b"");
    }
}
