//! Requests that `s3s` cannot pass to one of its operations unchanged.
//!
//! `s3s` accepts a Range header with one range only, and refuses any other. Such a request is passed to it again
//! after its signature was checked, without the header and with the ranges as an extension.
//!
//! The XML of requests is also read here, see [`documents`](crate::documents).

use http::{Extensions, HeaderMap, Method, Request, Uri, header};
use s3s::route::S3Route;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{Body, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, StdError, dto, s3_error};
use sluicegate_s3select::byteranges::RangeHeader;

use crate::api::{Api, MultipartRanges};
use crate::documents::{Documents, is_document, verify};
use crate::front::{CONTENT_HASH, strip_signature};
use crate::select::SelectRoute;

/// The requests that this server handles instead of `s3s`.
pub(crate) struct Routes {
    /// `None` for a server that hides its extensions.
    select: Option<SelectRoute>,
    /// The service for requests whose access was checked.
    allowed: S3Service,
    documents: Documents,
    anonymous: bool,
}

impl Routes {
    pub(crate) fn new(
        api: Api,
        anonymous: bool,
        select: Option<SelectRoute>,
        documents: Documents,
    ) -> Self {
        Self { select, allowed: S3ServiceBuilder::new(api).build(), documents, anonymous }
    }

    /// Answers a GET whose Range header is not one range: it has several ranges, or must be ignored.
    async fn get(&self, request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        let asked = parse_range(&request.headers).filter(|_| self.select.is_some());
        let mut plain = plain(request);
        plain.headers_mut().remove(header::RANGE);
        if let Some(asked) = asked {
            plain.extensions_mut().insert(asked);
        }
        let (mut head, body) = self.call(plain).await?.into_parts();
        if let Some(parts) = head.extensions.remove::<MultipartRanges>() {
            let content_type = parts.content_type.parse().map_err(S3Error::internal_error)?;
            head.headers.insert(header::CONTENT_TYPE, content_type);
            head.status = http::StatusCode::PARTIAL_CONTENT;
        }
        Ok(answer(head, body))
    }

    /// Answers a request whose body is read into memory first.
    async fn document(&self, mut request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        let document = self.documents.read(&mut request).await?;
        verify(&document, &request.uri, &request.headers, request.trailing_headers.as_ref())?;
        let mut plain = plain(request);
        plain.headers_mut().insert(header::CONTENT_LENGTH, document.bytes.len().into());
        *plain.body_mut() = Body::from(document.bytes.clone());
        let (head, body) = self.call(plain).await?.into_parts();
        Ok(answer(head, body))
    }

    /// Answers a request whose access was checked.
    async fn call(&self, mut plain: Request<Body>) -> S3Result<http::Response<Body>> {
        let failed =
            |error| S3Error::with_source(S3ErrorCode::InternalError, StdError::from(error));
        strip_signature(&mut plain).map_err(failed)?;
        self.allowed.call(plain).await.map_err(failed)
    }
}

/// Rebuilds the original request. Its body is already decoded.
fn plain(request: S3Request<Body>) -> Request<Body> {
    let mut plain = Request::new(request.input);
    *plain.method_mut() = request.method;
    *plain.uri_mut() = request.uri;
    *plain.headers_mut() = request.headers;
    plain.headers_mut().remove(CONTENT_HASH);
    plain
}

fn answer(head: http::response::Parts, body: Body) -> S3Response<Body> {
    let mut response = S3Response::with_headers(body, head.headers);
    response.status = Some(head.status);
    response
}

fn is_get_of_ranges(method: &Method, headers: &HeaderMap) -> bool {
    let mut ranges = headers.get_all(header::RANGE).iter();
    let understood = |value: &http::HeaderValue| {
        value.to_str().is_ok_and(|value| dto::Range::parse(value).is_ok())
    };
    match (ranges.next(), ranges.next()) {
        (None, _) => false,
        (Some(value), None) => method == Method::GET && !understood(value),
        (Some(_), Some(_)) => method == Method::GET,
    }
}

/// Returns the requested ranges. Two headers do not add up to a longer list; they are ignored.
fn parse_range(headers: &HeaderMap) -> Option<RangeHeader> {
    let mut ranges = headers.get_all(header::RANGE).iter();
    match (ranges.next(), ranges.next()) {
        (Some(value), None) => RangeHeader::parse(value.to_str().ok()?),
        _ => None,
    }
}

#[async_trait::async_trait]
impl S3Route for Routes {
    fn is_match(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        _: &mut Extensions,
    ) -> bool {
        is_get_of_ranges(method, headers) || is_document(method, uri)
    }

    async fn check_access(&self, request: &mut S3Request<Body>) -> S3Result<()> {
        if self.anonymous || request.credentials.is_some() {
            Ok(())
        } else {
            Err(s3_error!(AccessDenied, "the request must be signed"))
        }
    }

    async fn call(&self, request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        if is_get_of_ranges(&request.method, &request.headers) {
            return Box::pin(self.get(request)).await;
        }
        match &self.select {
            Some(select) if SelectRoute::is_match(&request.method, &request.uri) => {
                Box::pin(select.answer(request)).await
            }
            _ => Box::pin(self.document(request)).await,
        }
    }
}
