//! Conditions under which a statement continues: its client is still connected, and the time limit has not passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use s3s::{S3Error, S3ErrorCode};

/// The conditions for one statement, shared by all threads of its evaluation.
#[derive(Debug)]
pub(super) struct Deadline {
    started: Instant,
    limit: Option<Duration>,
    /// The time that the statement waited for its turn or its reader, in nanoseconds.
    waited: AtomicU64,
    /// True if the client left before the answer began. Later, dropping the answer has that effect.
    left: AtomicBool,
}

/// A guard that registers the client's leaving if it is dropped before the answer begins.
#[derive(Debug)]
pub(super) struct DisconnectGuard(Option<Arc<Deadline>>);

impl DisconnectGuard {
    /// Registers that the answer begins.
    pub(super) fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        if let Some(watch) = self.0.take() {
            watch.left.store(true, Ordering::Relaxed);
        }
    }
}

impl Deadline {
    pub(super) fn new(limit: Option<Duration>) -> Arc<Self> {
        let (waited, left) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Self { started: Instant::now(), limit, waited, left })
    }

    /// Returns the guard for the time until the answer begins.
    pub(super) fn awaited(self: &Arc<Self>) -> DisconnectGuard {
        DisconnectGuard(Some(Arc::clone(self)))
    }

    /// Returns true if the answer is still wanted and there is time left.
    pub(super) fn goes_on(&self) -> bool {
        !self.left.load(Ordering::Relaxed) && !self.is_overdue()
    }

    /// Excludes waiting time from the time limit.
    pub(super) fn waited(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.waited.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Returns the error of a statement that has taken too long.
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
            Deadline { started: long_ago, limit, waited, left }
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
        let watch = Deadline::new(None);
        watch.awaited().end();
        assert!(watch.goes_on());
        drop(watch.awaited());
        assert!(!watch.goes_on());
        assert!(!Deadline::new(Some(Duration::ZERO)).goes_on());
    }
}
