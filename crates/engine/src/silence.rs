//! Answers may take as long as they need, but not be silent for long.

use std::future::Future;
use std::time::Duration;

use futures::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use object_store::client::{HttpError, HttpErrorKind, HttpResponse, HttpResponseBody};
use tokio::time::timeout;

/// How long a store may say nothing: before it answers, and before each part of the answer.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// An answer that fails if the store says nothing for so long.
///
/// # Errors
///
/// Those of the answer, and a timeout, after which the object stores ask for the rest.
pub(crate) async fn heard(
    answer: impl Future<Output = Result<HttpResponse, HttpError>>,
    limit: Duration,
) -> Result<HttpResponse, HttpError> {
    let answer = timeout(limit, answer).await.map_err(|_| silent(limit))??;
    Ok(answer.map(|body| {
        let frames = futures::stream::unfold(Some(body), move |body| async move {
            let mut body = body?;
            match timeout(limit, body.frame()).await {
                Ok(None) => None,
                Ok(Some(Ok(frame))) => Some((Ok(frame), Some(body))),
                Ok(Some(Err(error))) => Some((Err(error), None)),
                Err(_) => Some((Err(silent(limit)), None)),
            }
        });
        // Who has seen the end may ask again.
        HttpResponseBody::new(StreamBody::new(Box::pin(frames.fuse())))
    }))
}

fn silent(limit: Duration) -> HttpError {
    let why = format!("the store has sent nothing for {limit:?}");
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::other(why))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyStream, Full};
    use tokio::time::sleep;

    use super::*;

    /// An answer whose parts, of a byte each, come after such pauses.
    async fn paused(pauses: Vec<Duration>) -> Result<HttpResponse, HttpError> {
        let frames = futures::stream::unfold(pauses.into_iter(), |mut pauses| async {
            sleep(pauses.next()?).await;
            let frame = BodyStream::new(Full::new(Bytes::from_static(b"x"))).next().await?;
            Some((frame.map_err(|never| match never {}), pauses))
        });
        Ok(HttpResponse::new(HttpResponseBody::new(StreamBody::new(Box::pin(frames)))))
    }

    #[tokio::test]
    async fn an_answer_may_be_slow_but_not_silent() {
        let (limit, pause) = (Duration::from_secs(2), Duration::from_millis(300));
        // Longer than the limit in all.
        let slow = heard(paused(vec![pause; 8]), limit).await.unwrap();
        assert_eq!(slow.into_body().bytes().await.unwrap(), "xxxxxxxx");
        let mut ended = heard(paused(Vec::new()), limit).await.unwrap().into_body();
        assert!(ended.frame().await.is_none() && ended.frame().await.is_none());
        let never = Duration::from_secs(3600);
        let stalled = heard(paused(vec![pause, never]), Duration::from_secs(1)).await.unwrap();
        let error = stalled.into_body().bytes().await.unwrap_err();
        assert!(error.kind() == HttpErrorKind::Timeout, "{error}");
        let nothing = async {
            sleep(never).await;
            paused(Vec::new()).await
        };
        let error = heard(nothing, Duration::from_millis(50)).await.unwrap_err();
        assert!(error.kind() == HttpErrorKind::Timeout, "{error}");
    }
}
