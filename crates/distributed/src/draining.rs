//! A worker that stops: it ends the queries that run, and begins none.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result};
use http::{HeaderMap, HeaderName, HeaderValue};
use sluicegate_engine::{ErrorKind, Told};
use tokio::sync::Notify;

/// The header that says which query a part of a plan belongs to.
const QUERY: &str = "x-sluice-query";

/// That header of a new query of a session.
pub(crate) fn query_header(session: &str) -> HeaderMap {
    static QUERIES: AtomicU64 = AtomicU64::new(0);
    let text = format!("{session}-{}", QUERIES.fetch_add(1, Ordering::Relaxed));
    let value = HeaderValue::from_str(&text);
    value
        .map(|value| HeaderMap::from_iter([(HeaderName::from_static(QUERY), value)]))
        .unwrap_or_default()
}

/// The queries that have parts on a worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draining {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    /// How many parts of each query there are.
    parts: HashMap<String, usize>,
}

/// A part of a query, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningPart {
    query: String,
    all: Draining,
}

impl Draining {
    /// A part of the query that these headers name.
    ///
    /// # Errors
    ///
    /// If the worker stops, and no other part of the query runs here.
    pub(crate) fn begin(&self, headers: &HeaderMap) -> Result<RunningPart> {
        let query = headers.get(QUERY).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopping && !state.parts.contains_key(query) {
            let told = Told {
                kind: ErrorKind::Unavailable,
                message: "a worker stops, and begins no queries".to_owned(),
                hint: Some(
                    "Run the query again when it is back, or without it in --workers.".to_owned(),
                ),
            };
            return Err(DataFusionError::Execution(told.to_text()));
        }
        *state.parts.entry(query.to_owned()).or_default() += 1;
        Ok(RunningPart { query: query.to_owned(), all: self.clone() })
    }

    /// Begins no further queries, and waits for those that run.
    pub(crate) async fn drained(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stopping = true;
        loop {
            let changed = self.changed.notified();
            if self.state.lock().unwrap_or_else(PoisonError::into_inner).parts.is_empty() {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for RunningPart {
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
        let (one, other) = (query_header("one"), query_header("one"));
        let first = all.begin(&one).unwrap();
        let waiting = async {
            tokio::task::yield_now().await;
            // Other parts of a query that runs may follow.
            let second = all.begin(&one).unwrap();
            let error = all.begin(&other).unwrap_err().to_string();
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
