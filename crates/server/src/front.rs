//! The layer between the socket and the S3 service. It adds latency, refuses requests that no signature can permit,
//! limits slow bodies, completes errors with messages and request ids, cuts connections, and removes signatures where
//! none are needed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue, Method, Request, Response, header};
use hyper::body::Incoming;
use s3s::path::S3Path;
use s3s::service::S3Service;
use s3s::{Body, HttpError, S3Error, s3_error};
use sluicegate_s3select::capabilities::LINK_RATE_HEADER;

use crate::access_log::{AccessLog, LoggedRequest};
use crate::api::CUT;
use crate::browser_origin::refuse_pages;
use crate::chunks::{ChunkSigning, chunks};
use crate::error_messages::{escape_controls, explain, is_error};
use crate::health::Probe;
use crate::hosts::{Hosts, refuse_odd_hosts};
use crate::limits::Limits;
use crate::lingering_close::UnreadBody;
use crate::link::Link;
use crate::payload_hash::refuse_other_hashes;
use crate::preflight::refuse_preflights;
use crate::request_body::{BodyState, watch};
use crate::signed::{
    refuse_foreign_scopes, refuse_long_lived, refuse_odd_names, refuse_odd_times, refuse_old,
    refuse_other_algorithms, refuse_two_signatures, refuse_unsigned_headers, refuse_version_2,
    signed_headers,
};
use crate::store::Store;
use crate::supported::refuse_unknown;
use crate::target;

pub(crate) const CONTENT_HASH: HeaderName = HeaderName::from_static("x-amz-content-sha256");
/// The start of the hash header of a body in chunks.
const STREAMING: &[u8] = b"STREAMING-";
const DECODED_LENGTH: HeaderName = HeaderName::from_static("x-amz-decoded-content-length");
const COPY_SOURCE: HeaderName = HeaderName::from_static("x-amz-copy-source");
/// The rate of the simulated link, if it is limited, in bytes per second.
const LINK_RATE: HeaderName = HeaderName::from_static(LINK_RATE_HEADER);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amz-request-id");

/// The HTTP service of a server.
#[derive(Clone)]
pub(crate) struct Front {
    s3: S3Service,
    settings: Arc<Settings>,
    requests: Arc<AtomicU64>,
    /// The client's address, where it is known.
    peer: Option<SocketAddr>,
    /// Whether the connection's last body has an unread rest.
    unread: UnreadBody,
}

/// The settings that hold for all requests.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) latency: Duration,
    /// True if signatures are ignored.
    pub(crate) anonymous: bool,
    /// The access key's ID, unless signatures are ignored.
    pub(crate) access_key: Option<String>,
    /// True if signatures of version 2 are accepted.
    pub(crate) signature_v2: bool,
    /// The names of the server.
    pub(crate) hosts: Hosts,
    pub(crate) store: Arc<Store>,
    /// True if answers name this server.
    pub(crate) named: bool,
    /// The simulated link, whose rate answers name.
    pub(crate) link: Arc<Link>,
    pub(crate) limits: Limits,
    /// The log of requests, if there is one.
    pub(crate) access_log: Option<AccessLog>,
}

impl Front {
    pub(crate) fn new(s3: S3Service, settings: Settings) -> Self {
        Self {
            s3,
            settings: Arc::new(settings),
            requests: Arc::default(),
            peer: None,
            unread: UnreadBody::default(),
        }
    }

    /// Returns the service for a connection from this address. It registers unread bodies in `unread`.
    pub(crate) fn from(&self, peer: SocketAddr, unread: UnreadBody) -> Self {
        Self { peer: Some(peer), unread, ..self.clone() }
    }

    /// Answers a request, and logs it if there is a log.
    async fn logged(self, request: Request<Incoming>) -> Result<Response<Body>, HttpError> {
        let Some(log) = self.settings.access_log.clone() else { return self.answer(request).await };
        let (head, body) = request.into_parts();
        let asked = LoggedRequest::from_request(&head, self.settings.access_key.as_deref());
        let (peer, begun) = (self.peer, Instant::now());
        let response = Box::pin(self.answer(Request::from_parts(head, body))).await?;
        log.write(peer, &asked, (response.status(), response.headers()), begun.elapsed());
        Ok(response)
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>, HttpError> {
        if let Some(probe) = Probe::from_request(&request) {
            let is_bucket = self.settings.anonymous;
            if let Some(answer) = probe.answer(&self.settings.store, is_bucket).await {
                return Ok(answer);
            }
        }
        if !self.settings.latency.is_zero() {
            tokio::time::sleep(self.settings.latency).await;
        }
        let mut request = request.map(Body::from);
        let state = watch(&mut request, &self.settings.limits, self.unread.clone());
        let (is_awaited, is_object) = (awaits_in_vain(&request), may_be_object(&request));
        let mut response = match self.admit(&request) {
            Ok(()) => {
                if self.settings.anonymous {
                    // Every client may do everything, so a signature protects nothing.
                    strip_signature(&mut request)?;
                } else {
                    bound_chunks(&mut request, &state);
                }
                self.s3.call(request).await?
            }
            Err(error) => error.to_http_response().map_err(|e| HttpError::new(Box::new(e)))?,
        };
        let id = format!("{:016X}", self.requests.fetch_add(1, Ordering::Relaxed) + 1);
        explain(&mut response, &id);
        if !is_object || is_error(response.status()) {
            escape_controls(&mut response);
        }
        if response.headers().contains_key(CUT) {
            return Err(HttpError::new("injected fault: connection cut".into()));
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        if is_awaited {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        // Clients that recognize this server may use its extensions.
        if self.settings.named {
            let name = HeaderValue::from_static("sluicegate");
            response.headers_mut().insert(header::SERVER, name);
            if let Some(rate) = self.settings.link.rate() {
                response.headers_mut().insert(LINK_RATE, HeaderValue::from(rate));
            }
        }
        Ok(response)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Refuses requests that no signature can permit.
    fn admit(&self, request: &Request<Body>) -> Result<(), S3Error> {
        refuse_preflights(request)?;
        refuse_odd_hosts(request)?;
        refuse_encodings(request)?;
        self.settings.hosts.refuse_others(request, self.settings.anonymous)?;
        refuse_forms(request)?;
        refuse_odd_times(request)?;
        if self.settings.anonymous {
            refuse_pages(request)?;
        } else {
            refuse_other_algorithms(request)?;
            if !self.settings.signature_v2 {
                refuse_version_2(request)?;
            }
            let signed = signed_headers(request);
            refuse_unsigned_headers(request, &signed)?;
            refuse_odd_names(request, &signed)?;
            refuse_foreign_scopes(request)?;
            refuse_old(request)?;
            refuse_long_lived(request)?;
            refuse_other_hashes(request)?;
            refuse_two_signatures(request)?;
        }
        refuse_unknown(request)
    }
}

/// Returns true if the answer may be the bytes of an object.
fn may_be_object<B>(request: &Request<B>) -> bool {
    let uri = request.uri();
    let is_other = matches!(target::path(uri), Some(S3Path::Root | S3Path::Bucket { .. }))
        || target::has_parameter(uri, &["uploadId", "attributes", "tagging"]);
    request.method() == Method::GET && !is_other
}

/// Returns true if a client expects 100 Continue for a body of no bytes. Nothing reads such a body, so 100 Continue
/// is never sent. botocore would take the next answer on the connection for it, and wait for another one.
fn awaits_in_vain<B>(request: &Request<B>) -> bool {
    let is = |name: HeaderName, value: &[u8]| {
        let stated = request.headers().get(name);
        stated.is_some_and(|stated| stated.as_bytes().eq_ignore_ascii_case(value))
    };
    is(header::EXPECT, b"100-continue") && is(header::CONTENT_LENGTH, b"0")
}

/// Refuses transfer encodings other than chunked, because such a body would be stored encoded, and objects without a
/// length.
fn refuse_encodings<B>(request: &Request<B>) -> Result<(), S3Error> {
    let headers = request.headers();
    let codings: Vec<_> = headers.get_all(header::TRANSFER_ENCODING).iter().collect();
    let is_chunked =
        |it: &&HeaderValue| it.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    if codings.len() > 1 || !codings.iter().all(is_chunked) {
        return Err(s3_error!(
            NotImplemented,
            "Transfer-Encoding may be chunked, and nothing else"
        ));
    }
    let is_object = matches!(target::path(request.uri()), Some(S3Path::Object { .. }));
    if request.method() == Method::PUT
        && is_object
        && ![header::CONTENT_LENGTH, header::TRANSFER_ENCODING, COPY_SOURCE]
            .iter()
            .any(|name| headers.contains_key(name))
    {
        return Err(s3_error!(MissingContentLength));
    }
    Ok(())
}

/// Refuses uploads by HTML forms. Their signature is inside the form, after fields of any length, and pages of other
/// servers may send them without a preflight.
fn refuse_forms<B>(request: &Request<B>) -> Result<(), S3Error> {
    const FORM: &[u8] = b"multipart/form-data";
    let is_form = |value: &HeaderValue| {
        let start = value.as_bytes().trim_ascii_start().get(..FORM.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(FORM))
    };
    let mut types = request.headers().get_all(header::CONTENT_TYPE).iter();
    if request.method() == Method::POST && types.any(is_form) {
        return Err(s3_error!(
            NotImplemented,
            "uploads by HTML forms are not supported; use a PUT to a presigned URL"
        ));
    }
    Ok(())
}

/// Splits or refuses long chunks of a body, because `s3s` keeps each chunk in memory until it is complete.
fn bound_chunks(request: &mut Request<Body>, state: &BodyState) {
    let form = match request.headers().get(CONTENT_HASH).map(HeaderValue::as_bytes) {
        Some(b"STREAMING-UNSIGNED-PAYLOAD-TRAILER") => ChunkSigning::Divided,
        Some(hash) if hash.starts_with(STREAMING) => ChunkSigning::Bounded,
        _ => return,
    };
    let body = std::mem::take(request.body_mut());
    *request.body_mut() = chunks(body, form, state.clone());
}

impl hyper::service::Service<Request<Incoming>> for Front {
    type Response = Response<Body>;
    type Error = HttpError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        Box::pin(self.clone().logged(request))
    }
}

/// Removes a request's signature, because this server has no keys to check it with. A chunked body, signed or not, is
/// converted to a plain one.
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
        headers.get(CONTENT_HASH).is_some_and(|hash| hash.as_bytes().starts_with(STREAMING));
    if is_chunked {
        headers.remove(CONTENT_HASH);
        match headers.remove(DECODED_LENGTH) {
            Some(length) => headers.insert(header::CONTENT_LENGTH, length),
            None => headers.remove(header::CONTENT_LENGTH),
        };
        let body = std::mem::take(request.body_mut());
        let state = request.extensions().get::<BodyState>().cloned().unwrap_or_default();
        *request.body_mut() = chunks(body, ChunkSigning::Joined, state);
    }
    Ok(())
}

/// Returns true if a query parameter belongs to the signature of a presigned URL.
pub(crate) fn is_signature(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default();
    name.starts_with("X-Amz-") || matches!(name, "AWSAccessKeyId" | "Signature" | "Expires")
}
