//! Who reads an answer, and whether the statement is ended for others because it is read too slowly.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::pace::Pace;

/// Bytes per second that an answer is read at, or its statement may be ended if others wait to begin.
const RATE: u64 = 64 << 10;
/// How far a reader may be behind that rate.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The reader of one answer.
#[derive(Debug)]
pub(super) struct Reader {
    pace: Mutex<Pace>,
    is_ended: AtomicBool,
    ended: Notify,
}

impl Reader {
    pub(super) fn new(patience: Duration) -> Self {
        let pace = Mutex::new(Pace::of(RATE, patience));
        Self { pace, is_ended: AtomicBool::new(false), ended: Notify::new() }
    }

    /// The statement waits for it.
    pub(super) fn is_awaited(&self) {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner).waits();
    }

    /// It has taken so many bytes.
    pub(super) fn took(&self, bytes: usize) {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner).moved(bytes);
    }

    /// How far it is behind, if the statement waits for it and it is too slow.
    pub(super) fn overdue(&self) -> Option<Duration> {
        let pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        pace.overdue().filter(|_| !self.is_ended())
    }

    /// Ends the statement.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.ended.notify_one();
    }

    /// Whether the statement was ended.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// Waits until it is.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }
}
