//! What a server grants to its clients.

use std::time::Duration;

/// What a server grants to its clients, so that no client takes it from the others: every request ends,
/// and all of them together stay within bounded memory and threads.
///
/// ```
/// use sluicegate_server::{Limits, Server};
///
/// let limits = Limits { uploads: 16, ..Limits::default() };
/// let builder = Server::builder("folder").limits(limits);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time, at least 1; 4096 by default. Another takes the place of the one over which no
    /// byte went for the longest, and for a second at least; if there is none, it waits. On Linux they
    /// are never more than half of the files that the process may open.
    pub connections: usize,
    /// Uploads that are received at a time, at least 1. More wait, at most for [`Self::client_timeout`],
    /// and are then answered with 503 `SlowDown`. 256 by default.
    pub uploads: usize,
    /// The most bytes that one request uploads; more are answered with `EntityTooLarge`. S3's limit, 5
    /// GiB, by default.
    pub upload_bytes: u64,
    /// How long the server waits for a client in vain: for the head of a request, for bytes of its body,
    /// for an answer to be read. 30 seconds by default. See [`Self::least_rate`].
    pub client_timeout: Duration,
    /// Bytes per second, at least 1, that a client must send or read while the server waits for it: it is
    /// given up once it is [`Self::client_timeout`] behind. 1024 by default.
    pub least_rate: u64,
    /// How long one statement of S3 Select may be evaluated, without the time that it waits for its
    /// turn and for its reader; `None` is unlimited. 10 minutes by default.
    pub statement_timeout: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            uploads: 256,
            upload_bytes: 5 << 30,
            client_timeout: Duration::from_secs(30),
            least_rate: 1024,
            statement_timeout: Some(Duration::from_secs(600)),
        }
    }
}
