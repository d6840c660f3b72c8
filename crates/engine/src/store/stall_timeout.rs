//! A time-out for silence: answers may take as long as they need, but may not pause for long.

use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use object_store::client::{HttpError, HttpErrorKind, HttpResponse, HttpResponseBody};
use tokio::time::timeout;

use crate::context::counters::Counters;
use crate::context::error::hints::STALL_HINT;
use crate::context::error::{ErrorKind, UserError};

/// The state of a store's answers about one object, over any number of requests. After the first silence the request
/// is sent once more; if the store is silent again before new data comes, the object is given up.
#[derive(Debug, Default)]
pub(crate) struct StallRetry {
    tried: AtomicBool,
    over: AtomicBool,
}

impl StallRetry {
    /// Returns true if the store was silent twice in a row.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn reset(&self) {
        self.tried.store(false, Ordering::Relaxed);
    }

    /// Records a silence; returns true if the request may be sent again.
    fn should_retry(&self) -> bool {
        let again = !self.tried.swap(true, Ordering::Relaxed);
        self.over.store(!again, Ordering::Relaxed);
        again
    }
}

/// The error for a store that was silent for too long.
#[derive(Debug)]
pub(crate) struct StallError(UserError);

impl fmt::Display for StallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for StallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl StallError {
    fn about(object: &str, waited: Duration) -> Self {
        Self(UserError {
            kind: ErrorKind::Unavailable,
            message: format!("the store says nothing about {object}: it was silent for {waited:?}"),
            hint: Some(STALL_HINT.to_owned()),
        })
    }
    /// Returns whether a request failed because of a silence and may be sent again.
    pub(crate) fn passes(error: &HttpError) -> bool {
        error.kind() == HttpErrorKind::Timeout
            && error.source().is_some_and(|source| source.is::<Self>())
    }
}

/// Applies the time-out to the answers about an object.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    /// The time that the store may be silent, over two requests in a row.
    pub(crate) limit: Duration,
    pub(crate) hearing: Arc<StallRetry>,
    /// The counters that count silences.
    pub(crate) counters: Arc<Counters>,
    /// The URL of the object: `s3://bucket/key`.
    pub(crate) object: String,
    /// True if a repeated request continues where the last one stopped. Otherwise a partial answer does not count as
    /// new data.
    pub(crate) continues: bool,
}

impl Listener {
    /// Returns an answer that fails if the store is silent for half of the time-out. `beginning` replaces this limit
    /// for the time until the answer begins.
    ///
    /// # Errors
    ///
    /// Those of the answer, and a timeout after a first silence, after which the object stores request the rest.
    pub(crate) async fn heard(
        self,
        answer: impl Future<Output = Result<HttpResponse, HttpError>>,
        beginning: Option<Duration>,
    ) -> Result<HttpResponse, HttpError> {
        let pause = self.limit / 2;
        let begun = timeout(beginning.unwrap_or(pause), answer).await;
        let answer = begun.map_err(|_| self.stall_error_of())??;
        Ok(answer.map(|body| {
            let frames = futures::stream::unfold(Some((body, self)), move |state| async move {
                let (mut body, listener) = state?;
                match timeout(pause, body.frame()).await {
                    Ok(None) => None,
                    Ok(Some(Ok(frame))) => {
                        let is_new = listener.continues;
                        if is_new && frame.data_ref().is_some_and(|data| !data.is_empty()) {
                            listener.hearing.reset();
                        }
                        Some((Ok(frame), Some((body, listener))))
                    }
                    Ok(Some(Err(error))) => Some((Err(error), None)),
                    Err(_) => Some((Err(listener.stall_error_of()), None)),
                }
            });
            // A fused stream may be polled after its end.
            HttpResponseBody::new(StreamBody::new(Box::pin(frames.fuse())))
        }))
    }

    /// Counts a silence and returns its error: a timeout if the request may be sent again.
    fn stall_error_of(&self) -> HttpError {
        self.counters.count_stall();
        let kind = match self.hearing.should_retry() {
            true => HttpErrorKind::Timeout,
            false => HttpErrorKind::Unknown,
        };
        self.error(kind)
    }

    /// Returns the error for a store that was given up.
    pub(crate) fn stall_error(&self) -> HttpError {
        self.error(HttpErrorKind::Unknown)
    }

    fn error(&self, kind: HttpErrorKind) -> HttpError {
        HttpError::new(kind, StallError::about(&self.object, self.limit))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyStream, Full};
    use tokio::time::sleep;

    use super::*;

    const NEVER: Duration = Duration::from_secs(3600);

    /// Returns an answer whose parts, one byte each, come after these pauses.
    async fn paused(pauses: Vec<Duration>) -> Result<HttpResponse, HttpError> {
        let frames = futures::stream::unfold(pauses.into_iter(), |mut pauses| async {
            sleep(pauses.next()?).await;
            let frame = BodyStream::new(Full::new(Bytes::from_static(b"x"))).next().await?;
            Some((frame.map_err(|never| match never {}), pauses))
        });
        Ok(HttpResponse::new(HttpResponseBody::new(StreamBody::new(Box::pin(frames)))))
    }

    fn listener(limit: Duration) -> Listener {
        let object = "s3://b/k".to_owned();
        Listener {
            limit,
            hearing: Arc::default(),
            counters: Arc::default(),
            object,
            continues: true,
        }
    }

    #[tokio::test]
    async fn an_answer_may_be_slow_but_not_silent() {
        let (limit, pause) = (Duration::from_secs(4), Duration::from_millis(300));
        // The pauses together are longer than half the limit.
        let slow = listener(limit).heard(paused(vec![pause; 8]), None).await.unwrap();
        assert_eq!(slow.into_body().bytes().await.unwrap(), "xxxxxxxx");
        let ended = listener(limit).heard(paused(Vec::new()), None).await.unwrap();
        let mut ended = ended.into_body();
        assert!(ended.frame().await.is_none() && ended.frame().await.is_none());
        let stalled = listener(Duration::from_secs(2));
        let answer = stalled.clone().heard(paused(vec![pause, NEVER]), None).await.unwrap();
        let error = answer.into_body().bytes().await.unwrap_err();
        assert!(StallError::passes(&error), "{error}");
        assert_eq!(stalled.counters.read().silences, 1);
    }

    async fn mute() -> Result<HttpResponse, HttpError> {
        sleep(NEVER).await;
        paused(Vec::new()).await
    }

    #[tokio::test]
    async fn who_says_nothing_new_is_given_up() {
        let listener = listener(Duration::from_millis(100));
        let error = listener.clone().heard(mute(), None).await.unwrap_err();
        assert!(StallError::passes(&error) && !listener.hearing.is_over(), "{error}");
        // First comes new data, then only a head.
        let answer = paused(vec![Duration::ZERO, NEVER]);
        let told = listener.clone().heard(answer, None).await.unwrap();
        let error = told.into_body().bytes().await.unwrap_err();
        assert!(StallError::passes(&error) && !listener.hearing.is_over(), "{error}");
        let nothing = listener.clone().heard(paused(vec![NEVER]), None).await.unwrap();
        let error = nothing.into_body().bytes().await.unwrap_err();
        assert!(!StallError::passes(&error) && listener.hearing.is_over(), "{error}");
        assert_eq!(error.to_string(), listener.stall_error().to_string());
        assert_eq!(listener.counters.read().silences, 3);
        // The time until the answer begins may have its own limit.
        let late = async {
            sleep(Duration::from_millis(300)).await;
            paused(Vec::new()).await
        };
        listener.heard(late, Some(NEVER)).await.unwrap();
    }
}
