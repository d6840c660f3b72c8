//! Stops statements of other connections.

use std::collections::HashMap;
use std::collections::hash_map::Entry as HashEntry;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::error::SqlError;
use crate::wire::scram::random_number;

/// The sessions of a server, by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions {
    sessions: Arc<Mutex<HashMap<i32, Entry>>>,
}

struct Entry {
    secret: i32,
    stop: Arc<Stop>,
}

/// Stops the running statement of a session.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    is_requested: AtomicBool,
    request: Notify,
}

impl Stop {
    /// Forgets requests that came before a statement.
    pub(crate) fn forget(&self) {
        self.is_requested.store(false, Ordering::SeqCst);
    }

    /// Waits for a request.
    pub(crate) async fn requested(&self) {
        loop {
            // It is created before the flag is read, so that no request is lost in between.
            let request = self.request.notified();
            if self.is_requested.load(Ordering::SeqCst) {
                return;
            }
            request.await;
        }
    }

    fn request(&self) {
        self.is_requested.store(true, Ordering::SeqCst);
        self.request.notify_waiters();
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entry")
    }
}

/// A session's place among the others. It ends with the value.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) number: i32,
    secret: i32,
    /// Stops the running statement.
    pub(crate) stop: Arc<Stop>,
    sessions: Sessions,
}

impl Key {
    /// Returns the secret, for the client only.
    pub(crate) const fn secret(&self) -> i32 {
        self.secret
    }
}

impl Sessions {
    /// Adds a session with a random number and secret.
    pub(crate) fn add(&self) -> Result<Key, SqlError> {
        let random = || {
            random_number().map_err(|error| {
                SqlError::fatal(crate::error::state::INTERNAL_ERROR, error.to_string())
            })
        };
        let secret = random()?;
        let stop = Arc::new(Stop::default());
        loop {
            let number = random()? & i32::MAX;
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            if let HashEntry::Vacant(place) = sessions.entry(number) {
                place.insert(Entry { secret, stop: Arc::clone(&stop) });
                drop(sessions);
                return Ok(Key { number, secret, stop, sessions: self.clone() });
            }
        }
    }

    /// Stops the statement of a session, if the secret is right.
    pub(crate) fn stop(&self, number: i32, secret: i32) {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = sessions.get(&number).filter(|entry| entry.secret == secret) {
            entry.stop.request();
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let mut sessions = self.sessions.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn only_the_secret_stops_a_statement() {
        let sessions = Sessions::default();
        let (one, other) = (sessions.add().unwrap(), sessions.add().unwrap());
        sessions.stop(one.number, one.secret().wrapping_add(1));
        sessions.stop(other.number, other.secret());
        let waited = tokio::time::timeout(Duration::from_millis(20), one.stop.requested()).await;
        assert!(waited.is_err());
        sessions.stop(one.number, one.secret());
        one.stop.requested().await;
        one.stop.forget();
        let waited = tokio::time::timeout(Duration::from_millis(20), one.stop.requested()).await;
        assert!(waited.is_err());
        drop(one);
        assert_eq!(sessions.sessions.lock().unwrap().len(), 1);
    }
}
