//! A store whose answers are timed as they arrive.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::physical_plan::metrics::Count;
use futures::stream::{BoxStream, Stream, StreamExt, TryStreamExt};
use futures::task::{ArcWake, waker};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use sluicegate_costmodel::Requests;

use super::Pace;
use crate::metrics::NodeMetrics;

/// A store that tells a [`Pace`] when readers wait and what arrives.
#[derive(Debug)]
pub(super) struct MeasuredStore {
    inner: Arc<dyn ObjectStore>,
    pace: Arc<Pace>,
    metrics: NodeMetrics,
    requests: Count,
}

impl MeasuredStore {
    /// Counts requests in `requests`, and what they cost among `metrics`.
    pub(super) fn new(
        inner: Arc<dyn ObjectStore>,
        pace: Arc<Pace>,
        metrics: NodeMetrics,
        requests: Count,
    ) -> Self {
        Self { inner, pace, metrics, requests }
    }
}

impl fmt::Display for MeasuredStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, measured", self.inner)
    }
}

/// An answer that arrives.
struct Arriving {
    answer: BoxStream<'static, object_store::Result<Bytes>>,
    pace: Arc<Pace>,
    wait: Option<Arc<Wait>>,
}

/// A reader that waits for bytes, until it is woken: it may come round to reading them much later, if
/// the rows before them are not consumed.
struct Wait {
    pace: Arc<Pace>,
    is_over: AtomicBool,
    reader: Waker,
}

impl Wait {
    fn begin(pace: &Arc<Pace>, reader: &Waker) -> Arc<Self> {
        pace.waits(Instant::now());
        let (pace, reader) = (Arc::clone(pace), reader.clone());
        Arc::new(Self { pace, is_over: AtomicBool::new(false), reader })
    }

    fn end(&self) {
        if !self.is_over.swap(true, Ordering::Relaxed) {
            self.pace.waited(Instant::now());
        }
    }
}

impl ArcWake for Wait {
    fn wake_by_ref(wait: &Arc<Self>) {
        wait.end();
        wait.reader.wake_by_ref();
    }
}

impl Arriving {
    fn end_wait(&mut self) {
        if let Some(wait) = self.wait.take() {
            wait.end();
        }
    }
}

impl Stream for Arriving {
    type Item = object_store::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let wait = Wait::begin(&self.pace, cx.waker());
        self.end_wait();
        self.wait = Some(Arc::clone(&wait));
        let polled = self.answer.poll_next_unpin(&mut Context::from_waker(&waker(wait)));
        if let Poll::Ready(item) = &polled {
            self.end_wait();
            if let Some(Ok(bytes)) = item {
                self.pace.arrived(bytes.len());
            }
        }
        polled
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.end_wait();
    }
}

#[async_trait]
impl ObjectStore for MeasuredStore {
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

    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        self.requests.add(1);
        self.metrics.fetched(Requests(1), 0);
        let mut result = self.inner.get_opts(location, options).await?;
        result.payload = match result.payload {
            GetResultPayload::Stream(answer) => {
                let (pace, metrics) = (Arc::clone(&self.pace), self.metrics.clone());
                let counted = move |bytes: &Bytes| metrics.fetched(Requests(0), bytes.len() as u64);
                let answer = answer.inspect_ok(counted).boxed();
                GetResultPayload::Stream(Arriving { answer, pace, wait: None }.boxed())
            }
            file @ GetResultPayload::File(..) => file,
        };
        Ok(result)
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
    use futures::FutureExt;
    use futures::channel::mpsc::unbounded;

    use super::super::pace::tests::pace_of_a_fast_link;
    use super::*;

    /// A reader waits until its bytes are there, however late it comes round to them.
    #[test]
    fn who_is_woken_waits_no_longer() {
        let pace = Arc::new(pace_of_a_fast_link());
        let (sender, answer) = unbounded();
        let mut arriving = Arriving { answer: answer.boxed(), pace: Arc::clone(&pace), wait: None };
        for _ in 0..2 {
            assert!(arriving.next().now_or_never().is_none());
            assert_eq!(pace.readers(), 1);
        }
        sender.unbounded_send(Ok(Bytes::from_static(b"abc"))).unwrap();
        assert_eq!(pace.readers(), 0);
        let bytes = arriving.next().now_or_never().unwrap().unwrap().unwrap();
        assert_eq!((bytes.len(), pace.readers()), (3, 0));
        assert!(arriving.next().now_or_never().is_none());
        assert_eq!(pace.readers(), 1);
        drop(arriving);
        assert_eq!(pace.readers(), 0);
    }
}
