//! Presents some records of an object as an object of its own.

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

use super::record_boundaries::{Borders, WithinRecord};
use crate::store::multi_range_get::{Fetch, batches};
use crate::store::ranges::REQUESTS;

/// A store of one object: the concatenation of some ranges of another object, which GETs fetch. With it, DataFusion's
/// reader parses records that are scattered over an object.
#[derive(Debug)]
pub struct RecordRanges {
    fetch: Arc<Fetch>,
    before: Bytes,
    borders: Borders,
    /// The maximum number of ranges in one request.
    together: u32,
    /// The bytes of the ranges, if they are already fetched.
    fetched: Option<Vec<Bytes>>,
}

impl RecordRanges {
    /// The object consists of `before` and the ranges of `borders`, which are fetched with at most `together` ranges
    /// per request.
    #[must_use]
    pub fn new(fetch: Fetch, before: Bytes, borders: Borders, together: u32) -> Self {
        Self { fetch: Arc::new(fetch), before, borders, together, fetched: None }
    }

    /// Fetches and checks all ranges now, so that no row is returned if one of them is not whole records.
    ///
    /// # Errors
    ///
    /// If the ranges cannot be read, or are not whole records: see [`within_record`].
    pub async fn fetch(&mut self) -> Result<()> {
        self.fetched = Some(self.ranges().try_collect().await?);
        Ok(())
    }

    fn ranges(&self) -> BoxStream<'static, Result<Bytes>> {
        if let Some(fetched) = &self.fetched {
            return futures::stream::iter(fetched.clone()).map(Ok).boxed();
        }
        let fetch = Arc::clone(&self.fetch);
        let mut borders = self.borders.clone();
        futures::stream::iter(batches(&borders.to_read(), self.together))
            .map(move |batch| {
                let fetch = Arc::clone(&fetch);
                async move { fetch.batch(batch).await }
            })
            .buffered(REQUESTS)
            .map_ok(|ranges| futures::stream::iter(ranges.into_iter().map(Ok::<_, Error>)))
            .try_flatten()
            .map(move |bytes: Result<Bytes>| {
                let wrong = |within: WithinRecord| Error::Generic {
                    store: "index",
                    source: Box::new(within),
                };
                borders.check(bytes?).map_err(wrong)
            })
            .boxed()
    }
}

/// Returns the place where a range of an object cuts a record, or `None` for other errors.
#[must_use]
pub fn within_record(error: &Error) -> Option<WithinRecord> {
    match error {
        Error::Generic { source, .. } => source.downcast_ref().copied(),
        _ => None,
    }
}

impl fmt::Display for RecordRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of ranges in {}", self.borders.bytes(), self.fetch)
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
        let size = self.before.len() as u64 + self.borders.bytes();
        let before = self.before.clone();
        let bytes = futures::stream::once(async { Ok(before) }).chain(self.ranges());
        Ok(GetResult {
            payload: GetResultPayload::Stream(bytes.boxed()),
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

    use super::*;
    use crate::store::multi_range_get::{ManyRanges, RangesRead};
    use crate::store::ranges::PIECE_BYTES;
    use crate::text::format::Format;

    #[tokio::test]
    async fn ranges_follow_each_other() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("a");
        // The borders of all ranges are line ends.
        let borders = [4, 8, 99, 2 * PIECE_BYTES + 106, 3 * PIECE_BYTES - 2];
        let byte = |n: u64| if borders.contains(&n) { b'}' } else { (n % 251) as u8 };
        let bytes: Vec<u8> = (0..3 * PIECE_BYTES).map(byte).collect();
        store.put(&path, bytes.clone().into()).await.unwrap();
        let object = store.head(&path).await.unwrap();
        let ranges =
            vec![5..9, 100..2 * PIECE_BYTES + 107, bytes.len() as u64 - 1..bytes.len() as u64];
        let set = ExecutionPlanMetricsSet::new();
        let count = |name| MetricBuilder::new(&set).counter(name, 0);
        let counted =
            RangesRead { requests: count("requests"), ranges: count("ranges"), got: count("got") };
        let size = object.size;
        let of = |ranges: &[std::ops::Range<u64>]| {
            let many = Arc::new(ManyRanges::new(None));
            let fetch = Fetch::new(Arc::clone(&store), object.clone(), many, counted.clone());
            let borders = Borders::new(&Format::JsonLines, size, ranges.to_vec());
            RecordRanges::new(fetch, "\n".into(), borders, 1)
        };
        let mut expected = b"\n".to_vec();
        for range in &ranges {
            expected.extend(&bytes[range.start as usize..range.end as usize]);
        }
        let mut some = of(&ranges);
        let read = some.get(&path).await.unwrap().bytes().await.unwrap();
        assert!(read == expected);
        // The byte before each range is fetched, too.
        let counts = || [&counted.requests, &counted.ranges, &counted.got].map(|it| it.value());
        assert_eq!(counts(), [5, 5, expected.len() - 1 + 3]);
        some.fetch().await.unwrap();
        assert_eq!(counts()[0], 10);
        let read = some.get(&path).await.unwrap().bytes().await.unwrap();
        assert!(read == expected && counts()[0] == 10);
        let within = of(&[6..9, 20..21]).fetch().await.unwrap_err();
        assert_eq!(within_record(&within), Some(WithinRecord { offset: 6 }));
        assert!(some.put(&path, "x".into()).await.is_err());
        assert!(some.get_range(&path, 0..1).await.is_err());
    }
}
