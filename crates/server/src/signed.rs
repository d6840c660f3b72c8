//! Faults of a signature that are detected before it is verified: it does not cover a header, or is valid for too
//! long.
//!
//! A signature grants a request its effect, and a presigned URL passes that permission on. An `x-amz-*` header that
//! is added afterwards changes the effect: `x-amz-copy-source` makes an upload a copy of any object. S3 refuses such
//! requests, and so does this server, before any other check.

use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, Request, Uri, header};
use s3s::dto::{Timestamp, TimestampFormat};
use s3s::{S3Error, S3ErrorCode, s3_error};

use crate::api::seconds;
use crate::target::parameters;

/// The longest validity of a presigned URL, in seconds: a week.
const MAX_LIFE: u64 = 604_800;
/// The accepted error of a client's clock, in seconds.
const MAX_SKEW: u64 = 900;
/// The start of a signature of version 4.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The start of a signature of version 2.
const VERSION_2: &str = "AWS ";
const AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");

/// Refuses a request with an `x-amz-*` header that its signatures do not cover. `signed` is the result of
/// [`signed_headers`]. A request without a signature passes, because its access is checked elsewhere.
///
/// # Errors
///
/// `AccessDenied`, with the names of the headers.
pub(crate) fn refuse_unsigned_headers<B>(
    request: &Request<B>,
    signed: &[String],
) -> Result<(), S3Error> {
    let unsigned = unsigned_headers(request, signed);
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

/// Returns the `x-amz-*` headers that are not covered by every signature of the request. It is not known here which
/// of several signatures is verified, so an additional one covers nothing more.
fn unsigned_headers<'a, B>(request: &'a Request<B>, signed: &[String]) -> Vec<&'a HeaderName> {
    if signed.is_empty() {
        return Vec::new();
    }
    // Names are compared exactly. Those of `http` are in lower case, and so are those that are looked up to verify a
    // signature. Another spelling covers no header.
    let is_covered = |name: &str| signed.iter().all(|list| list.split(';').any(|n| n == name));
    let headers = request.headers().keys();
    headers.filter(|n| n.as_str().starts_with("x-amz-") && !is_covered(n.as_str())).collect()
}

/// Returns the header names that each signature covers, separated by semicolons. Version 2 always covers all
/// `x-amz-*` headers and is not listed.
pub(crate) fn signed_headers<B>(request: &Request<B>) -> Vec<String> {
    let mut lists = Vec::new();
    for (name, value) in parameters(request.uri()) {
        if name == "X-Amz-SignedHeaders" {
            lists.push(value.into_owned());
        }
    }
    for value in request.headers().get_all(header::AUTHORIZATION) {
        let value = String::from_utf8_lossy(value.as_bytes());
        for (start, prefix) in value.match_indices("SignedHeaders=") {
            let list = &value[start + prefix.len()..];
            lists.push(list.split(',').next().unwrap_or_default().to_owned());
        }
    }
    lists
}

/// Refuses a signature that does not cover the host, because it would be valid for any other server with these keys.
/// Also refuses a signature with a name that is not spelled like one of the request's headers. `s3s` ignores such a
/// name when it verifies, so an eavesdropper could add `;x-amz-meta-a ` to the names, and with it a header that seems
/// to be covered.
///
/// # Errors
///
/// `AuthorizationHeaderMalformed`.
pub(crate) fn refuse_odd_names<B>(request: &Request<B>, signed: &[String]) -> Result<(), S3Error> {
    for list in signed {
        let mut names: Vec<&str> = list.split(';').collect();
        let is_header = |name: &&str| {
            let header = HeaderName::from_bytes(name.as_bytes());
            header.is_ok_and(|h| h.as_str() == *name && request.headers().contains_key(h))
        };
        let odd = names.iter().find(|name| !is_header(name)).copied();
        if !names.contains(&"host") {
            let message = "the host is to be among the signed headers";
            let code = S3ErrorCode::AuthorizationHeaderMalformed;
            return Err(S3Error::with_message(code, message));
        }
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        if let Some(name) = odd.or(twice) {
            let message = format!(
                "{name:?} among the signed headers is no header of the request, or there twice"
            );
            let code = S3ErrorCode::AuthorizationHeaderMalformed;
            return Err(S3Error::with_message(code, message));
        }
    }
    Ok(())
}

/// Refuses a signature for another service or without a region. A client may have received such a request for the
/// other service, and it must not have an effect here.
///
/// # Errors
///
/// `AuthorizationHeaderMalformed`.
pub(crate) fn refuse_foreign_scopes<B>(request: &Request<B>) -> Result<(), S3Error> {
    // A key may contain slashes.
    let is_foreign = |credential: &String| {
        let mut parts = credential.rsplit('/').skip(1);
        parts.next() != Some("s3") || parts.next().is_none_or(str::is_empty)
    };
    if credentials(request).iter().any(is_foreign) {
        return Err(S3Error::with_message(
            S3ErrorCode::AuthorizationHeaderMalformed,
            "the scope of the signature is to name a region and the service s3",
        ));
    }
    Ok(())
}

/// Returns the credentials in signatures of version 4: key, day, region, service and `aws4_request`.
fn credentials<B>(request: &Request<B>) -> Vec<String> {
    credentials_in(request.uri(), request.headers())
}

fn credentials_in(uri: &Uri, headers: &HeaderMap) -> Vec<String> {
    let in_query = parameters(uri).filter(|(name, _)| name == "X-Amz-Credential");
    let mut credentials: Vec<String> = in_query.map(|(_, value)| value.into_owned()).collect();
    for value in headers.get_all(header::AUTHORIZATION) {
        let value = String::from_utf8_lossy(value.as_bytes());
        let stated = value.split("Credential=").skip(1);
        credentials.extend(stated.map(|c| c.split(',').next().unwrap_or_default().to_owned()));
    }
    credentials
}

/// Returns the IDs of the access keys that a request names, in signatures of either version.
pub(crate) fn access_keys(uri: &Uri, headers: &HeaderMap) -> Vec<String> {
    // A key may contain slashes; the scope has four parts.
    let credentials = credentials_in(uri, headers).into_iter();
    let mut keys: Vec<String> =
        credentials.filter_map(|it| Some(it.rsplitn(5, '/').nth(4)?.to_owned())).collect();
    let in_query = parameters(uri).filter(|(name, _)| name == "AWSAccessKeyId");
    keys.extend(in_query.map(|(_, value)| value.into_owned()));
    for value in headers.get_all(header::AUTHORIZATION) {
        let value = String::from_utf8_lossy(value.as_bytes());
        let key = value.strip_prefix(VERSION_2).and_then(|rest| rest.rsplit_once(':'));
        keys.extend(key.map(|(key, _)| key.to_owned()));
    }
    keys
}

/// Refuses a request whose signature has another algorithm, because it would not be verified.
///
/// # Errors
///
/// `InvalidArgument` for a header, and `AuthorizationQueryParametersError` for a query.
pub(crate) fn refuse_other_algorithms<B>(request: &Request<B>) -> Result<(), S3Error> {
    let is_known = |value: &http::HeaderValue| {
        let value = value.as_bytes().trim_ascii_start();
        value.strip_prefix(ALGORITHM.as_bytes()).is_some_and(|rest| rest.starts_with(b" "))
            || value.starts_with(VERSION_2.as_bytes())
    };
    if !request.headers().get_all(header::AUTHORIZATION).iter().all(is_known) {
        return Err(s3_error!(
            InvalidArgument,
            "Unsupported Authorization Type: requests are signed with {ALGORITHM}"
        ));
    }
    let mut named = parameters(request.uri()).filter(|(name, _)| name == "X-Amz-Algorithm");
    if named.any(|(_, algorithm)| algorithm != ALGORITHM) {
        let code = S3ErrorCode::Custom("AuthorizationQueryParametersError".into());
        let message = format!("X-Amz-Algorithm only supports {ALGORITHM}");
        let mut error = S3Error::with_message(code, message);
        error.set_status_code(http::StatusCode::BAD_REQUEST);
        return Err(error);
    }
    Ok(())
}

/// Refuses a request with one signature in the query and another one in its headers, because it is ambiguous.
///
/// # Errors
///
/// `InvalidArgument`.
pub(crate) fn refuse_two_signatures<B>(request: &Request<B>) -> Result<(), S3Error> {
    let mut in_query = parameters(request.uri());
    let names = ["X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "Signature"];
    if request.headers().contains_key(header::AUTHORIZATION)
        && in_query.any(|(name, _)| names.contains(&&*name))
    {
        return Err(s3_error!(
            InvalidArgument,
            "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string \
             parameter or the Authorization header should be specified"
        ));
    }
    Ok(())
}

/// Refuses signatures of version 2, in headers or in the query.
///
/// # Errors
///
/// `InvalidRequest`, like AWS regions that support only version 4.
pub(crate) fn refuse_version_2<B>(request: &Request<B>) -> Result<(), S3Error> {
    let mut in_head = request.headers().get_all(header::AUTHORIZATION).iter();
    let mut in_query = parameters(request.uri());
    if in_head.any(|value| value.as_bytes().starts_with(VERSION_2.as_bytes()))
        || in_query.any(|(name, _)| name == "Signature" || name == "AWSAccessKeyId")
    {
        return Err(s3_error!(
            InvalidRequest,
            "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256 \
             (signature version 4), or serve with --signature-v2"
        ));
    }
    Ok(())
}

/// Refuses a presigned URL that is valid for more than a week, in either version of signatures. Version 2 does not
/// contain the time of signing, so the URL must expire within a week from now.
///
/// # Errors
///
/// `AuthorizationQueryParametersError`.
pub(crate) fn refuse_long_lived<B>(request: &Request<B>) -> Result<(), S3Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    for (name, value) in parameters(request.uri()) {
        let most = match &*name {
            "X-Amz-Expires" => MAX_LIFE,
            "Expires" => now + MAX_LIFE + MAX_SKEW,
            _ => continue,
        };
        // A number that begins with a plus can be parsed, but AWS refuses it.
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        let message = match value.parse::<u64>() {
            Ok(seconds) if !digits => format!("{name} is a number of seconds, not {seconds:+}"),
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

/// Refuses an old request with a signature of version 2 in its headers. `s3s` does not check the time of such
/// signatures, so the request could be repeated forever.
///
/// # Errors
///
/// `RequestTimeTooSkewed`.
pub(crate) fn refuse_old<B>(request: &Request<B>) -> Result<(), S3Error> {
    let headers = request.headers();
    let is_version_2 =
        |value: &http::HeaderValue| value.as_bytes().starts_with(VERSION_2.as_bytes());
    if !headers.get_all(header::AUTHORIZATION).iter().any(is_version_2) {
        return Ok(());
    }
    // If both are present, only `x-amz-date` is signed.
    let signed = headers.get(AMZ_DATE).or_else(|| headers.get(header::DATE));
    let time = signed.and_then(|value| value.to_str().ok()).and_then(|text| {
        let text = text.replace("+0000", "GMT");
        seconds(Some(Timestamp::parse(TimestampFormat::HttpDate, &text).ok()?))
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match time {
        Some(time) if time.abs_diff(now) <= MAX_SKEW => Ok(()),
        _ => Err(S3Error::new(S3ErrorCode::RequestTimeTooSkewed)),
    }
}

/// Refuses a signature whose times have characters other than digits and letters. `s3s` subtracts before it checks
/// for digits, which panics with checked arithmetic.
///
/// # Errors
///
/// `AuthorizationHeaderMalformed`.
pub(crate) fn refuse_odd_times<B>(request: &Request<B>) -> Result<(), S3Error> {
    // Times of other lengths are not parsed: the older signatures have dates in words.
    let is_odd = |time: &str| {
        [8, 16].contains(&time.len()) && !time.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let has_odd_day = |credential: &String| credential.split('/').nth(1).is_some_and(is_odd);
    let mut in_query = parameters(request.uri()).filter(|(name, _)| name == "X-Amz-Date");
    let mut in_head = request.headers().get_all(AMZ_DATE).iter();
    if credentials(request).iter().any(has_odd_day)
        || in_query.any(|(_, time)| is_odd(&time))
        || in_head.any(|time| is_odd(&String::from_utf8_lossy(time.as_bytes())))
    {
        return Err(S3Error::with_message(
            S3ErrorCode::AuthorizationHeaderMalformed,
            "the times of a signature are digits, as in 20260131T235959Z",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::time::Duration;

    /// The fuzz target `front` found the first of these.
    #[test]
    fn times_of_signatures_have_no_odd_characters() {
        let check = |query: &str, authorization: &str, date: &str, expected: bool| {
            let request = Request::get(format!("/bucket/key?{query}"))
                .header(header::AUTHORIZATION, authorization)
                .header(AMZ_DATE, date)
                .body(());
            let refused = refuse_odd_times(&request.unwrap()).is_err();
            assert_eq!(refused, expected, "{query} {authorization} {date}");
        };
        let scope =
            |day: &str| format!("AWS4-HMAC-SHA256 Credential=me/{day}/r/s3/aws4_request, x");
        let (fine, time) = (scope("20260131"), "20260131T235959Z");
        check("", &fine, time, false);
        check("", &scope("202611+5"), time, true);
        check("", &fine, "20260131T2359-9Z", true);
        check("X-Amz-Date=20260131T235959Z&X-Amz-Credential=me%2F20260131%2Fr", &fine, time, false);
        check("X-Amz-Date=20260131T23595%20Z", &fine, time, true);
        check("X-Amz-Credential=me%2F2026%2B131%2Fr", &fine, time, true);
        check("", "AWS me:signature", "Tue, 27 Jan 2026 21:20:26 +0000", false);
    }

    #[test]
    fn signatures_of_other_algorithms_are_refused() {
        let check = |query: &str, authorization: Option<&str>, expected: bool| {
            let mut request = Request::get(format!("/bucket/key?{query}"));
            if let Some(authorization) = authorization {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let refused = refuse_other_algorithms(&request.body(()).unwrap()).is_err();
            assert_eq!(refused, expected, "{query} {authorization:?}");
        };
        check("", None, false);
        check("", Some("AWS4-HMAC-SHA256 Credential=a"), false);
        check("", Some("AWS me:signature"), false);
        for other in [
            "AWS4-HMAC-SHA1 Credential=a",
            "AWS4-HMAC-SHA256Credential=a",
            "Basic bWU6",
            "Bearer a",
            "",
        ] {
            check("", Some(other), true);
        }
        check("X-Amz-Algorithm=AWS4-HMAC-SHA256", None, false);
        check("X-Amz-Algorithm=AWS4-HMAC-SHA1", None, true);
    }

    #[test]
    fn a_request_is_signed_once() {
        for (query, authorization, expected) in [
            ("X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0", None, true),
            (
                "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0",
                Some("AWS4-HMAC-SHA256 x"),
                false,
            ),
            ("X%2DAmz-Signature=0", Some("AWS me:signature"), false),
            ("AWSAccessKeyId=me&Signature=x", Some("AWS4-HMAC-SHA256 x"), false),
            ("x-id=GetObject", Some("AWS4-HMAC-SHA256 x"), true),
        ] {
            let mut request = Request::get(format!("/bucket/key?{query}"));
            if let Some(authorization) = authorization {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let accepted = refuse_two_signatures(&request.body(()).unwrap()).is_ok();
            assert_eq!(accepted, expected, "{query} {authorization:?}");
        }
    }

    #[test]
    fn the_life_of_a_presigned_url_is_digits() {
        for (life, expected) in [
            ("60", true),
            ("604800", true),
            ("604801", false),
            ("%2B60", false),
            ("", false),
            ("-1", false),
        ] {
            let request = Request::get(format!("/bucket/key?X-Amz-Expires={life}")).body(());
            assert_eq!(refuse_long_lived(&request.unwrap()).is_ok(), expected, "{life}");
        }
    }

    #[test]
    fn either_version_names_the_key() {
        let check = |uri: &str, authorization: &str, keys: &[&str], is_version_2: bool| {
            let mut request = Request::get(uri);
            if !authorization.is_empty() {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let request = request.body(()).unwrap();
            assert_eq!(
                access_keys(request.uri(), request.headers()),
                keys,
                "{uri} {authorization}"
            );
            assert_eq!(refuse_version_2(&request).is_err(), is_version_2, "{uri} {authorization}");
        };
        let credential = "AWS4-HMAC-SHA256 Credential=me/you/20260131/r/s3/aws4_request, x";
        check("/b/k", credential, &["me/you"], false);
        check("/b/k?X-Amz-Credential=me%2F20260131%2Fr%2Fs3%2Faws4_request", "", &["me"], false);
        check("/b/k?X-Amz-Credential=me", "", &[], false);
        check("/b/k?AWSAccessKeyId=me&Signature=x&Expires=1", "", &["me"], true);
        check("/b/k?S%69gnature=x", "", &[], true);
        check("/b/k", "AWS me:signature", &["me"], true);
        check("/b/k?Expires=1", "", &[], false);
    }

    #[test]
    fn signatures_of_version_2_are_old_after_a_quarter_of_an_hour() {
        let date = |seconds: i64| {
            let now = SystemTime::now();
            let past = Duration::from_secs(seconds.unsigned_abs());
            let then = if seconds < 0 { now + past } else { now - past };
            let mut text = Vec::new();
            Timestamp::from(then).format(TimestampFormat::HttpDate, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let check = |authorization: &str, dates: &[(HeaderName, String)], expected: bool| {
            let mut request = Request::new(());
            let headers = request.headers_mut();
            headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
            for (name, value) in dates {
                headers.insert(name, value.parse().unwrap());
            }
            let refused = refuse_old(&request).map_err(|e| e.code().as_str().to_owned());
            let wanted = if expected { Ok(()) } else { Err("RequestTimeTooSkewed".to_owned()) };
            assert_eq!(refused, wanted, "{authorization} {dates:?}");
        };
        let fresh = || date(800);
        check("AWS AK:signature", &[(header::DATE, fresh())], true);
        check("AWS AK:signature", &[(header::DATE, fresh().replace("GMT", "+0000"))], true);
        check("AWS AK:signature", &[(header::DATE, date(-800))], true);
        check("AWS AK:signature", &[(header::DATE, date(1000))], false);
        check("AWS AK:signature", &[(header::DATE, date(-1000))], false);
        check("AWS AK:signature", &[(header::DATE, "yesterday".to_owned())], false);
        check("AWS AK:signature", &[], false);
        // The signed header counts.
        let both = [(header::DATE, fresh()), (AMZ_DATE, date(1000))];
        check("AWS AK:signature", &both, false);
        // The time of version 4 is checked with the signature.
        check("AWS4-HMAC-SHA256 Credential=AK", &[], true);
    }
}
