//! What is wrong with a signature, before it is verified: it does not cover a header, or holds for too long.
//!
//! A signature says what a request may do, and a presigned URL hands that permission on. Whatever
//! `x-amz-*` header is added afterwards changes what is done: `x-amz-copy-source` makes an upload a
//! copy of any object. S3 refuses such requests, and so do we, before looking at anything else.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderName, Request, header};
use percent_encoding::percent_decode_str;
use s3s::{S3Error, S3ErrorCode};

/// The longest life of a presigned URL, in seconds: a week.
const MAX_LIFE: u64 = 604_800;
/// By how many seconds the clock of whoever signs may be ahead.
const MAX_SKEW: u64 = 900;

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
    for (name, value) in parameters(request) {
        if name == "X-Amz-SignedHeaders" {
            lists.push(value.into_owned());
        }
    }
    for value in request.headers().get_all(header::AUTHORIZATION) {
        let value = String::from_utf8_lossy(value.as_bytes());
        for (start, prefix) in value.match_indices("SignedHeaders=") {
            let list = &value[start + prefix.len()..];
            lists.push(list.split([',', ' ', '\t']).next().unwrap_or_default().to_owned());
        }
    }
    lists
}

/// The parameters of a request's query.
fn parameters<B>(request: &Request<B>) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy();
    request.uri().query().unwrap_or_default().split('&').map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    })
}

/// Refuses a presigned URL that holds for more than a week, of either version of signatures. The older one
/// does not say when it was signed: it must end within a week from now.
///
/// # Errors
///
/// S3's `AuthorizationQueryParametersError`.
pub(crate) fn refuse_long_lived<B>(request: &Request<B>) -> Result<(), S3Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    for (name, value) in parameters(request) {
        let most = match &*name {
            "X-Amz-Expires" => MAX_LIFE,
            "Expires" => now + MAX_LIFE + MAX_SKEW,
            _ => continue,
        };
        let message = match value.parse::<u64>() {
            Ok(seconds) if seconds <= most => continue,
            Ok(_) => format!("a presigned URL holds for at most {MAX_LIFE} seconds, a week"),
            Err(_) => format!("{name} is a number of seconds"),
        };
        let code = S3ErrorCode::Custom("AuthorizationQueryParametersError".into());
        let mut error = S3Error::with_message(code, message);
        error.set_status_code(http::StatusCode::BAD_REQUEST);
        return Err(error);
    }
    Ok(())
}
