//! The requests of one query, each with its time.
//!
//! Only a query that is to be shown afterwards has a timeline: any other pays nothing for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::counters::RequestKind;

/// The most requests that are kept one by one.
const MOST: usize = 2000;

/// What is written down while a query runs.
#[derive(Debug)]
pub struct Timeline {
    began: Instant,
    kept: Mutex<Recorded>,
}

/// What was written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The first requests, in the order in which they ended.
    pub requests: Vec<TimedRequest>,
    /// The sums of all others, by kind.
    pub others: BTreeMap<RequestKind, Others>,
    /// When the plan began to run; what was asked before was asked to make it.
    pub planned: Option<Duration>,
}

/// A request, or a statement with its retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedRequest {
    /// What was asked for.
    pub kind: RequestKind,
    /// About which object or listing: `s3://bucket/t/a.csv`.
    pub object: String,
    /// From the beginning of the query.
    pub start: Duration,
    /// Until the end of the answer, or until nobody wanted more of it.
    pub took: Duration,
    /// Payload: of the answer, or of what was written.
    pub bytes: u64,
    /// How many were sent.
    pub requests: u64,
}

/// The sums of requests that are not kept one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Others {
    /// How many were sent.
    pub requests: u64,
    /// Their payload.
    pub bytes: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { began: Instant::now(), kept: Mutex::default() }
    }
}

impl Timeline {
    /// A request that begins now. It is written down when it is dropped.
    #[must_use]
    pub fn open(self: &Arc<Self>, kind: RequestKind, object: String) -> OpenRequest {
        let start = self.began.elapsed();
        let request =
            TimedRequest { kind, object, start, took: Duration::ZERO, bytes: 0, requests: 1 };
        OpenRequest { timeline: Arc::clone(self), request }
    }

    /// The plan begins to run.
    pub fn planned(&self) {
        let now = self.began.elapsed();
        self.kept().planned.get_or_insert(now);
    }

    /// What was written down so far.
    #[must_use]
    pub fn read(&self) -> Recorded {
        self.kept().clone()
    }

    fn kept(&self) -> MutexGuard<'_, Recorded> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorded {
    /// Writes a request down.
    fn add(&mut self, request: TimedRequest) {
        if self.requests.len() < MOST {
            self.requests.push(request);
            return;
        }
        let others = self.others.entry(request.kind).or_default();
        others.requests += request.requests;
        others.bytes += request.bytes;
    }

    /// How many requests of a kind were sent, and their payload.
    #[must_use]
    pub fn sum(&self, kind: RequestKind) -> Others {
        let mut sum = self.others.get(&kind).copied().unwrap_or_default();
        for request in self.requests.iter().filter(|it| it.kind == kind) {
            sum.requests += request.requests;
            sum.bytes += request.bytes;
        }
        sum
    }
}

/// A request that is under way.
#[derive(Debug)]
pub struct OpenRequest {
    timeline: Arc<Timeline>,
    request: TimedRequest,
}

impl OpenRequest {
    /// Some more of its payload.
    pub fn add(&mut self, bytes: u64) {
        self.request.bytes += bytes;
    }

    /// How many were sent instead of one, and their payload, of which nothing was added yet.
    pub fn counts(&mut self, requests: u64, bytes: u64) {
        self.request.requests = requests;
        self.request.bytes = bytes;
    }

    /// Others that were sent on the way, such as a HEAD to see whether an object is still the same.
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
        assert_eq!(timeline.read().sum(RequestKind::Get), Others::default());
        get.add(4);
        drop(get);
        let recorded = timeline.read();
        let kinds: Vec<_> = recorded.requests.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [RequestKind::Head, RequestKind::Select, RequestKind::Get]);
        assert_eq!(recorded.sum(RequestKind::Select), Others { requests: 2, bytes: 9 });
        assert_eq!(recorded.sum(RequestKind::Get), Others { requests: 1, bytes: 7 });
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
        assert_eq!(recorded.sum(RequestKind::Get), Others { requests: all, bytes: 2 * all });
    }
}
