//! Limits for what clients can make the server do.

use std::time::Duration;

/// Limits of a server. The defaults are those of [`Limits::default`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most sessions at a time. Further clients get the error 53300.
    pub sessions: usize,
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
            sessions: 100,
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
