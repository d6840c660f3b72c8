//! Bodies of requests while they are received, with a minimum rate.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Stream;
use http::{HeaderMap, Request};
use s3s::stream::{ByteStream, DynByteStream, RemainingLength};
use s3s::{Body, S3Error, S3ErrorCode, StdError};

use crate::limits::Limits;
use crate::lingering_close::UnreadBody;
use crate::min_rate::MinRate;

/// Facts about a body that were found while it was received. It is an extension of the request, because `s3s`, which
/// may check the body's signature in between, keeps only the text of errors.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyState(Arc<Findings>);

#[derive(Debug, Default)]
struct Findings {
    /// The fault of the body, if there is one.
    fault: OnceLock<BodyFault>,
    /// The trailers of a body that `s3s` did not decode.
    trailers: OnceLock<HeaderMap>,
}

impl BodyState {
    pub(crate) fn set(&self, fault: BodyFault) -> StdError {
        Box::new(self.0.fault.get_or_init(|| fault).clone())
    }

    /// Stores the trailers of the body.
    pub(crate) fn follow(&self, trailers: HeaderMap) {
        self.0.trailers.get_or_init(|| trailers);
    }

    /// Returns the trailers of the body.
    pub(crate) fn trailers(&self) -> Option<&HeaderMap> {
        self.0.trailers.get()
    }

    /// Returns the error for a body that failed.
    pub(crate) fn error(&self, error: StdError) -> S3Error {
        match self.0.fault.get() {
            Some(fault) => fault.to_s3(),
            None => broken(error),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum BodyFault {
    TooSlow,
    ChunkTooLong { limit: usize },
}

impl fmt::Display for BodyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSlow => f.write_str("the client sent too little of the body for too long"),
            Self::ChunkTooLong { limit } => {
                write!(f, "a signed chunk has at most {limit} bytes here; send smaller ones")
            }
        }
    }
}

impl std::error::Error for BodyFault {}

impl BodyFault {
    fn to_s3(&self) -> S3Error {
        let code = match self {
            Self::TooSlow => S3ErrorCode::RequestTimeout,
            Self::ChunkTooLong { .. } => S3ErrorCode::InvalidRequest,
        };
        S3Error::with_message(code, self.to_string())
    }
}

/// Returns the error for a body that ends early, or whose signature does not match.
fn broken(error: StdError) -> S3Error {
    let text = error.to_string();
    let (code, status) = if text.contains("Sha256Mismatch") {
        (S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into()), http::StatusCode::BAD_REQUEST)
    } else if text.contains("SignatureMismatch") {
        (S3ErrorCode::SignatureDoesNotMatch, http::StatusCode::FORBIDDEN)
    } else {
        (S3ErrorCode::IncompleteBody, http::StatusCode::BAD_REQUEST)
    };
    let mut answer = S3Error::with_source(code, error);
    answer.set_status_code(status);
    answer.set_message("the body is incomplete or is not the one that was signed");
    answer
}

/// Checks the rate of a request's body while it is received, and registers a rest that is not read.
pub(crate) fn watch(request: &mut Request<Body>, limits: &Limits, unread: UnreadBody) -> BodyState {
    unread.set(false);
    let state = BodyState::default();
    request.extensions_mut().insert(state.clone());
    // Most requests have no body, and `s3s` detects that by the original one.
    if request.body().remaining_length().exact() != Some(0) {
        let watched = ObservedBody {
            body: std::mem::take(request.body_mut()),
            pace: MinRate::new(limits),
            state: state.clone(),
            is_read: false,
            unread,
        };
        let watched: DynByteStream = Box::pin(watched);
        *request.body_mut() = Body::from(watched);
    }
    state
}

struct ObservedBody {
    body: Body,
    pace: MinRate,
    state: BodyState,
    /// True at the end of the body.
    is_read: bool,
    unread: UnreadBody,
}

impl Drop for ObservedBody {
    fn drop(&mut self) {
        self.unread.set(!self.is_read && self.remaining_length().exact() != Some(0));
    }
}

impl Stream for ObservedBody {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.body).poll_next(cx);
        match &polled {
            Poll::Ready(Some(Ok(bytes))) => this.pace.moved(bytes.len()),
            Poll::Ready(None) => this.is_read = true,
            Poll::Ready(Some(Err(_))) => {}
            Poll::Pending => {
                ready!(this.pace.poll_overdue(cx));
                return Poll::Ready(Some(Err(this.state.set(BodyFault::TooSlow))));
            }
        }
        polled
    }
}

impl ByteStream for ObservedBody {
    fn remaining_length(&self) -> RemainingLength {
        self.body.remaining_length()
    }
}
