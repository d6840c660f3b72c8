//! The HTTP client of object stores, which follows no redirect.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use http_body_util::BodyExt;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    SpawnService,
};
use sluicegate_client::{NoRedirectClient, SendError};
use tokio::runtime::Handle;

/// Sends each request to its own URL.
#[derive(Debug, Clone)]
struct DirectService {
    direct: NoRedirectClient,
}

/// Returns a client that limits the time of connecting, and one that sends from `runtime`, if it is given.
pub(crate) fn direct(
    connect_timeout: Duration,
    runtime: Option<&Handle>,
) -> (HttpClient, HttpClient) {
    let service = || DirectService { direct: NoRedirectClient::new(connect_timeout) };
    let here = HttpClient::new(service());
    let there = match runtime {
        Some(runtime) => HttpClient::new(SpawnService::new(service(), runtime.clone())),
        None => here.clone(),
    };
    (here, there)
}

#[async_trait]
impl HttpService for DirectService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let repeatable = deletes(&request);
        let answer = self.direct.send(request).await;
        let answer = answer.map_err(|error| HttpError::new(kind(&error, repeatable), error))?;
        Ok(answer.map(|body| {
            HttpResponseBody::new(body.map_err(|broken| {
                HttpError::new(HttpErrorKind::Interrupted, io::Error::other(broken))
            }))
        }))
    }
}

/// Returns whether a request deletes, and can therefore be repeated. Object stores do not assume that.
fn deletes(request: &HttpRequest) -> bool {
    let mut parameters = request.uri().query().unwrap_or_default().split('&');
    match *request.method() {
        Method::DELETE => true,
        Method::POST => parameters.any(|it| matches!(it, "delete" | "delete=")),
        _ => false,
    }
}

/// Returns the kind of error by which object stores decide about a retry. A request that the store has not seen is
/// always retried. If the connection broke, only requests that can be repeated are: a repeated conditional PUT, for
/// example, would fail because of its own object.
fn kind(error: &SendError, repeatable: bool) -> HttpErrorKind {
    match error {
        SendError { late: true, .. } => HttpErrorKind::Timeout,
        SendError { unseen: true, .. } => HttpErrorKind::Connect,
        SendError { broken: true, .. } if repeatable => HttpErrorKind::Request,
        SendError { broken: true, .. } => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::task::JoinSet;

    async fn kind_of(url: &str, method: Method) -> HttpErrorKind {
        let (client, _) = direct(Duration::from_secs(5), None);
        let mut request = HttpRequest::new(object_store::client::HttpRequestBody::empty());
        *request.uri_mut() = url.parse().unwrap();
        *request.method_mut() = method;
        client.execute(request).await.unwrap_err().kind()
    }

    /// A store that closes the connection may have executed the request.
    #[tokio::test]
    async fn a_request_that_may_have_been_seen_is_sent_again_if_that_does_no_harm() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let store = format!("http://{}", listener.local_addr().unwrap());
        let mut hangs_up = JoinSet::new();
        hangs_up.spawn(async move {
            for begun in 0_usize.. {
                let (mut connection, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let read = connection.read(&mut request).await.unwrap();
                assert!(read > 0);
                // The connection closes before the answer, or within its head.
                let head = ["", "HTTP/1.1 200 OK\r\ncontent-"][begun % 2];
                connection.write_all(head.as_bytes()).await.unwrap();
            }
        });
        for (method, path, expected) in [
            (Method::GET, "/b/k", HttpErrorKind::Interrupted),
            (Method::PUT, "/b/k", HttpErrorKind::Interrupted),
            (Method::POST, "/b/k?uploads", HttpErrorKind::Interrupted),
            (Method::POST, "/b?delete", HttpErrorKind::Request),
            (Method::DELETE, "/b/k", HttpErrorKind::Request),
        ] {
            for _ in 0..2 {
                let found = kind_of(&format!("{store}{path}"), method.clone()).await;
                assert_eq!(found, expected, "{method} {path}");
            }
        }
        hangs_up.shutdown().await;
        assert_eq!(kind_of(&store, Method::PUT).await, HttpErrorKind::Connect);
    }
}
