//! The requests of one query, each with its time.
//!
//! Only a query that is displayed afterwards has a timeline; other queries have no overhead.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::context::counters::RequestKind;

/// The maximum number of requests that are recorded one by one.
const MOST: usize = 2000;

/// Records the requests of a query while it runs.
#[derive(Debug)]
pub struct Timeline {
    began: Instant,
    kept: Mutex<RequestLog>,
}

/// The recorded requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestLog {
    /// The first requests, in the order in which they ended.
    pub requests: Vec<TimedRequest>,
    /// The sums of all other requests, by kind.
    pub others: BTreeMap<RequestKind, AggregatedRequests>,
    /// The time at which the plan began to run; earlier requests were part of planning.
    pub planned: Option<Duration>,
}

/// A request, or a statement with its retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedRequest {
    /// The kind of request.
    pub kind: RequestKind,
    /// The URL of the object or listing: `s3://bucket/t/a.csv`.
    pub object: String,
    /// The start of the request, since the beginning of the query.
    pub start: Duration,
    /// The time until the end of the answer, or until it was dropped.
    pub took: Duration,
    /// The payload in bytes, received or written.
    pub bytes: u64,
    /// The number of requests that were sent, with retries.
    pub requests: u64,
}

/// The sums of requests that are not recorded one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AggregatedRequests {
    /// The number of requests.
    pub requests: u64,
    /// The payload in bytes.
    pub bytes: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { began: Instant::now(), kept: Mutex::default() }
    }
}

impl Timeline {
    /// Opens a request that begins now. It is recorded when it is dropped.
    #[must_use]
    pub fn open(self: &Arc<Self>, kind: RequestKind, object: String) -> OpenRequest {
        let start = self.began.elapsed();
        let request =
            TimedRequest { kind, object, start, took: Duration::ZERO, bytes: 0, requests: 1 };
        OpenRequest { timeline: Arc::clone(self), request }
    }

    /// Records that the plan begins to run.
    pub fn planned(&self) {
        let now = self.began.elapsed();
        self.kept().planned.get_or_insert(now);
    }

    /// Returns the requests recorded so far.
    #[must_use]
    pub fn read(&self) -> RequestLog {
        self.kept().clone()
    }

    fn kept(&self) -> MutexGuard<'_, RequestLog> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestLog {
    /// Records a request.
    fn add(&mut self, request: TimedRequest) {
        if self.requests.len() < MOST {
            self.requests.push(request);
            return;
        }
        let others = self.others.entry(request.kind).or_default();
        others.requests += request.requests;
        others.bytes += request.bytes;
    }

    /// Returns the number of requests of a kind, and their payload.
    #[must_use]
    pub fn sum(&self, kind: RequestKind) -> AggregatedRequests {
        let mut sum = self.others.get(&kind).copied().unwrap_or_default();
        for request in self.requests.iter().filter(|it| it.kind == kind) {
            sum.requests += request.requests;
            sum.bytes += request.bytes;
        }
        sum
    }
}

/// A request in progress.
#[derive(Debug)]
pub struct OpenRequest {
    timeline: Arc<Timeline>,
    request: TimedRequest,
}

impl OpenRequest {
    /// Adds bytes to the payload.
    pub fn add(&mut self, bytes: u64) {
        self.request.bytes += bytes;
    }

    /// Sets the number of requests that were sent instead of one, and their payload.
    pub fn counts(&mut self, requests: u64, bytes: u64) {
        self.request.requests = requests;
        self.request.bytes = bytes;
    }

    /// Opens further requests with the same start, such as a HEAD that checks whether an object has changed.
    #[must_use]
    pub fn beside(&self, kind: RequestKind, requests: u64) -> Self {
        let request = TimedRequest { kind, bytes: 0, requests, ..self.request.clone() };
        Self { timeline: Arc::clone(&self.timeline), request }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut request = self.request.clone();
        if request.requests == 0 {
            return;
        }
        request.took = self.timeline.began.elapsed().saturating_sub(request.start);
        self.timeline.kept().add(request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_down_when_they_end() {
        let timeline = Arc::new(Timeline::default());
        let mut get = timeline.open(RequestKind::Get, "s3://b/a".to_owned());
        get.add(3);
        timeline.planned();
        let mut select = timeline.open(RequestKind::Select, "s3://b/a".to_owned());
        select.counts(2, 9);
        drop(select.beside(RequestKind::Head, 1));
        drop(select.beside(RequestKind::Head, 0));
        drop(select);
        assert_eq!(timeline.read().sum(RequestKind::Get), AggregatedRequests::default());
        get.add(4);
        drop(get);
        let recorded = timeline.read();
        let kinds: Vec<_> = recorded.requests.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [RequestKind::Head, RequestKind::Select, RequestKind::Get]);
        assert_eq!(recorded.sum(RequestKind::Select), AggregatedRequests { requests: 2, bytes: 9 });
        assert_eq!(recorded.sum(RequestKind::Get), AggregatedRequests { requests: 1, bytes: 7 });
        let planned = recorded.planned.unwrap();
        assert!(recorded.requests[2].start <= planned && planned <= recorded.requests[1].start);
    }

    #[test]
    fn no_more_than_some_are_kept_and_the_sums_are_those_of_all() {
        let timeline = Arc::new(Timeline::default());
        for _ in 0..MOST + 7 {
            timeline.open(RequestKind::Get, String::new()).add(2);
        }
        let recorded = timeline.read();
        assert_eq!(recorded.requests.len(), MOST);
        let all = (MOST + 7) as u64;
        assert_eq!(
            recorded.sum(RequestKind::Get),
            AggregatedRequests { requests: all, bytes: 2 * all }
        );
    }
}
