//! Bodies as they come in: at a pace, and no longer than allowed.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http::Request;
use s3s::stream::{ByteStream, DynByteStream, RemainingLength};
use s3s::{Body, S3Error, S3ErrorCode, StdError};

use crate::limits::Limits;
use crate::pace::Pace;

/// What was wrong with a body, found out while it was received. It is among the extensions of a request,
/// since `s3s`, which may check the body's signature in between, keeps but the text of errors.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyState(Arc<OnceLock<BodyFault>>);

impl BodyState {
    pub(crate) fn set(&self, fault: BodyFault) -> StdError {
        Box::new(self.0.get_or_init(|| fault).clone())
    }

    /// The error for a body that failed.
    pub(crate) fn error(&self, error: StdError) -> S3Error {
        match self.0.get() {
            Some(fault) => fault.to_s3(),
            None => broken(error),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum BodyFault {
    TooSlow,
    TooLong { limit: u64 },
    ChunkTooLong { limit: usize },
}

impl fmt::Display for BodyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSlow => f.write_str("the client sent too little of the body for too long"),
            Self::TooLong { limit } => write!(f, "one request uploads at most {limit} bytes"),
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
            Self::TooLong { .. } => S3ErrorCode::EntityTooLarge,
            Self::ChunkTooLong { .. } => S3ErrorCode::InvalidRequest,
        };
        S3Error::with_message(code, self.to_string())
    }
}

/// The error for a body that ends early, or whose signature does not match.
fn broken(error: StdError) -> S3Error {
    let text = error.to_string();
    let code = if text.contains("Sha256Mismatch") {
        S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into())
    } else if text.contains("SignatureMismatch") {
        S3ErrorCode::SignatureDoesNotMatch
    } else {
        S3ErrorCode::IncompleteBody
    };
    let mut answer = S3Error::with_source(code, error);
    answer.set_status_code(http::StatusCode::BAD_REQUEST);
    answer.set_message("the body is incomplete or is not the one that was signed");
    answer
}

/// Watches the body of a request while it is received.
pub(crate) fn watch(request: &mut Request<Body>, limits: &Limits) -> BodyState {
    let state = BodyState::default();
    request.extensions_mut().insert(state.clone());
    // Most requests have none, of which `s3s` learns from the body that is there.
    if request.body().remaining_length().exact() != Some(0) {
        let watched = Watched {
            body: std::mem::take(request.body_mut()),
            pace: Pace::new(limits),
            limit: limits.upload_bytes,
            left: limits.upload_bytes,
            state: state.clone(),
        };
        let watched: DynByteStream = Box::pin(watched);
        *request.body_mut() = Body::from(watched);
    }
    state
}

struct Watched {
    body: Body,
    pace: Pace,
    limit: u64,
    /// How many bytes more it may have.
    left: u64,
    state: BodyState,
}

impl Stream for Watched {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => {
                this.pace.moved(bytes.len());
                Poll::Ready(Some(match this.left.checked_sub(bytes.len() as u64) {
                    Some(left) => {
                        this.left = left;
                        Ok(bytes)
                    }
                    None => Err(this.state.set(BodyFault::TooLong { limit: this.limit })),
                }))
            }
            Poll::Pending => {
                this.pace.poll_overdue(cx).map(|()| Some(Err(this.state.set(BodyFault::TooSlow))))
            }
            ended => ended,
        }
    }
}

impl ByteStream for Watched {
    fn remaining_length(&self) -> RemainingLength {
        self.body.remaining_length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io;

    use futures::StreamExt as _;
    use s3s::dto::StreamingBlob;

    async fn received(pieces: &[usize], limit: u64) -> (usize, Option<String>) {
        let pieces: Vec<_> =
            pieces.iter().map(|n| Ok::<_, io::Error>(Bytes::from(vec![0; *n]))).collect();
        let body = StreamingBlob::wrap(futures::stream::iter(pieces));
        let mut request = Request::new(Body::from(body));
        let state = watch(&mut request, &Limits { upload_bytes: limit, ..Limits::default() });
        let (mut body, mut bytes) = (request.into_body(), 0);
        while let Some(piece) = body.next().await {
            match piece {
                Ok(piece) => bytes += piece.len(),
                Err(error) => return (bytes, Some(state.error(error).code().as_str().to_owned())),
            }
        }
        (bytes, None)
    }

    #[tokio::test]
    async fn a_body_without_a_length_is_limited_too() {
        assert_eq!(received(&[], 5).await, (0, None));
        assert_eq!(received(&[3, 0, 2], 5).await, (5, None));
        assert_eq!(received(&[3, 2, 1, 1], 5).await, (5, Some("EntityTooLarge".to_owned())));
        assert_eq!(received(&[6], 5).await, (0, Some("EntityTooLarge".to_owned())));
    }
}
