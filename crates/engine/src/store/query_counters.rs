//! Counters of the requests of one query.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::execution::TaskContext;

use crate::context::counters::{CounterSnapshot, Counters};
use crate::context::timeline::Timeline;
use crate::store::endpoint::Endpoint;

/// Counters of one query, one set for each endpoint that it uses. They also count towards the endpoints' totals. The
/// counters are an extension of the query's session configuration, which its tasks share.
#[derive(Debug, Default)]
pub struct QueryCounters {
    endpoints: Mutex<BTreeMap<String, Arc<Counters>>>,
    /// The bytes of the objects and files that it wrote.
    written: AtomicU64,
    timeline: Option<Arc<Timeline>>,
}

impl QueryCounters {
    /// Creates counters that also record each request with its time.
    #[must_use]
    pub fn with_timeline() -> Self {
        Self { timeline: Some(Arc::default()), ..Self::default() }
    }

    /// Returns the record of requests, if requests are recorded.
    #[must_use]
    pub fn timeline(&self) -> Option<&Arc<Timeline>> {
        self.timeline.as_ref()
    }

    /// Returns the counters for a task's requests to an endpoint: those of its query, or the endpoint's own if the
    /// task belongs to no query.
    #[must_use]
    pub fn of_task(context: &TaskContext, endpoint: &Endpoint) -> Arc<Counters> {
        match context.session_config().get_extension::<Self>() {
            Some(query) => query.at(endpoint),
            None => Arc::clone(&endpoint.counters),
        }
    }

    /// Counts the bytes of what a task has written, if it belongs to a query.
    pub(crate) fn wrote(context: &TaskContext, bytes: u64) {
        if let Some(query) = context.session_config().get_extension::<Self>() {
            query.written.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Returns the bytes of the objects and files that the query wrote.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Returns the counters of an endpoint.
    #[must_use]
    pub fn at(&self, endpoint: &Endpoint) -> Arc<Counters> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let counters = Counters::part_of(Arc::clone(&endpoint.counters));
            Arc::new(match &self.timeline {
                Some(timeline) => counters.on(Arc::clone(timeline)),
                None => counters,
            })
        };
        Arc::clone(endpoints.entry(endpoint.name.clone()).or_insert_with(new))
    }

    /// Returns the requests and bytes of all endpoints.
    #[must_use]
    pub fn read(&self) -> CounterSnapshot {
        self.by_endpoint().into_values().sum()
    }

    /// Returns the requests and bytes of each endpoint, by its name.
    #[must_use]
    pub fn by_endpoint(&self) -> BTreeMap<String, CounterSnapshot> {
        let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        endpoints.iter().map(|(name, counters)| (name.clone(), counters.read())).collect()
    }
}
