//! The client that follows no redirect, for object stores.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    SpawnService,
};
use sluicegate_client::{Direct, NotSent};
use tokio::runtime::Handle;

/// Sends each request to its own URL.
#[derive(Debug, Clone)]
struct DirectService {
    direct: Direct,
}

/// A client whose connections are made within a time, and one that sends from another runtime if there is one.
pub(crate) fn direct(
    connect_timeout: Duration,
    runtime: Option<&Handle>,
) -> (HttpClient, HttpClient) {
    let service = || DirectService { direct: Direct::new(connect_timeout) };
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
        let answer = self.direct.send(request).await.map_err(|e| HttpError::new(kind(&e), e))?;
        Ok(answer.map(|body| {
            HttpResponseBody::new(body.map_err(|broken| {
                HttpError::new(HttpErrorKind::Interrupted, io::Error::other(broken))
            }))
        }))
    }
}

/// What object stores decide by whether to send a request again.
fn kind(error: &NotSent) -> HttpErrorKind {
    match error {
        NotSent { late: true, .. } => HttpErrorKind::Timeout,
        NotSent { unseen: true, .. } => HttpErrorKind::Connect,
        NotSent { broken: true, .. } => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    }
}
