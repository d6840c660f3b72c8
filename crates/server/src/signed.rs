//! Headers that a request's signature does not cover.
//!
//! A signature says what a request may do, and a presigned URL hands that permission on. Whatever
//! `x-amz-*` header is added afterwards changes what is done: `x-amz-copy-source` makes an upload a
//! copy of any object. S3 refuses such requests, and so do we, before looking at anything else.

use http::{HeaderName, Method, Request, header};
use percent_encoding::percent_decode_str;
use s3s::{S3Error, S3ErrorCode};

/// Refuses a request with an `x-amz-*` header that its signature does not cover. A request without a
/// signature passes: whether it may do anything is decided elsewhere.
///
/// # Errors
///
/// S3's `AccessDenied`, with the names of the headers.
pub(crate) fn refuse_unsigned_headers<B>(request: &Request<B>) -> Result<(), S3Error> {
    let unsigned = unsigned_headers(request);
    if unsigned.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = unsigned.into_iter().map(HeaderName::as_str).collect();
    Err(S3Error::with_message(
        S3ErrorCode::AccessDenied,
        format!(
            "There were headers present in the request which were not signed: {}",
            names.join(", ")
        ),
    ))
}

/// The `x-amz-*` headers that are not covered by every signature that the request carries. Which of
/// several signatures is verified is not decided here, so an additional one covers nothing more.
fn unsigned_headers<B>(request: &Request<B>) -> Vec<&HeaderName> {
    let signed = signed_headers(request);
    if signed.is_empty() {
        return Vec::new();
    }
    // Names are compared exactly: those of `http` are lower case, and so are those that are looked
    // up to verify a signature. Another spelling covers no header.
    let is_covered = |name: &str| signed.iter().all(|list| list.split(';').any(|n| n == name));
    let headers = request.headers().keys();
    headers.filter(|n| n.as_str().starts_with("x-amz-") && !is_covered(n.as_str())).collect()
}

/// What each signature covers: names separated by semicolons. Version 2 always covers all `x-amz-*`
/// headers and is not listed.
fn signed_headers<B>(request: &Request<B>) -> Vec<String> {
    let mut lists = Vec::new();
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy();
    for pair in request.uri().query().unwrap_or_default().split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decoded(name) == "X-Amz-SignedHeaders" {
            lists.push(decoded(value).into_owned());
        }
    }
    for value in request.headers().get_all(header::AUTHORIZATION) {
        let value = String::from_utf8_lossy(value.as_bytes());
        for (start, prefix) in value.match_indices("SignedHeaders=") {
            let list = &value[start + prefix.len()..];
            lists.push(list.split([',', ' ', '\t']).next().unwrap_or_default().to_owned());
        }
    }
    // A form is signed by the policy among its fields, which covers no header.
    let is_form = |value: &[u8]| {
        const FORM: &[u8] = b"multipart/form-data";
        value.trim_ascii_start().get(..FORM.len()).is_some_and(|v| v.eq_ignore_ascii_case(FORM))
    };
    let mut types = request.headers().get_all(header::CONTENT_TYPE).iter();
    if request.method() == Method::POST && types.any(|value| is_form(value.as_bytes())) {
        lists.push(String::new());
    }
    lists
}
