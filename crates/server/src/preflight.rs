//! Preflight requests of browsers (CORS), which precede requests that a page sends to another server. No bucket
//! allows them.

use http::{HeaderName, Method, Request, StatusCode, header};
use s3s::{S3Error, S3ErrorCode};

const REQUESTED_METHOD: HeaderName = header::ACCESS_CONTROL_REQUEST_METHOD;

/// Refuses a preflight like S3 does for a bucket without a CORS configuration, whether or not the bucket exists.
///
/// # Errors
///
/// `AccessForbidden`, or `BadRequest` if the request is not a preflight.
pub(crate) fn refuse_preflights<B>(request: &Request<B>) -> Result<(), S3Error> {
    if request.method() != Method::OPTIONS {
        return Ok(());
    }
    let has = |name| request.headers().contains_key(name);
    let (status, code, message) = match (has(header::ORIGIN), has(REQUESTED_METHOD)) {
        (true, true) => (
            StatusCode::FORBIDDEN,
            "AccessForbidden",
            "CORSResponse: CORS is not enabled for this bucket.",
        ),
        (false, _) => (
            StatusCode::BAD_REQUEST,
            "BadRequest",
            "Insufficient information. Origin request header needed.",
        ),
        (true, false) => {
            (StatusCode::BAD_REQUEST, "BadRequest", "Invalid Access-Control-Request-Method: null")
        }
    };
    let mut error = S3Error::with_message(S3ErrorCode::Custom(code.into()), message);
    error.set_status_code(status);
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preflights_are_refused_and_nothing_else() {
        let check =
            |method: Method, headers: &[(HeaderName, &str)], expected: Option<(&str, u16)>| {
                let mut request = Request::new(());
                *request.method_mut() = method;
                for (name, value) in headers {
                    request.headers_mut().insert(name, value.parse().unwrap());
                }
                let refused = refuse_preflights(&request).err().map(|error| {
                    (error.code().as_str().to_owned(), error.status_code().unwrap().as_u16())
                });
                let expected = expected.map(|(code, status)| (code.to_owned(), status));
                assert_eq!(refused, expected);
            };
        let origin = (header::ORIGIN, "https://page.example");
        let both = [origin.clone(), (REQUESTED_METHOD, "PUT")];
        check(Method::OPTIONS, &both, Some(("AccessForbidden", 403)));
        check(Method::OPTIONS, &both[..1], Some(("BadRequest", 400)));
        check(Method::OPTIONS, &[], Some(("BadRequest", 400)));
        check(Method::GET, &both, None);
        check(Method::PUT, &[origin], None);
    }
}
