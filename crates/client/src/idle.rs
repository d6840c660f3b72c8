//! How long a store may say nothing.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::error::{Error, Subject};

/// For how many idle time-outs the answers to a call may only say that they go on, over all attempts. A statement that
/// finds nothing in a large object says no more for minutes; by default, this is ten of them.
const CONTINUED: u32 = 20;

/// The patience with a store that says nothing: it lasts for the idle time-out, over two requests. A
/// store that says something new is trusted again.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    limit: Duration,
    /// Whether the store has been silent since it last said something new.
    tried: bool,
    /// Since when the store has only said that it goes on. A repeated request changes nothing about that.
    continued: Option<Instant>,
    /// Whether it has said nothing else for as long as that is borne.
    endless: bool,
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
        Self { limit, tried: false, continued: None, endless: false }
    }

    /// Waits for what a store says, or half of the time.
    pub(super) async fn hear<T>(&mut self, said: impl Future<Output = T>) -> Result<T, Silent> {
        timeout(self.limit / 2, said).await.map_err(|_| self.was_silent())
    }

    /// The store said that it goes on, and nothing else. A store that does so without end is not asked again: it has
    /// the request.
    pub(super) fn continues(&mut self) -> Result<(), Silent> {
        let since = *self.continued.get_or_insert_with(Instant::now);
        self.endless = since.elapsed() >= self.longest();
        if self.endless { Err(Silent::GiveUp) } else { Ok(()) }
    }

    /// The store said something of its work.
    pub(super) fn goes_on(&mut self) {
        self.continued = None;
    }

    fn longest(&self) -> Duration {
        self.limit.saturating_mul(CONTINUED)
    }

    fn was_silent(&mut self) -> Silent {
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
        match self.endless {
            true => subject.endless(self.longest()),
            false => subject.silent(self.limit),
        }
    }
}
