//! The layer between the socket and the S3 service: latency, unsigned headers, request ids, cut
//! connections, and servers that need no signature.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use s3s::service::S3Service;
use s3s::{Body, HttpError};

use crate::api::CUT;
use crate::signed::refuse_unsigned_headers;
use crate::unchunk::unchunk;

const CONTENT_HASH: HeaderName = HeaderName::from_static("x-amz-content-sha256");
const DECODED_LENGTH: HeaderName = HeaderName::from_static("x-amz-decoded-content-length");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amz-request-id");

/// The HTTP service of a server.
#[derive(Clone)]
pub(crate) struct Front {
    s3: S3Service,
    latency: Duration,
    anonymous: bool,
    /// Whether answers name this server.
    named: bool,
    requests: Arc<AtomicU64>,
}

impl Front {
    pub(crate) fn new(s3: S3Service, latency: Duration, anonymous: bool, named: bool) -> Self {
        Self { s3, latency, anonymous, named, requests: Arc::default() }
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>, HttpError> {
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        let mut request = request.map(Body::from);
        let refused = if self.anonymous {
            // Everybody may do everything, so there is nothing that a signature could protect.
            strip_signature(&mut request)?;
            Ok(())
        } else {
            refuse_unsigned_headers(&request)
        };
        let mut response = match refused {
            Ok(()) => self.s3.call(request).await?,
            Err(error) => error.to_http_response().map_err(|e| HttpError::new(Box::new(e)))?,
        };
        if response.headers().contains_key(CUT) {
            return Err(HttpError::new("injected fault: connection cut".into()));
        }
        let id = format!("{:016X}", self.requests.fetch_add(1, Ordering::Relaxed) + 1);
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        // Clients that recognise this server may use its extensions.
        if self.named {
            let name = HeaderValue::from_static("sluicegate");
            response.headers_mut().insert(header::SERVER, name);
        }
        Ok(response)
    }
}

impl hyper::service::Service<Request<Incoming>> for Front {
    type Response = Response<Body>;
    type Error = HttpError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}

/// Removes a request's signature: this server has no keys to check it with. A chunked body, signed or
/// not, becomes a plain one.
pub(crate) fn strip_signature(request: &mut Request<Body>) -> Result<(), HttpError> {
    request.headers_mut().remove(header::AUTHORIZATION);
    if request.uri().query().is_some_and(|query| query.split('&').any(is_signature)) {
        let path = request.uri().path();
        let query = request.uri().query().unwrap_or_default();
        let rest: Vec<_> = query.split('&').filter(|pair| !is_signature(pair)).collect();
        let uri = format!("{path}?{}", rest.join("&"));
        *request.uri_mut() = uri.parse().map_err(|e| HttpError::new(Box::new(e)))?;
    }
    let headers = request.headers_mut();
    let is_chunked =
        headers.get(CONTENT_HASH).is_some_and(|hash| hash.as_bytes().starts_with(b"STREAMING-"));
    if is_chunked {
        headers.remove(CONTENT_HASH);
        match headers.remove(DECODED_LENGTH) {
            Some(length) => headers.insert(header::CONTENT_LENGTH, length),
            None => headers.remove(header::CONTENT_LENGTH),
        };
        let body = std::mem::take(request.body_mut());
        *request.body_mut() = unchunk(body);
    }
    Ok(())
}

/// Whether a parameter is part of a presigned URL's signature.
fn is_signature(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default();
    name.starts_with("X-Amz-") || matches!(name, "AWSAccessKeyId" | "Signature" | "Expires")
}
