//! Some records of an object, as if they were an object.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::physical_plan::metrics::Count;
use futures::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

use crate::index::lookup::{PIECE_BYTES, REQUESTS, get};

/// A store of one object: the bytes of another in some ranges, one after the other, as ranged GETs
/// fetch them. So DataFusion's reader parses records that lie here and there.
#[derive(Debug)]
pub struct RecordRanges {
    store: Arc<dyn ObjectStore>,
    object: ObjectMeta,
    before: Bytes,
    ranges: Arc<[Range<u64>]>,
    requests: Count,
    got: Count,
}

impl RecordRanges {
    /// `before`, and the ranges of `object`, in the version that was listed. GETs and the bytes of
    /// their answers are counted.
    #[must_use]
    pub fn new(
        store: Arc<dyn ObjectStore>,
        object: ObjectMeta,
        before: Bytes,
        ranges: Vec<Range<u64>>,
        (requests, got): (Count, Count),
    ) -> Self {
        Self { store, object, before, ranges: ranges.into(), requests, got }
    }

    fn bytes(&self) -> BoxStream<'static, Result<Bytes>> {
        let pieces: Vec<_> = self.ranges.iter().flat_map(pieces).collect();
        let (store, object) = (Arc::clone(&self.store), self.object.clone());
        let (requests, got) = (self.requests.clone(), self.got.clone());
        let fetched = futures::stream::iter(pieces)
            .map(move |piece| {
                let (store, object) = (Arc::clone(&store), object.clone());
                let (requests, got) = (requests.clone(), got.clone());
                async move {
                    requests.add(1);
                    let bytes = get(&store, &object.location, object.e_tag.as_ref(), piece).await?;
                    got.add(bytes.len());
                    Ok(bytes)
                }
            })
            .buffered(REQUESTS);
        let before = self.before.clone();
        futures::stream::once(async { Ok(before) }).chain(fetched).boxed()
    }
}

/// A range in parts that one request each asks for.
fn pieces(range: &Range<u64>) -> Vec<Range<u64>> {
    let starts = (range.start..range.end).step_by(PIECE_BYTES as usize);
    starts.map(|start| start..range.end.min(start + PIECE_BYTES)).collect()
}

impl fmt::Display for RecordRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ranges of {} in {}", self.ranges.len(), self.object.location, self.store)
    }
}

fn only_read<T>() -> Result<T> {
    Err(Error::NotSupported { source: "some records of an object can only be read".into() })
}

#[async_trait]
impl ObjectStore for RecordRanges {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        only_read()
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        only_read()
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if *location != self.object.location || options.range.is_some() {
            return only_read();
        }
        let size = self.before.len() as u64
            + self.ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        Ok(GetResult {
            payload: GetResultPayload::Stream(self.bytes()),
            meta: ObjectMeta { size, ..self.object.clone() },
            range: 0..size,
            attributes: Attributes::default(),
        })
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        futures::stream::once(async { only_read() }).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        futures::stream::once(async { only_read() }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        only_read()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        only_read()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn ranges_follow_each_other() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("a");
        let bytes: Vec<u8> = (0..3 * PIECE_BYTES).map(|n| (n % 251) as u8).collect();
        store.put(&path, bytes.clone().into()).await.unwrap();
        let object = store.head(&path).await.unwrap();
        let ranges =
            vec![5..9, 100..2 * PIECE_BYTES + 107, bytes.len() as u64 - 1..bytes.len() as u64];
        let set = ExecutionPlanMetricsSet::new();
        let count = |name| MetricBuilder::new(&set).counter(name, 0);
        let (requests, got) = (count("requests"), count("got"));
        let some = RecordRanges::new(
            Arc::clone(&store),
            object,
            "\n".into(),
            ranges.clone(),
            (requests.clone(), got.clone()),
        );
        let read = some.get(&path).await.unwrap().bytes().await.unwrap();
        let mut expected = b"\n".to_vec();
        for range in ranges {
            expected.extend(&bytes[range.start as usize..range.end as usize]);
        }
        assert!(read == expected);
        assert_eq!((requests.value(), got.value()), (5, expected.len() - 1));
        assert!(some.put(&path, "x".into()).await.is_err());
        assert!(some.get_range(&path, 0..1).await.is_err());
    }
}
