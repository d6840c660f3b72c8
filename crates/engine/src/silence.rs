//! Answers may take as long as they need, but not be silent for long.

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

use crate::counters::Counters;
use crate::error::hints::SILENT;
use crate::error::{ErrorKind, UserError};

/// Whether a store that is asked for an object, by however many requests, still says something new. One
/// that is silent is asked once more; if it says nothing then either, it is given up.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    tried: AtomicBool,
    over: AtomicBool,
}

impl Hearing {
    /// Whether the store was given up.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn heard(&self) {
        self.tried.store(false, Ordering::Relaxed);
    }

    /// The store says nothing; whether to ask again.
    fn silent(&self) -> bool {
        let again = !self.tried.swap(true, Ordering::Relaxed);
        self.over.store(!again, Ordering::Relaxed);
        again
    }
}

/// A store has said nothing for too long.
#[derive(Debug)]
pub(crate) struct Silence(UserError);

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Silence {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl Silence {
    fn about(object: &str, waited: Duration) -> Self {
        Self(UserError {
            kind: ErrorKind::Unavailable,
            message: format!("the store says nothing about {object}: it was silent for {waited:?}"),
            hint: Some(SILENT.to_owned()),
        })
    }

    /// Whether a request failed because of one, and is worth being sent again.
    pub(crate) fn passes(error: &HttpError) -> bool {
        error.kind() == HttpErrorKind::Timeout
            && error.source().is_some_and(|source| source.is::<Self>())
    }
}

/// Listens to what a store answers about an object.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    /// How long the store may say nothing, to two requests in a row.
    pub(crate) limit: Duration,
    pub(crate) hearing: Arc<Hearing>,
    /// Counts silences.
    pub(crate) counters: Arc<Counters>,
    /// As `s3://bucket/key`.
    pub(crate) object: String,
    /// Whether who asks again asks for the rest only. Otherwise half an answer is nothing new.
    pub(crate) continues: bool,
}

impl Listener {
    /// An answer that fails if the store says nothing for half of the time-out, or until it begins for
    /// another time.
    ///
    /// # Errors
    ///
    /// Those of the answer, and a timeout, after which the object stores ask for the rest.
    pub(crate) async fn heard(
        self,
        answer: impl Future<Output = Result<HttpResponse, HttpError>>,
        beginning: Option<Duration>,
    ) -> Result<HttpResponse, HttpError> {
        let pause = self.limit / 2;
        let begun = timeout(beginning.unwrap_or(pause), answer).await;
        let answer = begun.map_err(|_| self.silence())??;
        Ok(answer.map(|body| {
            let frames = futures::stream::unfold(Some((body, self)), move |state| async move {
                let (mut body, listener) = state?;
                match timeout(pause, body.frame()).await {
                    Ok(None) => None,
                    Ok(Some(Ok(frame))) => {
                        let is_new = listener.continues;
                        if is_new && frame.data_ref().is_some_and(|data| !data.is_empty()) {
                            listener.hearing.heard();
                        }
                        Some((Ok(frame), Some((body, listener))))
                    }
                    Ok(Some(Err(error))) => Some((Err(error), None)),
                    Err(_) => Some((Err(listener.silence()), None)),
                }
            });
            // Who has seen the end may ask again.
            HttpResponseBody::new(StreamBody::new(Box::pin(frames.fuse())))
        }))
    }

    /// The store says nothing.
    fn silence(&self) -> HttpError {
        self.counters.silence();
        let kind = match self.hearing.silent() {
            true => HttpErrorKind::Timeout,
            false => HttpErrorKind::Unknown,
        };
        self.error(kind)
    }

    /// What is said of a store that was given up.
    pub(crate) fn given_up(&self) -> HttpError {
        self.error(HttpErrorKind::Unknown)
    }

    fn error(&self, kind: HttpErrorKind) -> HttpError {
        HttpError::new(kind, Silence::about(&self.object, self.limit))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyStream, Full};
    use tokio::time::sleep;

    use super::*;

    const NEVER: Duration = Duration::from_secs(3600);

    /// An answer whose parts, of a byte each, come after such pauses.
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
        // Longer than half the limit in all.
        let slow = listener(limit).heard(paused(vec![pause; 8]), None).await.unwrap();
        assert_eq!(slow.into_body().bytes().await.unwrap(), "xxxxxxxx");
        let ended = listener(limit).heard(paused(Vec::new()), None).await.unwrap();
        let mut ended = ended.into_body();
        assert!(ended.frame().await.is_none() && ended.frame().await.is_none());
        let stalled = listener(Duration::from_secs(2));
        let answer = stalled.clone().heard(paused(vec![pause, NEVER]), None).await.unwrap();
        let error = answer.into_body().bytes().await.unwrap_err();
        assert!(Silence::passes(&error), "{error}");
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
        assert!(Silence::passes(&error) && !listener.hearing.is_over(), "{error}");
        // Something new, then a head and nothing more.
        let answer = paused(vec![Duration::ZERO, NEVER]);
        let told = listener.clone().heard(answer, None).await.unwrap();
        let error = told.into_body().bytes().await.unwrap_err();
        assert!(Silence::passes(&error) && !listener.hearing.is_over(), "{error}");
        let nothing = listener.clone().heard(paused(vec![NEVER]), None).await.unwrap();
        let error = nothing.into_body().bytes().await.unwrap_err();
        assert!(!Silence::passes(&error) && listener.hearing.is_over(), "{error}");
        assert_eq!(error.to_string(), listener.given_up().to_string());
        assert_eq!(listener.counters.read().silences, 3);
        // A beginning may have a limit of its own.
        let late = async {
            sleep(Duration::from_millis(300)).await;
            paused(Vec::new()).await
        };
        listener.heard(late, Some(NEVER)).await.unwrap();
    }
}
