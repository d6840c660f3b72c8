//! The proxies of the environment, for the error messages of stores that cannot be reached.

use std::env;

/// A proxy through which requests are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The environment variable that names the proxy.
    pub variable: &'static str,
    /// The proxy's address, without user and password.
    pub address: String,
}

/// Returns the proxy for requests to a URL, if there is one.
#[must_use]
pub fn proxy_of(url: &str) -> Option<Proxy> {
    chosen(url, |name| env::var(name).ok())
}

/// Returns the host of an authority; an IPv6 address stays in its brackets.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    }
}

fn chosen(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Proxy> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?']).next()?;
    let host = without_port(host).trim_matches(['[', ']']);
    let passed_over = ["NO_PROXY", "no_proxy"].into_iter().find_map(&variable).unwrap_or_default();
    let is_it = |entry: &str| {
        let domain = entry.trim().trim_start_matches('.');
        let sub = host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
        domain == "*" || !domain.is_empty() && (domain.eq_ignore_ascii_case(host) || sub)
    };
    if passed_over.split(',').any(is_it) {
        return None;
    }
    let of_scheme = match scheme {
        "https" => ["HTTPS_PROXY", "https_proxy"],
        _ => ["HTTP_PROXY", "http_proxy"],
    };
    let names = of_scheme.into_iter().chain(["ALL_PROXY", "all_proxy"]);
    let mut set = names.filter_map(|name| Some((name, variable(name)?)));
    let (variable, address) = set.find(|(_, address)| !address.trim().is_empty())?;
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", &address));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest).trim_end_matches('/');
    Some(Proxy { variable, address: format!("{scheme}://{rest}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_that_of_the_scheme_unless_the_host_is_left_out() {
        let set = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            }
        };
        let found = |url, pairs| chosen(url, set(pairs)).map(|it| (it.variable, it.address));
        assert_eq!(found("http://h:9000", &[("HTTPS_PROXY", "http://p:1")]), None);
        assert_eq!(
            found("https://h:9000/b", &[("HTTPS_PROXY", "http://me:secret@p:1/")]),
            Some(("HTTPS_PROXY", "http://p:1".to_owned()))
        );
        assert_eq!(
            found("http://h", &[("HTTP_PROXY", ""), ("all_proxy", "p:1")]),
            Some(("all_proxy", "http://p:1".to_owned()))
        );
        for left_out in ["*", "h.example", ".example", "a, example"] {
            let pairs: &[_] = Box::leak(Box::new([("HTTP_PROXY", "p:1"), ("NO_PROXY", left_out)]));
            assert_eq!(chosen("http://h.example:9000", set(pairs)), None, "{left_out}");
        }
        let local = &[("HTTP_PROXY", "p:1"), ("NO_PROXY", "::1")];
        for url in ["http://[::1]", "http://[::1]:9000"] {
            assert_eq!(chosen(url, set(local)), None, "{url}");
        }
        let pairs = &[("HTTP_PROXY", "p:1"), ("NO_PROXY", "other, ample")];
        assert!(found("http://h.example", pairs).is_some());
    }
}
