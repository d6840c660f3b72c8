//! The payload hash of requests without a payload. The hash of a body is verified where the body is received.

use http::{HeaderMap, Request, header};
use s3s::{S3Error, S3ErrorCode};

use crate::front::CONTENT_HASH;

/// The SHA-256 hash of the empty string.
const OF_NOTHING: &[u8] = b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Refuses a request without a body whose header has the hash of another payload.
///
/// # Errors
///
/// `XAmzContentSHA256Mismatch`, or `InvalidArgument` if the header is not a hash.
pub(crate) fn refuse_other_hashes<B>(request: &Request<B>) -> Result<(), S3Error> {
    if has_body(request.headers()) {
        return Ok(());
    }
    for stated in request.headers().get_all(CONTENT_HASH) {
        let stated = stated.as_bytes();
        if stated.eq_ignore_ascii_case(OF_NOTHING)
            || stated == b"UNSIGNED-PAYLOAD"
            || stated.starts_with(b"STREAMING-")
        {
            continue;
        }
        let is_hash = stated.len() == OF_NOTHING.len() && stated.iter().all(u8::is_ascii_hexdigit);
        let (code, message) = match is_hash {
            true => (
                S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into()),
                "The provided 'x-amz-content-sha256' header does not match what was computed: the request has no \
                 payload.",
            ),
            false => (
                S3ErrorCode::InvalidArgument,
                "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, the name of a streaming algorithm, or a valid sha256 \
                 value.",
            ),
        };
        let mut error = S3Error::with_message(code, message);
        error.set_status_code(http::StatusCode::BAD_REQUEST);
        return Err(error);
    }
    Ok(())
}

fn has_body(headers: &HeaderMap) -> bool {
    headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_payload_has_no_other_hash() {
        let of_nothing = std::str::from_utf8(OF_NOTHING).unwrap();
        let other = "0".repeat(64);
        for (method, stated, length, refused) in [
            ("GET", of_nothing, None, None),
            ("GET", "UNSIGNED-PAYLOAD", None, None),
            ("DELETE", &of_nothing.to_uppercase(), Some("0"), None),
            ("GET", &other, None, Some("XAmzContentSHA256Mismatch")),
            ("HEAD", &other, Some("0"), Some("XAmzContentSHA256Mismatch")),
            ("DELETE", "abc", None, Some("InvalidArgument")),
            // The receiver of these bodies compares the hash.
            ("GET", &other, Some("3"), None),
            ("PUT", of_nothing, Some("0"), None),
            ("PUT", &other, Some("0"), Some("XAmzContentSHA256Mismatch")),
            ("PUT", &other, None, Some("XAmzContentSHA256Mismatch")),
            ("POST", &other, Some("3"), None),
        ] {
            let mut request = Request::builder().method(method).header(CONTENT_HASH, stated);
            if let Some(length) = length {
                request = request.header(header::CONTENT_LENGTH, length);
            }
            let checked = refuse_other_hashes(&request.body(()).unwrap());
            let code = checked.err().map(|error| error.code().as_str().to_owned());
            assert_eq!(code.as_deref(), refused, "{method} {stated} {length:?}");
        }
    }
}
