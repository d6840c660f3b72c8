use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, ObjectMeta, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, UploadPart,
};

/// Counts the events of a store's uploads.
#[derive(Debug, Default)]
struct Uploads {
    parts: AtomicU64,
    completed: AtomicU64,
    aborted: AtomicU64,
}

/// A store in memory that counts, and fails or hangs at a given part.
#[derive(Debug)]
struct Watched {
    inner: InMemory,
    uploads: Arc<Uploads>,
    fail_at: Option<u64>,
    hang_at: Option<u64>,
}

impl Watched {
    fn new() -> Self {
        Self { inner: InMemory::new(), uploads: Arc::default(), fail_at: None, hang_at: None }
    }
}

impl std::fmt::Display for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watched")
    }
}

#[derive(Debug)]
struct WatchedUpload {
    inner: Box<dyn MultipartUpload>,
    uploads: Arc<Uploads>,
    fail_at: Option<u64>,
    hang_at: Option<u64>,
}

#[async_trait::async_trait]
impl MultipartUpload for WatchedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let index = self.uploads.parts.fetch_add(1, Ordering::SeqCst);
        if self.fail_at == Some(index) {
            let source = "disk full".into();
            let error = object_store::Error::Generic { store: "Watched", source };
            return Box::pin(std::future::ready(Err(error)));
        }
        if self.hang_at == Some(index) {
            return Box::pin(std::future::pending());
        }
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> object_store::Result<PutResult> {
        self.uploads.completed.fetch_add(1, Ordering::SeqCst);
        self.inner.complete().await
    }

    async fn abort(&mut self) -> object_store::Result<()> {
        self.uploads.aborted.fetch_add(1, Ordering::SeqCst);
        self.inner.abort().await
    }
}

#[async_trait::async_trait]
impl ObjectStore for Watched {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        Ok(Box::new(WatchedUpload {
            inner: self.inner.put_multipart_opts(location, options).await?,
            uploads: Arc::clone(&self.uploads),
            fail_at: self.fail_at,
            hang_at: self.hang_at,
        }))
    }

    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        self.inner.get_opts(location, options).await
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

const MIB: usize = 1 << 20;

/// Returns bytes that differ from part to part.
fn content(size: usize) -> Vec<u8> {
    (0..size).map(|index| (index / 1000) as u8).collect()
}

fn write(size: usize) -> impl FnOnce(&mut PartWriter) -> io::Result<()> + Send + 'static {
    move |out| {
        for chunk in content(size).chunks(100_000) {
            out.write_all(chunk)?;
            out.count(1);
        }
        Ok(())
    }
}

#[track_caller]
fn check(size: usize, expected_parts: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (store, path) = (Watched::new(), Path::from("a"));
        let seen = AtomicU64::new(0);
        let on_part = |_rows, bytes| {
            seen.fetch_add(bytes, Ordering::SeqCst);
        };
        let totals = upload(&store, &path, write(size), on_part).await.unwrap();
        assert_eq!(totals, (size.div_ceil(100_000) as u64, size as u64));
        assert_eq!(seen.into_inner(), size as u64);
        assert_eq!(store.uploads.parts.load(Ordering::SeqCst), expected_parts);
        assert_eq!(store.uploads.aborted.load(Ordering::SeqCst), 0);
        let stored = store.get(&path).await.unwrap().bytes().await.unwrap();
        assert!(stored == content(size), "{} bytes came back", stored.len());
    });
}

#[test]
fn objects_arrive_whole_in_as_many_parts_as_needed() {
    check(0, 0);
    check(1, 0);
    check(8 * MIB, 0);
    check(8 * MIB + 1, 2);
    check(33 * MIB, 5);
}

#[test]
fn parts_stay_within_what_s3_takes() {
    let largest: u64 = (0..10_000).map(|index| part_bytes(index) as u64).sum();
    assert!(largest >= 5 << 40);
    assert!((0..10_000).all(|index| (5 << 20..=5 << 30).contains(&part_bytes(index))));
}

#[tokio::test]
async fn a_failing_store_leaves_nothing_behind() {
    let store = Watched { fail_at: Some(2), ..Watched::new() };
    let error = upload(&store, &Path::from("a"), write(64 * MIB), |_, _| ()).await.unwrap_err();
    assert!(error.to_string().contains("cannot write `a`"), "{error}");
    assert!(error.to_string().contains("disk full"), "{error}");
    assert_eq!(store.uploads.aborted.load(Ordering::SeqCst), 1);
    assert_eq!(store.uploads.completed.load(Ordering::SeqCst), 0);
    assert!(store.head(&Path::from("a")).await.is_err());
}

#[tokio::test]
async fn a_failing_writer_leaves_nothing_behind() {
    for size in [10, 30 * MIB] {
        let store = Watched::new();
        let failing = move |out: &mut PartWriter| {
            out.write_all(&content(size))?;
            Err(io::Error::other("out of rows"))
        };
        let error = upload(&store, &Path::from("a"), failing, |_, _| ()).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot generate `a`: out of rows");
        assert!(store.head(&Path::from("a")).await.is_err());
        let begun = u64::from(size > 8 * MIB);
        assert_eq!(store.uploads.aborted.load(Ordering::SeqCst), begun);
    }
}

#[tokio::test]
async fn a_panicking_writer_is_an_error() {
    let store = Watched::new();
    let panicking = |_: &mut PartWriter| -> io::Result<()> { panic!("on purpose") };
    let error = upload(&store, &Path::from("a"), panicking, |_, _| ()).await.unwrap_err();
    assert!(matches!(error, Error::Generate { .. }), "{error}");
}

/// Dropping the future stops the writer and aborts the upload.
#[tokio::test]
async fn a_dropped_upload_is_aborted() {
    let store = Watched { hang_at: Some(1), ..Watched::new() };
    let (stopped, writer_stopped) = tokio::sync::oneshot::channel();
    let endless = move |out: &mut PartWriter| {
        let chunk = content(MIB);
        let error = loop {
            if let Err(error) = out.write_all(&chunk) {
                break error;
            }
        };
        stopped.send(()).unwrap();
        Err(error)
    };
    let path = Path::from("a");
    let mut running = Box::pin(upload(&store, &path, endless, |_, _| ()));
    // Wait until the second part hangs.
    while store.uploads.parts.load(Ordering::SeqCst) < 2 {
        let step = tokio::time::sleep(Duration::from_millis(1));
        tokio::select! {
            _ = &mut running => unreachable!("the writer never ends"),
            () = step => {}
        }
    }
    drop(running);
    writer_stopped.await.unwrap();
    while store.uploads.aborted.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.uploads.completed.load(Ordering::SeqCst), 0);
    assert!(store.head(&path).await.is_err());
}
