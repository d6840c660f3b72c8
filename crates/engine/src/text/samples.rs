//! Samples of objects, and which of them are verified.

use std::sync::atomic::{AtomicUsize, Ordering};

/// GETs of samples, from which more is concluded than a query would notice to be wrong. An extension of
/// these GETs.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    asked: AtomicUsize,
    vouched: AtomicUsize,
}

impl Samples {
    /// Counts a GET; `secure` is whether no byte can be damaged on its way.
    pub(crate) fn ask(&self, secure: bool) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.vouched.fetch_add(usize::from(secure), Ordering::Relaxed);
    }

    /// Counts an answer whose bytes match the store's checksum.
    pub(crate) fn verified(&self) {
        self.vouched.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether every sample is certain to have the bytes that the store has.
    pub(crate) fn are_verified(&self) -> bool {
        self.vouched.load(Ordering::Relaxed) >= self.asked.load(Ordering::Relaxed)
    }
}
