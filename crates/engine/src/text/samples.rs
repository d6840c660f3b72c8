//! Samples of objects, and which of them are verified.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the GETs of samples and the verified ones, because a query would not notice a wrong conclusion from a
/// damaged sample. It is an extension of these GETs.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    asked: AtomicUsize,
    vouched: AtomicUsize,
}

impl Samples {
    /// Counts a GET. `secure` is true if no byte can be damaged in transit.
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
