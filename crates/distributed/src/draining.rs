//! The shutdown of a worker: running queries finish, and new ones are refused.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Frame, SizeHint};
use sluicegate_engine::{ErrorKind, UserError};
use tokio::sync::Notify;
use tonic::Status;
use tonic::body::Body;
use tower::Service;

/// The header that identifies the query that a part of a plan belongs to.
const QUERY: &str = "x-sluice-query";

/// Returns this header for a new query of a session.
pub(crate) fn query_header(session: &str) -> HeaderMap {
    static QUERIES: AtomicU64 = AtomicU64::new(0);
    let text = format!("{session}-{}", QUERIES.fetch_add(1, Ordering::Relaxed));
    let value = HeaderValue::from_str(&text);
    value
        .map(|value| HeaderMap::from_iter([(HeaderName::from_static(QUERY), value)]))
        .unwrap_or_default()
}

/// The queries that have parts on this worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draining {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
    over: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    /// The number of running parts, by query.
    parts: HashMap<String, usize>,
}

/// A running part of a query. Dropping it ends the part.
#[derive(Debug)]
pub(crate) struct RunningTask {
    query: String,
    all: Draining,
}

impl Draining {
    /// Registers a part of a query.
    ///
    /// # Errors
    ///
    /// If the worker is stopping and no other part of the query runs here.
    fn begin(&self, query: &str) -> Result<RunningTask, Status> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopping && !state.parts.contains_key(query) {
            let told = UserError {
                kind: ErrorKind::Unavailable,
                message: "a worker stops, and begins no queries".to_owned(),
                hint: Some(
                    "Run the query again when it is back, or without it in --workers.".to_owned(),
                ),
            };
            return Err(Status::unavailable(told.to_text()));
        }
        *state.parts.entry(query.to_owned()).or_default() += 1;
        Ok(RunningTask { query: query.to_owned(), all: self.clone() })
    }

    /// Refuses new queries, and waits until the running ones end.
    pub(crate) async fn drained(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stopping = true;
        loop {
            let changed = self.changed.notified();
            if self.state.lock().unwrap_or_else(PoisonError::into_inner).parts.is_empty() {
                self.over.notify_one();
                return;
            }
            changed.await;
        }
    }

    /// Waits until [`Draining::drained`] has returned.
    pub(crate) async fn was_drained(&self) {
        self.over.notified().await;
    }
}

/// A wrapper of the worker's service that registers the query of each request until its answer ends. For each part of
/// a plan, the coordinator keeps one request open until the query is over.
#[derive(Debug, Clone)]
pub(crate) struct TrackedService<S> {
    inner: S,
    all: Draining,
}

impl Draining {
    pub(crate) fn around<S>(&self, inner: S) -> TrackedService<S> {
        TrackedService { inner, all: self.clone() }
    }
}

impl<S, B> Service<Request<B>> for TrackedService<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let query = request.headers().get(QUERY).and_then(|value| value.to_str().ok());
        let part = match query.map(|query| self.all.begin(query)).transpose() {
            Ok(part) => part,
            Err(refused) => return Box::pin(async move { Ok(refused.into_http()) }),
        };
        let answer = self.inner.call(request);
        Box::pin(
            async move { Ok(answer.await?.map(|body| Body::new(Guarded { body, _part: part }))) },
        )
    }
}

/// The body of an answer. It keeps a part of a query registered until it is dropped.
struct Guarded {
    body: Body,
    _part: Option<RunningTask>,
}

impl http_body::Body for Guarded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let mut state = self.all.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parts) = state.parts.get_mut(&self.query) {
            *parts -= 1;
            if *parts == 0 {
                state.parts.remove(&self.query);
                self.all.changed.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn what_runs_ends_and_nothing_begins() {
        let all = Draining::default();
        let first = all.begin("one").unwrap();
        let waiting = async {
            tokio::task::yield_now().await;
            // A running query may send further parts.
            let second = all.begin("one").unwrap();
            let error = all.begin("other").unwrap_err().to_string();
            assert!(error.contains("stops"), "{error}");
            drop(first);
            tokio::task::yield_now().await;
            drop(second);
        };
        let both = async { tokio::join!(all.drained(), waiting) };
        timeout(Duration::from_secs(10), both).await.unwrap();
        timeout(Duration::from_secs(10), all.drained()).await.unwrap();
    }
}
