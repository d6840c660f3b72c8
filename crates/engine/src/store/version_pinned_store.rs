//! Pins the versions of objects during a query.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload,
    ListResult, MultipartUpload, OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    coalesce_ranges,
};

use sluicegate_client::Error as StoreError;

use crate::store::endpoints::bucket_of;
use crate::store::multi_range_get::RequestedRanges;

/// A store for one query that pins the version of every object: the version that the query saw first, in a listing or
/// by reading. Reading another version fails. Without this store, the ranges of an object that is replaced while it
/// is read would come from different versions, and ranges that were planned for the old length would miss the rest of
/// the new object.
#[derive(Debug)]
pub(crate) struct VersionPinnedStore {
    inner: Arc<dyn ObjectStore>,
    seen: Arc<PinnedVersions>,
    /// The largest gap between two ranges that one request reads.
    gap: u64,
}

impl VersionPinnedStore {
    /// Pins the versions of `seen`, to which later ones are added.
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, seen: Arc<PinnedVersions>) -> Self {
        Self { inner, seen, gap: OBJECT_STORE_COALESCE_DEFAULT }
    }

    /// Sets the largest gap between two ranges that one request reads.
    pub(crate) fn reading_gaps(self, gap: u64) -> Self {
        Self { gap, ..self }
    }
}

/// The versions of the objects that a query reads, for all buckets. A part of a plan that was made elsewhere begins
/// with the versions of the plan, which may differ from those in the store.
#[derive(Debug, Default)]
pub struct Versions(Mutex<HashMap<String, Arc<PinnedVersions>>>);

impl Versions {
    /// Returns the versions of the objects of a bucket.
    pub(crate) fn for_bucket(&self, bucket: &str) -> Arc<PinnedVersions> {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(buckets.entry(bucket.to_owned()).or_default())
    }

    /// Notes the versions of a scan's files as listed.
    pub(crate) fn note_files(&self, files: &FileScanConfig) {
        let Some(bucket) = bucket_of(&files.object_store_url) else { return };
        let seen = self.for_bucket(bucket);
        for file in files.file_groups.iter().flat_map(FileGroup::iter) {
            seen.note(&file.object_meta);
        }
    }
}

/// The entity tags and sizes of the objects seen so far.
#[derive(Debug, Default)]
pub(crate) struct PinnedVersions(Mutex<HashMap<Path, (String, u64)>>);

/// The result of comparing an object with an earlier version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PinOutcome {
    Same,
    OtherVersion,
    /// The version is the same, so one of the sizes was damaged in transit.
    OtherSize,
}

impl PinnedVersions {
    fn tag(&self, location: &Path) -> Option<String> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(location).map(|(tag, _)| tag.clone())
    }

    /// Records an object that is seen for the first time, or compares it with the recorded version.
    fn note(&self, object: &ObjectMeta) -> PinOutcome {
        let Some(tag) = &object.e_tag else { return PinOutcome::Same };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || (tag.clone(), object.size);
        let (first, size) = seen.entry(object.location.clone()).or_insert_with(new);
        // Some stores quote tags in headers but not in listings.
        match first.trim_matches('"') == tag.trim_matches('"') {
            true if *size == object.size => PinOutcome::Same,
            true => PinOutcome::OtherSize,
            false => PinOutcome::OtherVersion,
        }
    }

    fn forget(&self, location: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(location);
    }
}

/// Returns whether an answer comes from a web server. Stores send the version of an object.
fn is_page(result: &GetResult) -> bool {
    let kind = result.attributes.get(&Attribute::ContentType);
    result.meta.e_tag.is_none() && kind.is_some_and(|kind| kind.starts_with("text/html"))
}

impl fmt::Display for VersionPinnedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

/// Returns the answer to a GET of an empty range, which a store would refuse. DataFusion requests the columns of row
/// groups without rows.
fn nothing(location: &Path, options: &GetOptions) -> Option<GetResult> {
    let Some(GetRange::Bounded(range)) = &options.range else { return None };
    let meta = ObjectMeta {
        location: location.clone(),
        last_modified: DateTime::UNIX_EPOCH,
        size: range.end,
        e_tag: None,
        version: None,
    };
    (range.is_empty() && !options.head).then(|| GetResult {
        payload: GetResultPayload::Stream(futures::stream::empty().boxed()),
        meta,
        range: range.clone(),
        attributes: Attributes::default(),
    })
}

/// Returns the error for an answer of another length than its range.
#[cold]
fn short_answer(location: &Path, range: &Range<u64>, length: usize) -> Error {
    let expected = range.end - range.start;
    let source =
        format!("of {expected} bytes of {location} from byte {}, {length} arrived", range.start);
    Error::Generic { store: "S3", source: source.into() }
}

#[async_trait]
impl ObjectStore for VersionPinnedStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.seen.forget(location);
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.seen.forget(location);
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, mut options: GetOptions) -> Result<GetResult> {
        if let Some(nothing) = nothing(location, &options) {
            return Ok(nothing);
        }
        // The answer to a HEAD is compared when the object is read.
        let free = options.head || options.version.is_some() || options.if_match.is_some();
        if !free {
            options.if_match = self.seen.tag(location);
        }
        let first_read = !free && options.if_match.is_none();
        // The size in an answer with several ranges is not that of the object.
        let in_parts = options.extensions.get::<RequestedRanges>().is_some();
        let result = self.inner.get_opts(location, options).await?;
        if is_page(&result) {
            let (endpoint, why) =
                ("the endpoint".to_owned(), "it answers with a web page".to_owned());
            let source = Box::new(StoreError::NoStore { endpoint, why });
            return Err(Error::Generic { store: "S3", source });
        }
        let source = match self.seen.note(&result.meta) {
            PinOutcome::OtherVersion if first_read => "another version was read at the same time",
            PinOutcome::OtherSize if !in_parts => "it was said to have another size before",
            _ => return Ok(result),
        };
        Err(Error::Precondition { path: location.to_string(), source: source.into() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let fetch = |range: Range<u64>| async move {
            let bytes = self.get_range(location, range.clone()).await?;
            match bytes.len() as u64 == range.end - range.start {
                true => Ok(bytes),
                false => Err(short_answer(location, &range, bytes.len())),
            }
        };
        coalesce_ranges(ranges, fetch, self.gap).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let seen = Arc::clone(&self.seen);
        self.inner.delete_stream(locations.inspect_ok(move |path| seen.forget(path)).boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let seen = Arc::clone(&self.seen);
        self.inner
            .list(prefix)
            .inspect_ok(move |object| {
                seen.note(object);
            })
            .boxed()
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let seen = Arc::clone(&self.seen);
        let listed = self.inner.list_with_offset(prefix, offset);
        listed
            .inspect_ok(move |object| {
                seen.note(object);
            })
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let listed = self.inner.list_with_delimiter(prefix).await?;
        listed.objects.iter().for_each(|object| {
            self.seen.note(object);
        });
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.seen.forget(to);
        self.inner.copy_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::{GetRange, ObjectStoreExt};

    use super::*;
    use crate::context::read_layer::{Layered, ReadLayer};

    async fn put(store: &dyn ObjectStore, bytes: &'static str) {
        store.put(&Path::from("a"), bytes.into()).await.unwrap();
    }

    fn one(inner: Arc<dyn ObjectStore>) -> VersionPinnedStore {
        VersionPinnedStore::new(inner, Arc::default())
    }

    async fn get(store: &dyn ObjectStore, from: u64) -> Result<String> {
        let options = GetOptions { range: Some(GetRange::Offset(from)), ..GetOptions::default() };
        let bytes = store.get_opts(&Path::from("a"), options).await?.bytes().await?;
        Ok(String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[track_caller]
    fn changed(result: Result<String>) {
        assert!(matches!(result, Err(Error::Precondition { .. })), "{result:?}");
    }

    #[tokio::test]
    async fn the_version_that_was_listed_or_read_first_is_the_one_that_is_read() {
        let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        put(inner.as_ref(), "old").await;
        let (listed, read, headed) =
            (one(Arc::clone(&inner)), one(Arc::clone(&inner)), one(Arc::clone(&inner)));
        listed.list(None).try_collect::<Vec<_>>().await.unwrap();
        assert_eq!(get(&read, 1).await.unwrap(), "ld");
        headed.head(&Path::from("a")).await.unwrap();
        for store in [&listed, &read, &headed] {
            assert_eq!(get(store, 0).await.unwrap(), "old");
        }
        put(inner.as_ref(), "newer").await;
        for store in [&listed, &read, &headed] {
            changed(get(store, 0).await);
            // Another listing or HEAD does not accept the new version.
            store.list(None).try_collect::<Vec<_>>().await.unwrap();
            store.head(&Path::from("a")).await.unwrap();
            changed(get(store, 3).await);
        }
        assert_eq!(get(&one(inner), 3).await.unwrap(), "er");
    }

    #[tokio::test]
    async fn a_listing_that_tells_another_size_is_noticed() {
        let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        put(inner.as_ref(), "old").await;
        let store = one(Arc::clone(&inner));
        let listed: Vec<ObjectMeta> = inner.list(None).try_collect().await.unwrap();
        assert_eq!(store.seen.note(&ObjectMeta { size: 2, ..listed[0].clone() }), PinOutcome::Same);
        changed(get(&store, 0).await);
        changed(get(&store, 1).await);
    }

    #[tokio::test]
    async fn what_the_query_writes_itself_it_can_read() {
        let store = one(Arc::new(InMemory::new()));
        put(&store, "one").await;
        assert_eq!(get(&store, 0).await.unwrap(), "one");
        put(&store, "two").await;
        assert_eq!(get(&store, 0).await.unwrap(), "two");
    }

    /// Leaves out the last byte of every answer.
    #[derive(Debug)]
    struct Shortened;

    #[async_trait]
    impl ReadLayer for Shortened {
        async fn get(
            &self,
            inner: &dyn ObjectStore,
            location: &Path,
            options: GetOptions,
        ) -> Result<GetResult> {
            let GetResult { payload, meta, range, attributes } =
                inner.get_opts(location, options).await?;
            drop(payload);
            let bytes = Bytes::from(vec![0; (range.end - range.start) as usize - 1]);
            let payload = futures::stream::once(async { Ok(bytes) }).boxed();
            Ok(GetResult { payload: GetResultPayload::Stream(payload), meta, range, attributes })
        }
    }

    #[tokio::test]
    async fn ranges_that_arrive_short_are_an_error() {
        let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        put(inner.as_ref(), "some bytes").await;
        let whole = one(Arc::clone(&inner)).get_ranges(&Path::from("a"), &[1..3, 5..9]).await;
        assert_eq!(whole.unwrap(), ["om", "byte"]);
        let short = one(Arc::new(Layered::new(inner, Shortened)));
        let error =
            short.get_ranges(&Path::from("a"), &[1..3, 8..10]).await.unwrap_err().to_string();
        assert!(error.contains("of 9 bytes of a from byte 1, 8 arrived"), "{error}");
    }
}
