//! The outcome of a failed write: the object may exist if only the answer was lost.

use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutPayload, Result};

use crate::context::error::{Caused, ErrorKind, UserError, reason};

/// The state of an object after its write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The object exists, with the bytes that were written.
    Written,
    /// The object does not exist, or has other bytes.
    NotWritten,
    /// The store does not answer.
    Unknown,
}

/// Returns the error of a write whose outcome is unknown: the answer was lost with `cause`, and the store does not
/// report whether the object is there.
pub(crate) fn unknown(location: &Path, cause: Error) -> Caused {
    let error = UserError {
        kind: ErrorKind::Unavailable,
        message: format!("whether `{location}` was written is not known: {}", reason(&cause)),
        hint: Some("Look whether the object is there before it is written again.".to_owned()),
    };
    Caused { error, cause }
}

/// Returns the outcome of an object that was sent in one request.
pub(super) async fn of_object(
    store: &dyn ObjectStore,
    location: &Path,
    payload: &PutPayload,
    error: &Error,
) -> Outcome {
    if is_refused(error) {
        return Outcome::NotWritten;
    }
    match is_there(store, location, payload).await {
        Ok(true) => Outcome::Written,
        Ok(false) | Err(Error::NotFound { .. }) => Outcome::NotWritten,
        Err(_) => Outcome::Unknown,
    }
}

/// Returns the outcome of an object that was sent in parts, which are no longer in memory and cannot be compared.
pub(super) async fn of_upload(store: &dyn ObjectStore, location: &Path, error: &Error) -> Outcome {
    if is_refused(error) {
        return Outcome::NotWritten;
    }
    match store.head(location).await {
        Err(Error::NotFound { .. }) => Outcome::NotWritten,
        // The object may be the old one that was to be replaced.
        Ok(_) | Err(_) => Outcome::Unknown,
    }
}

/// Returns whether an object has these bytes.
pub(super) async fn is_there(
    store: &dyn ObjectStore,
    location: &Path,
    payload: &PutPayload,
) -> Result<bool> {
    let found = store.get(location).await?;
    if found.meta.size != payload.content_length() as u64 {
        return Ok(false);
    }
    let found = found.bytes().await?;
    let mut rest = &found[..];
    for piece in payload {
        match rest.strip_prefix(&piece[..]) {
            Some(behind) => rest = behind,
            None => return Ok(false),
        }
    }
    Ok(rest.is_empty())
}

/// Returns whether a store refused the request, or was not reached.
fn is_refused(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else { return true };
    let mut next = Some(source.as_ref() as &(dyn std::error::Error + 'static));
    let mut is_unreached = false;
    while let Some(error) = next {
        // The store may have read the request before the connection was closed.
        if error.to_string().contains("connection closed before") {
            return false;
        }
        if let Some(error) = error.downcast_ref::<HttpError>() {
            is_unreached = error.kind() == HttpErrorKind::Connect;
        }
        next = error.source();
    }
    is_unreached
}
