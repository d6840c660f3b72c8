//! Writes that create an object and never replace one that appears meanwhile.
//!
//! S3 decides this when the object is completed: `If-None-Match: *`. The header is added when requests are sent, and
//! is not signed, so that a request to a store that does not implement it (501) can be repeated without it. For such
//! a store, a HEAD request checks for the object just before. Between the two, another object may appear.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use object_store::path::Path;
use object_store::{
    Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult, Result,
};

use super::outcome::is_there;
use crate::context::error::{ErrorKind, UserError};

/// An extension of the requests that write such an object.
#[derive(Debug, Clone)]
pub(crate) struct OnlyNew {
    /// The URL or path of the object, as users write it.
    place: Arc<str>,
    requests: Arc<Requests>,
}

/// The outcomes of the requests that complete the object.
#[derive(Debug, Default)]
struct Requests {
    sent: AtomicUsize,
    refused: AtomicBool,
}

impl OnlyNew {
    /// Describes an object by its store's URL and its path.
    pub(crate) fn at(root: &str, location: &Path) -> Self {
        let root = root.strip_prefix("file://").unwrap_or(root);
        Self { place: format!("{root}{location}").into(), requests: Arc::default() }
    }

    /// Counts a request that is sent with the condition.
    pub(crate) fn sends(&self) {
        self.requests.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the store does not implement the condition.
    pub(crate) fn is_not_implemented(&self) {
        self.requests.refused.store(true, Ordering::Relaxed);
    }

    /// Checks with HEAD that the object does not exist.
    pub(super) async fn check(&self, store: &dyn ObjectStore, location: &Path) -> Result<()> {
        match store.head(location).await {
            Ok(_) => Err(self.appeared()),
            // A user who may write need not be allowed to read.
            Err(_) => Ok(()),
        }
    }

    /// Returns whether a write failed because the object exists. False if the object may come from an earlier request
    /// whose answer was lost.
    pub(super) fn is_refusal(&self, error: &Error) -> bool {
        is_conflict(error) && self.requests.sent.load(Ordering::Relaxed) <= 1
    }

    pub(super) fn appeared(&self) -> Error {
        let place = &self.place;
        let source = UserError {
            kind: ErrorKind::Plan,
            message: format!(
                "there is an object at {place} now, which appeared while the statement ran: nothing was written"
            ),
            hint: Some("OPTIONS (overwrite true) replaces it.".to_owned()),
        };
        Error::AlreadyExists { path: place.to_string(), source: Box::new(source) }
    }

    /// Writes an object in one request.
    pub(super) async fn put(
        &self,
        store: &dyn ObjectStore,
        location: &Path,
        payload: &PutPayload,
        options: &PutOptions,
    ) -> Result<PutResult> {
        let mut only_new = options.clone();
        only_new.mode = PutMode::Create;
        only_new.extensions.insert(self.clone());
        let error = match store.put_opts(location, payload.clone(), only_new).await {
            Err(error) => error,
            written => return written,
        };
        let refused = self.requests.refused.load(Ordering::Relaxed);
        if refused || matches!(error, Error::NotImplemented { .. }) {
            self.check(store, location).await?;
            return store.put_opts(location, payload.clone(), options.clone()).await;
        }
        if self.is_refusal(&error) {
            return Err(self.appeared());
        }
        if is_conflict(&error) {
            return match is_there(store, location, payload).await {
                Ok(true) => Ok(PutResult { e_tag: None, version: None }),
                Ok(false) => Err(self.appeared()),
                Err(_) => Err(error),
            };
        }
        Err(error)
    }
}

/// Returns whether a store reports that the object exists, or that another request is writing it.
pub(super) fn is_conflict(error: &Error) -> bool {
    matches!(
        error,
        Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. }
    )
}
