//! The time-out for stores that send nothing.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::error::{Error, Subject};

/// The number of idle time-outs for which the answers to a call may consist of continuation events only, over all
/// attempts. A statement that finds nothing in a large object sends nothing else for minutes. With the default idle
/// time-out, the limit is ten minutes.
const CONTINUED: u32 = 20;

/// The time-out for a silent store. It is spread over two requests, and starts anew when the store sends something
/// new.
#[derive(Debug, Clone)]
pub(super) struct StallTimer {
    limit: Duration,
    /// True if the store has been silent since it last sent something new.
    tried: bool,
    /// The time since which the store has sent only continuation events. A repeated request does not reset it.
    continued: Option<Instant>,
    /// True if the store has sent only continuation events for the maximum time.
    endless: bool,
}

/// The reaction to a store that was silent for half of the time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StallAction {
    /// Send the request once more.
    AskAgain,
    /// Fail, because the request was already repeated.
    GiveUp,
}

impl StallTimer {
    /// Creates a time-out of this duration.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, tried: false, continued: None, endless: false }
    }

    /// Waits for a message of the store, for at most half of the time-out.
    pub(super) async fn wait_for<T>(
        &mut self,
        said: impl Future<Output = T>,
    ) -> Result<T, StallAction> {
        timeout(self.limit / 2, said).await.map_err(|_| self.stalled())
    }

    /// Registers a continuation event. Returns `GiveUp` if there have been only such events for the maximum time. The
    /// request is not repeated then, because the store has received it.
    pub(super) fn continues(&mut self) -> Result<(), StallAction> {
        let since = *self.continued.get_or_insert_with(Instant::now);
        self.endless = since.elapsed() >= self.longest();
        if self.endless { Err(StallAction::GiveUp) } else { Ok(()) }
    }

    /// Registers a message about the store's progress.
    pub(super) fn goes_on(&mut self) {
        self.continued = None;
    }

    fn longest(&self) -> Duration {
        self.limit.saturating_mul(CONTINUED)
    }

    fn stalled(&mut self) -> StallAction {
        match std::mem::replace(&mut self.tried, true) {
            false => StallAction::AskAgain,
            true => StallAction::GiveUp,
        }
    }

    /// Registers a message with new content.
    pub(super) fn reset(&mut self) {
        self.tried = false;
    }

    /// Sends a request and waits for its answer. Sends the request a second time if the store is silent.
    pub(super) async fn send<T, F: Future<Output = T>>(
        mut self,
        subject: &Subject,
        send: impl Fn() -> F,
    ) -> Result<T, Error> {
        loop {
            match self.wait_for(send()).await {
                Ok(answer) => return Ok(answer),
                Err(StallAction::AskAgain) => {}
                Err(StallAction::GiveUp) => return Err(self.error(subject)),
            }
        }
    }

    /// Returns the error for the silence.
    pub(super) fn error(&self, subject: &Subject) -> Error {
        match self.endless {
            true => subject.endless(self.longest()),
            false => subject.stalled(self.limit),
        }
    }
}
