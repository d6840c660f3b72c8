//! Some records of an object, as if they were an object.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

use super::many_ranges::{Batch, Fetch, ManyRanges, RangesRead};
use crate::index::lookup::REQUESTS;

/// A store of one object: the bytes of another in some ranges, one after the other, as GETs fetch them.
/// So DataFusion's reader parses records that lie here and there.
#[derive(Debug)]
pub struct RecordRanges {
    fetch: Arc<Fetch>,
    before: Bytes,
    batches: Vec<Batch>,
}

impl RecordRanges {
    /// `before`, and the ranges of `object`, in the version that was listed. What is asked for is
    /// counted.
    #[must_use]
    pub fn new(
        store: Arc<dyn ObjectStore>,
        object: ObjectMeta,
        before: Bytes,
        batches: Vec<Batch>,
        many: Arc<ManyRanges>,
        read: RangesRead,
    ) -> Self {
        Self { fetch: Arc::new(Fetch::new(store, object, many, read)), before, batches }
    }

    fn bytes(&self) -> BoxStream<'static, Result<Bytes>> {
        let fetch = Arc::clone(&self.fetch);
        let fetched = futures::stream::iter(self.batches.clone())
            .map(move |batch| {
                let fetch = Arc::clone(&fetch);
                async move { fetch.batch(batch).await }
            })
            .buffered(REQUESTS)
            .map_ok(|ranges| futures::stream::iter(ranges.into_iter().map(Ok)))
            .try_flatten();
        let before = self.before.clone();
        futures::stream::once(async { Ok(before) }).chain(fetched).boxed()
    }
}

impl fmt::Display for RecordRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests for ranges in {}", self.batches.len(), self.fetch)
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
        let object = self.fetch.object();
        if *location != object.location || options.range.is_some() {
            return only_read();
        }
        let ranges = self.batches.iter().flatten().map(|range| range.end - range.start);
        let size = self.before.len() as u64 + ranges.sum::<u64>();
        Ok(GetResult {
            payload: GetResultPayload::Stream(self.bytes()),
            meta: ObjectMeta { size, ..object.clone() },
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

    use super::super::many_ranges::batches;
    use super::*;
    use crate::index::lookup::PIECE_BYTES;

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
        let counted =
            RangesRead { requests: count("requests"), ranges: count("ranges"), got: count("got") };
        let some = RecordRanges::new(
            Arc::clone(&store),
            object,
            "\n".into(),
            batches(&ranges, 1),
            Arc::new(ManyRanges::new(None)),
            counted.clone(),
        );
        let read = some.get(&path).await.unwrap().bytes().await.unwrap();
        let mut expected = b"\n".to_vec();
        for range in ranges {
            expected.extend(&bytes[range.start as usize..range.end as usize]);
        }
        assert!(read == expected);
        let values = [counted.requests, counted.ranges, counted.got].map(|count| count.value());
        assert_eq!(values, [5, 5, expected.len() - 1]);
        assert!(some.put(&path, "x".into()).await.is_err());
        assert!(some.get_range(&path, 0..1).await.is_err());
    }
}
