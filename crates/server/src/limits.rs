//! The limits of a server towards its clients.

use std::time::Duration;

/// The limits of a server towards its clients. They ensure that every request ends, and that all requests together
/// use a bounded amount of memory and threads, so that no client starves the others.
///
/// ```
/// use sluicegate_server::{Limits, Server};
///
/// let limits = Limits { uploads: 16, ..Limits::default() };
/// let builder = Server::builder("folder").limits(limits);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of connections at a time, at least 1; 4096 by default. A further connection replaces the
    /// one that has been silent for the longest time, at least for one second; if there is none, it waits. On Linux,
    /// connections use at most half of the files that the process may open.
    pub connections: usize,
    /// The maximum number of uploads received at a time, at least 1. Further uploads wait for up to
    /// [`Self::client_timeout`], and are then answered with 503 `SlowDown`. 256 by default.
    pub uploads: usize,
    /// The maximum number of bytes in one upload; more are answered with `EntityTooLarge`. 5 GiB by default, which is
    /// S3's limit.
    pub upload_bytes: u64,
    /// The time for which the server waits for a client: for the head of a request, for bytes of its body, or for an
    /// answer to be read. 30 seconds by default. See [`Self::least_rate`].
    pub client_timeout: Duration,
    /// The bytes per second, at least 1, that a client must send or read while the server waits for it. A client that
    /// falls [`Self::client_timeout`] behind is disconnected. 1024 by default.
    pub least_rate: u64,
    /// The time for which one statement of S3 Select may be evaluated, without the time that it waits for its turn or
    /// its reader; `None` is unlimited. 10 minutes by default.
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
