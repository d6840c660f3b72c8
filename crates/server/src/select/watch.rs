//! Whether a statement should go on: its client is still there, and it was not evaluated for too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use s3s::{S3Error, S3ErrorCode};

/// The watch over one statement, from all threads of its evaluation.
#[derive(Debug)]
pub(super) struct Watch {
    started: Instant,
    limit: Option<Duration>,
    /// Nanoseconds that it waited, for its turn or its reader.
    waited: AtomicU64,
}

impl Watch {
    pub(super) fn new(limit: Option<Duration>) -> Arc<Self> {
        Arc::new(Self { started: Instant::now(), limit, waited: AtomicU64::new(0) })
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
        let watch = |limit| Watch { started: long_ago, limit, waited: AtomicU64::new(0) };
        assert!(!watch(None).is_overdue());
        assert!(!watch(Some(Duration::from_secs(1000))).is_overdue());
        let watch = watch(Some(Duration::from_secs(99)));
        assert_eq!(watch.overdue().unwrap().code().as_str(), "StatementTimeout");
        watch.waited(Duration::from_secs(50));
        assert!(watch.overdue().is_none());
    }
}
