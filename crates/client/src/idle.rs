//! How long a store may say nothing.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::error::{Error, Subject};

/// For how many idle time-outs an answer may only say that it goes on. A statement that finds nothing in a
/// large object says no more for a long time.
const CONTINUED: u32 = 30;

/// The patience with a store that says nothing: it lasts for the idle time-out, over two requests. A
/// store that says something new is trusted again.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    limit: Duration,
    /// Whether the store has been silent since it last said something new.
    tried: bool,
    /// Since when the answer has only said that it goes on.
    continued: Option<Instant>,
    /// How long it was silent.
    silent: Duration,
}

/// A store has said nothing for half of the time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silent {
    /// The request may be sent once more.
    AskAgain,
    /// It was, in vain.
    GiveUp,
}

impl Patience {
    /// For so long.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, tried: false, continued: None, silent: limit }
    }

    /// Waits for what a store says, or half of the time.
    pub(super) async fn hear<T>(&mut self, said: impl Future<Output = T>) -> Result<T, Silent> {
        timeout(self.limit / 2, said).await.map_err(|_| self.was_silent(self.limit))
    }

    /// The store said that it goes on, and nothing else.
    pub(super) fn continues(&mut self) -> Result<(), Silent> {
        let longest = self.limit.saturating_mul(CONTINUED);
        let since = *self.continued.get_or_insert_with(Instant::now);
        if since.elapsed() < longest {
            return Ok(());
        }
        Err(self.was_silent(longest))
    }

    /// The store said something of its work, or begins anew.
    pub(super) fn goes_on(&mut self) {
        self.continued = None;
    }

    fn was_silent(&mut self, silent: Duration) -> Silent {
        (self.continued, self.silent) = (None, silent);
        match std::mem::replace(&mut self.tried, true) {
            false => Silent::AskAgain,
            true => Silent::GiveUp,
        }
    }

    /// The store said something new.
    pub(super) fn heard(&mut self) {
        self.tried = false;
    }

    /// Sends a request, twice if it must be, and waits for its answer.
    pub(super) async fn ask<T, F: Future<Output = T>>(
        mut self,
        subject: &Subject,
        send: impl Fn() -> F,
    ) -> Result<T, Error> {
        loop {
            match self.hear(send()).await {
                Ok(answer) => return Ok(answer),
                Err(Silent::AskAgain) => {}
                Err(Silent::GiveUp) => return Err(self.error(subject)),
            }
        }
    }

    /// What is said of a store that said nothing.
    pub(super) fn error(&self, subject: &Subject) -> Error {
        subject.silent(self.silent)
    }
}
