//! Limits for what clients can make the server do.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{SqlError, state};

/// Limits of a server. The defaults are those of [`Limits::default`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most connections that have not authenticated yet. Further ones wait.
    pub startups: usize,
    /// Time from a connection to the end of its authentication.
    pub startup_time: Duration,
    /// Time that a session may wait for its client: for the next message, or until it receives more of an answer.
    /// `None` is no limit.
    pub idle_time: Option<Duration>,
    /// Time that a statement may run, which clients can lower by `statement_timeout`. `None` is no limit.
    pub statement_time: Option<Duration>,
    /// Most bytes of a message of an authenticated client.
    pub message_bytes: usize,
    /// Most prepared statements, and most portals and cursors, of a session.
    pub names: usize,
    /// Most bytes of the prepared statements and of the parameters that a session holds.
    pub held_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            startups: 256,
            startup_time: Duration::from_secs(10),
            idle_time: Some(Duration::from_secs(3600)),
            statement_time: None,
            message_bytes: 16 << 20,
            names: 1024,
            held_bytes: 64 << 20,
        }
    }
}

/// The places for sessions. Servers of several protocols can share them.
#[derive(Debug, Clone)]
pub struct Places {
    free: Arc<Semaphore>,
    most: usize,
}

impl Places {
    /// Creates places for so many sessions at a time.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))), most }
    }

    /// Takes a place. Dropping it frees it.
    ///
    /// # Errors
    ///
    /// The error 53300 if no place is free.
    pub fn take(&self) -> Result<Place, SqlError> {
        Arc::clone(&self.free).try_acquire_owned().map(Place).map_err(|_| {
            SqlError::fatal(
                state::TOO_MANY_CONNECTIONS,
                format!("the server has {} sessions already, which is its limit", self.most),
            )
        })
    }
}

impl Default for Places {
    /// 100 places.
    fn default() -> Self {
        Self::new(100)
    }
}

/// The place of a session.
#[derive(Debug)]
pub struct Place(
    #[expect(dead_code, reason = "it is held until it is dropped")] OwnedSemaphorePermit,
);
