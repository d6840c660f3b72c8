//! Requests that browsers make for pages of others.
//!
//! A server that wants no signatures trusts whoever reaches it, and a browser reaches it for every page
//! that it shows. Two things tell such requests apart. Clients of S3 send neither; browsers send one or the
//! other with every request that changes anything:
//!
//! - `Origin`, and `Sec-Fetch-Site` with `cross-site` or `same-site`: a page of another server is behind the
//!   request. No header is demanded that a page cannot send, since unsigned clients of S3 have none in common:
//!   `object_store` sends a plain PUT.
//! - `Host`: a page whose name was made to lead to this machine (DNS rebinding) is no other server's page to
//!   the browser, but its name is still in the request. An address or `localhost` cannot be made to lead
//!   anywhere else; other names must be listed.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, Request, header};
use s3s::{S3Error, S3ErrorCode};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses a request that another server's page is behind. `hosts` are the names that the server has
/// besides its addresses and `localhost`.
///
/// # Errors
///
/// `AccessDenied`, with what to do about it.
pub(crate) fn refuse_pages<B>(request: &Request<B>, hosts: &[String]) -> Result<(), S3Error> {
    let headers = request.headers();
    if headers.contains_key(header::ORIGIN) || is_fetched_for_others(headers) {
        return Err(S3Error::with_message(
            S3ErrorCode::AccessDenied,
            "a server that takes unsigned requests takes none from pages of other servers; \
             sign them, and serve without --anonymous",
        ));
    }
    let named = headers.get_all(header::HOST).iter();
    let named = named.map(|value| value.to_str().unwrap_or_default());
    let named = named.chain(request.uri().authority().map(http::uri::Authority::as_str));
    for authority in named {
        let host = host_of(authority);
        if !is_own(host, hosts) {
            return Err(S3Error::with_message(
                S3ErrorCode::AccessDenied,
                format!(
                    "a server that takes unsigned requests takes them at its addresses, at localhost \
                     and at the names it was given, not at `{}`; serve with --host to add a name",
                    host.escape_debug(),
                ),
            ));
        }
    }
    Ok(())
}

fn is_fetched_for_others(headers: &HeaderMap) -> bool {
    let own = |site: &[u8]| matches!(site, b"same-origin" | b"none");
    headers.get_all(FETCH_SITE).iter().any(|site| !own(site.as_bytes()))
}

/// The name or address in a Host header, without the port.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_own(host: &str, hosts: &[String]) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.parse::<IpAddr>().is_ok()
        || host.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
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
        let hosts = ["store.example".to_owned()];
        assert_eq!(refuse_pages(&request, &hosts).is_ok(), expected, "{headers:?}");
    }

    #[test]
    fn addresses_and_listed_names_are_its_own() {
        for host in [
            "127.0.0.1:9000",
            "192.168.1.7",
            "[::1]:9000",
            "localhost",
            "LOCALHOST:9000",
            "localhost.:9000",
            "store.example:9000",
            "Store.Example",
        ] {
            check(&[("host", host)], true);
        }
        for host in
            ["", "evil.example:9000", "a.store.example", "127.0.0.1.evil.example", "localhost.evil"]
        {
            check(&[("host", host)], false);
        }
        // HTTP/1.0 has none, and no browser speaks it.
        check(&[], true);
        check(&[("host", "localhost"), ("host", "evil.example")], false);
    }

    #[test]
    fn a_target_with_a_name_counts_too() {
        let mut request = Request::new(());
        *request.uri_mut() = "http://evil.example/bucket/key".parse().unwrap();
        request.headers_mut().insert(header::HOST, "localhost".parse().unwrap());
        assert!(refuse_pages(&request, &[]).is_err());
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
