//! Refusal of requests that a browser sends for pages of other servers.
//!
//! A server that requires no signatures trusts every client that reaches it, and a browser can send requests for
//! every page that it shows. Two headers reveal such requests. Clients of S3 send neither, while browsers send at
//! least one with every request that changes anything:
//!
//! - `Origin`, or `Sec-Fetch-Site` with `cross-site` or `same-site`, reveals a page of another server. The server
//!   cannot require a header that pages are unable to send, because unsigned clients of S3 have none in common:
//!   `object_store` sends a plain PUT.
//! - `Host` reveals a page whose name was made to lead to this machine (DNS rebinding). To the browser, it is not a
//!   page of another server, but the request contains its name ([`hosts`](crate::hosts)).

use http::{HeaderMap, HeaderName, Request, header};
use s3s::{S3Error, S3ErrorCode};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses a request that a page of another server has caused.
///
/// # Errors
///
/// `AccessDenied`, with a hint.
pub(crate) fn refuse_pages<B>(request: &Request<B>) -> Result<(), S3Error> {
    let headers = request.headers();
    if headers.contains_key(header::ORIGIN) || is_fetched_for_others(headers) {
        return Err(S3Error::with_message(
            S3ErrorCode::AccessDenied,
            "a server that takes unsigned requests takes none from pages of other servers; \
             sign them, and serve without --anonymous",
        ));
    }
    Ok(())
}

fn is_fetched_for_others(headers: &HeaderMap) -> bool {
    let own = |site: &[u8]| matches!(site, b"same-origin" | b"none");
    headers.get_all(FETCH_SITE).iter().any(|site| !own(site.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: bool) {
        let mut request = Request::new(());
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        assert_eq!(refuse_pages(&request).is_ok(), expected, "{headers:?}");
    }

    #[test]
    fn pages_are_told_by_what_browsers_add() {
        let host = ("host", "localhost");
        for (name, value, expected) in [
            ("origin", "http://evil.example", false),
            ("origin", "null", false),
            ("sec-fetch-site", "cross-site", false),
            ("sec-fetch-site", "same-site", false),
            ("sec-fetch-site", "same-origin", true),
            ("sec-fetch-site", "none", true),
            ("user-agent", "Mozilla/5.0", true),
        ] {
            check(&[host, (name, value)], expected);
        }
        check(&[host, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")], false);
    }
}
