//! When a connection ends because its client does nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The times that a connection may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// From the connection to the first request that is allowed.
    pub(super) startup: Duration,
    /// From the end of a request to the next, or to the next part of an answer that the client accepts. `None` is no
    /// limit.
    pub(super) idle: Option<Duration>,
}

/// What a client did last.
#[derive(Debug)]
pub(super) struct Activity {
    times: Times,
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    is_admitted: bool,
    last: Instant,
    /// The number of requests for which the client waits.
    waiting: usize,
}

impl Activity {
    pub(super) fn new(times: Times) -> Self {
        let begun = Instant::now();
        let state = State { is_admitted: false, last: begun, waiting: 0 };
        Self { times, begun, state: Mutex::new(state) }
    }

    /// Returns the time after which the deadline is worth another look.
    pub(super) fn first_look(&self) -> Instant {
        self.begun + self.times.idle.map_or(self.times.startup, |it| it.min(self.times.startup))
    }

    /// Returns the time at which the connection ends if the client does nothing until then.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        if !state.is_admitted {
            return Some(self.begun + self.times.startup);
        }
        let last = if state.waiting > 0 { Instant::now() } else { state.last };
        Some(last + self.times.idle?)
    }

    /// Notes that the client may send requests.
    pub(super) fn admit(&self) {
        self.state().is_admitted = true;
    }

    /// Notes that the client did something.
    pub(super) fn touch(&self) {
        self.state().last = Instant::now();
    }

    /// Notes that the client begins or ends to wait for the server.
    pub(super) fn wait(&self, begins: bool) {
        let mut state = self.state();
        state.waiting = if begins { state.waiting + 1 } else { state.waiting.saturating_sub(1) };
        state.last = Instant::now();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ends_when_its_client_does_nothing() {
        let second = Duration::from_secs(1);
        let times = Times { startup: second, idle: Some(3 * second) };
        let activity = Activity::new(times);
        let begun = activity.begun;
        assert_eq!(activity.first_look(), begun + second);
        activity.touch();
        assert_eq!(activity.deadline(), Some(begun + second));
        activity.admit();
        assert!(activity.deadline() >= Some(begun + 3 * second));
        activity.wait(true);
        let waiting = activity.deadline();
        assert!(waiting > Some(begun + 3 * second));
        activity.wait(false);
        assert!(activity.deadline() >= waiting);
        let patient = Activity::new(Times { startup: second, idle: None });
        patient.admit();
        assert_eq!(patient.deadline(), None);
    }
}
