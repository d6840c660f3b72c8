//! Whether a statement should go on: its client is still there, and it was not evaluated for too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use s3s::{S3Error, S3ErrorCode};

/// The watch over one statement, from all threads of its evaluation.
#[derive(Debug)]
pub(super) struct Watch {
    started: Instant,
    limit: Option<Duration>,
    /// Nanoseconds that it waited, for its turn or its reader.
    waited: AtomicU64,
    /// Whether the client has left before there was an answer. Later the answer itself tells.
    left: AtomicBool,
}

/// Tells the watch that the client has left, if it is dropped before there is an answer.
#[derive(Debug)]
pub(super) struct Awaited(Option<Arc<Watch>>);

impl Awaited {
    /// There is an answer.
    pub(super) fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(watch) = self.0.take() {
            watch.left.store(true, Ordering::Relaxed);
        }
    }
}

impl Watch {
    pub(super) fn new(limit: Option<Duration>) -> Arc<Self> {
        let (waited, left) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Self { started: Instant::now(), limit, waited, left })
    }

    /// Who holds this waits for the answer.
    pub(super) fn awaited(self: &Arc<Self>) -> Awaited {
        Awaited(Some(Arc::clone(self)))
    }

    /// Whether anybody wants the answer, and there is time left for it.
    pub(super) fn goes_on(&self) -> bool {
        !self.left.load(Ordering::Relaxed) && !self.is_overdue()
    }

    /// Does not count some time.
    pub(super) fn waited(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.waited.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The error of a statement that has taken too long.
    pub(super) fn overdue(&self) -> Option<S3Error> {
        let limit = self.limit?;
        self.is_overdue().then(|| {
            let seconds = limit.as_secs_f64();
            let message = format!(
                "the statement was stopped: it was evaluated for longer than the {seconds} s that this \
                 server allows; ask for less at a time, as by ScanRange"
            );
            let mut error =
                S3Error::with_message(S3ErrorCode::Custom("StatementTimeout".into()), message);
            error.set_status_code(http::StatusCode::BAD_REQUEST);
            error
        })
    }

    pub(super) fn is_overdue(&self) -> bool {
        self.limit.is_some_and(|limit| {
            let waited = Duration::from_nanos(self.waited.load(Ordering::Relaxed));
            self.started.elapsed().saturating_sub(waited) > limit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_evaluating_counts() {
        let long_ago = Instant::now().checked_sub(Duration::from_secs(100)).unwrap();
        let watch = |limit| {
            let (waited, left) = (AtomicU64::new(0), AtomicBool::new(false));
            Watch { started: long_ago, limit, waited, left }
        };
        assert!(!watch(None).is_overdue());
        assert!(!watch(Some(Duration::from_secs(1000))).is_overdue());
        let watch = watch(Some(Duration::from_secs(99)));
        assert_eq!(watch.overdue().unwrap().code().as_str(), "StatementTimeout");
        watch.waited(Duration::from_secs(50));
        assert!(watch.overdue().is_none());
    }

    #[test]
    fn who_leaves_before_there_is_an_answer_wants_none() {
        let watch = Watch::new(None);
        watch.awaited().end();
        assert!(watch.goes_on());
        drop(watch.awaited());
        assert!(!watch.goes_on());
        assert!(!Watch::new(Some(Duration::ZERO)).goes_on());
    }
}
