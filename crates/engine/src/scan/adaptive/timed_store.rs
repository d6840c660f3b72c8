//! A store layer that times answers as they arrive.

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
use object_store::{GetOptions, GetResult, GetResultPayload, ObjectStore};
use sluicegate_costmodel::Requests;

use super::Throughput;
use crate::context::read_layer::ReadLayer;
use crate::store::metrics::NodeMetrics;

/// Reports to a [`Throughput`] when readers wait and how many bytes arrive.
#[derive(Debug)]
pub(super) struct MeasuredStore {
    pub(super) pace: Arc<Throughput>,
    /// Counts requests and bytes.
    pub(super) metrics: NodeMetrics,
    /// The number of GET requests.
    pub(super) requests: Count,
}

/// An answer that arrives.
struct TimedBody {
    answer: BoxStream<'static, object_store::Result<Bytes>>,
    pace: Arc<Throughput>,
    wait: Option<Arc<ReadWait>>,
}

/// A reader that waits for bytes. The wait ends when the reader is woken: it may read the bytes much later, if the
/// rows before them are not consumed.
struct ReadWait {
    pace: Arc<Throughput>,
    is_over: AtomicBool,
    reader: Waker,
}

impl ReadWait {
    fn begin(pace: &Arc<Throughput>, reader: &Waker) -> Arc<Self> {
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

impl ArcWake for ReadWait {
    fn wake_by_ref(wait: &Arc<Self>) {
        wait.end();
        wait.reader.wake_by_ref();
    }
}

impl TimedBody {
    fn end_wait(&mut self) {
        if let Some(wait) = self.wait.take() {
            wait.end();
        }
    }
}

impl Stream for TimedBody {
    type Item = object_store::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let wait = ReadWait::begin(&self.pace, cx.waker());
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

impl Drop for TimedBody {
    fn drop(&mut self) {
        self.end_wait();
    }
}

#[async_trait]
impl ReadLayer for MeasuredStore {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        self.requests.add(1);
        self.metrics.fetched(Requests(1), 0);
        let mut result = inner.get_opts(location, options).await?;
        result.payload = match result.payload {
            GetResultPayload::Stream(answer) => {
                let (pace, metrics) = (Arc::clone(&self.pace), self.metrics.clone());
                let counted = move |bytes: &Bytes| metrics.fetched(Requests(0), bytes.len() as u64);
                let answer = answer.inspect_ok(counted).boxed();
                GetResultPayload::Stream(TimedBody { answer, pace, wait: None }.boxed())
            }
            file @ GetResultPayload::File(..) => file,
        };
        Ok(result)
    }

    fn named(&self, inner: &dyn ObjectStore, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{inner}, measured")
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::channel::mpsc::unbounded;

    use super::super::throughput::tests::fast_link;
    use super::*;

    /// A reader waits until its bytes arrive, however late it reads them.
    #[test]
    fn who_is_woken_waits_no_longer() {
        let pace = Arc::new(fast_link());
        let (sender, answer) = unbounded();
        let mut arriving =
            TimedBody { answer: answer.boxed(), pace: Arc::clone(&pace), wait: None };
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
