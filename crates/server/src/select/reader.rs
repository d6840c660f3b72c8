//! The reader of an answer. A statement may be ended in favor of others if its answer is read too slowly.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::min_rate::MinRate;

/// The rate in bytes per second at which an answer must be read while other statements wait to begin.
const RATE: u64 = 64 << 10;
/// The time by which a reader may be behind that rate.
pub(super) const MAX_DELAY: Duration = Duration::from_secs(2);

/// The client that reads one answer.
#[derive(Debug)]
pub(super) struct Reader {
    pace: Mutex<MinRate>,
    is_ended: AtomicBool,
    ended: Notify,
}

impl Reader {
    pub(super) fn new(patience: Duration) -> Self {
        let pace = Mutex::new(MinRate::with_rate(RATE, patience));
        Self { pace, is_ended: AtomicBool::new(false), ended: Notify::new() }
    }

    /// Registers that the statement waits for the reader.
    pub(super) fn is_awaited(&self) {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner).waits();
    }

    /// Registers bytes that the reader has taken.
    pub(super) fn took(&self, bytes: usize) {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner).moved(bytes);
    }

    /// Returns the time by which the reader is behind, if the statement waits for it and it is too slow.
    pub(super) fn overdue(&self) -> Option<Duration> {
        let pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        pace.overdue().filter(|_| !self.is_ended())
    }

    /// Ends the statement of this reader.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.ended.notify_one();
    }

    /// Returns true if the statement was ended.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// Waits until the statement is ended.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }
}
