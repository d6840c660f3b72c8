//! The hosts that a request may be for.
//!
//! The server reads the bucket from the path (path style). Many clients can also put it in front of the host:
//! `http://bucket.store.example/key`. Read as path style, such a request has another meaning: a PUT of an object
//! would create a bucket. The server therefore refuses requests for hosts that are not among its names.
//!
//! | host | signed | anonymous |
//! |---|---|---|
//! | an address, `localhost`, a name that was given | accepted | accepted |
//! | a name without a dot, as in a network of containers; a name that begins with that of the machine (`box.lan`); names that containers have for the machine | accepted | refused |
//! | any other name | refused | refused |
//!
//! A name without a dot has no bucket in front. An anonymous server is stricter, because the host also reveals pages
//! of other servers (DNS rebinding): an address or `localhost` always leads to the intended server.

use std::fs;
use std::net::IpAddr;

use http::uri::Authority;
use http::{HeaderValue, Request, Version, header};
use s3s::{S3Error, S3ErrorCode, s3_error};

/// Names that machines use for themselves, and containers for the machine that they run on.
const USUAL: [&str; 3] =
    ["localhost.localdomain", "host.docker.internal", "host.containers.internal"];
const PATH_STYLE: &str = "name the bucket in the path, as in http://host/bucket/key (path style): \
    boto3 Config(s3={'addressing_style': 'path'}), `aws configure set default.s3.addressing_style path`, \
    force_path_style or forcePathStyle of the AWS SDKs";

/// The names that a server accepts requests for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts {
    /// The names that were given, in lower case.
    given: Vec<String>,
    /// The machine's name, in lower case.
    machine: Option<String>,
}

/// The relation of a host to a server.
#[derive(Debug, PartialEq, Eq)]
enum Host<'a> {
    /// The host is an address, or a name that was given.
    Own,
    /// The host is probably a name of the server.
    Likely,
    /// The host is a bucket in front of this name of the server.
    Bucket(&'a str),
    Unknown,
}

/// Refuses a request that names no host, two hosts or an invalid one, because a proxy may have read another host.
///
/// # Errors
///
/// `InvalidRequest`.
pub(crate) fn refuse_odd_hosts<B>(request: &Request<B>) -> Result<(), S3Error> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let (first, second) = (named.next(), named.next());
    let wrong = match (first, second) {
        (None, _) if request.version() == Version::HTTP_11 => "the request names no host",
        (_, Some(_)) => "the request names two hosts",
        (Some(host), None) if !is_host(host.as_bytes()) => "the Host header has no host in it",
        (Some(host), None) if !is_target(request, host) => {
            "the target of the request and its Host header name two hosts"
        }
        _ => return Ok(()),
    };
    Err(s3_error!(InvalidRequest, "{wrong}"))
}

/// Returns true unless the target of a request is a whole URL with another host than the Host header.
fn is_target<B>(request: &Request<B>, host: &HeaderValue) -> bool {
    let target = request.uri().authority().map(|it| it.as_str().as_bytes());
    target.is_none_or(|target| target.eq_ignore_ascii_case(host.as_bytes()))
}

/// Returns true if the text is a host, with or without a port.
fn is_host(host: &[u8]) -> bool {
    Authority::try_from(host).is_ok_and(|authority| {
        let port = authority.as_str().strip_prefix(authority.host());
        let port = port.map(|port| port.strip_prefix(':').unwrap_or(port));
        port.is_some_and(|port| {
            let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
            port.is_empty() || is_number && port.parse::<u16>().is_ok()
        })
    })
}

impl Hosts {
    /// Creates the names from those that were given and that of the machine.
    pub(crate) fn new(given: &[String]) -> Self {
        Self {
            given: given.iter().map(|name| normal(name)).collect(),
            machine: machine().map(|name| normal(&name)),
        }
    }

    /// Refuses a request for another host.
    ///
    /// # Errors
    ///
    /// `InvalidRequest`, or `AccessDenied` on an anonymous server, with a hint.
    pub(crate) fn refuse_others<B>(
        &self,
        request: &Request<B>,
        anonymous: bool,
    ) -> Result<(), S3Error> {
        let named = request.headers().get_all(header::HOST).iter();
        let named = named.map(|value: &HeaderValue| value.to_str().unwrap_or("?.?"));
        for authority in named.chain(request.uri().authority().map(Authority::as_str)) {
            let host = normal(host_of(authority));
            let shown = host.escape_debug();
            match self.kind(&host) {
                Host::Own => {}
                Host::Likely if !anonymous => {}
                Host::Bucket(own) => {
                    return Err(s3_error!(
                        InvalidRequest,
                        "the request is for the host `{shown}`, and a bucket in front of the server's name \
                         `{own}` is not supported (virtual-hosted style); {PATH_STYLE}"
                    ));
                }
                Host::Likely | Host::Unknown => {
                    let code = match anonymous {
                        true => S3ErrorCode::AccessDenied,
                        false => S3ErrorCode::InvalidRequest,
                    };
                    let message = format!(
                        "the request is for the host `{shown}`, which is not a name of this server: if it is \
                         one, serve with `--host {shown}`; if its first part is a bucket, {PATH_STYLE}"
                    );
                    return Err(S3Error::with_message(code, message));
                }
            }
        }
        Ok(())
    }

    /// Classifies a host in lower case.
    fn kind<'a>(&self, host: &'a str) -> Host<'a> {
        if self.is_own(host) {
            return Host::Own;
        }
        if USUAL.contains(&host) || self.machine.as_deref() == Some(host) || !host.contains('.') {
            return Host::Likely;
        }
        let behind = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        let is_name =
            |name: &&str| self.is_own(name) || USUAL.contains(name) || self.is_of_the_machine(name);
        match behind.into_iter().find(is_name) {
            Some(own) => Host::Bucket(own),
            None if self.is_of_the_machine(host) => Host::Likely,
            None => Host::Unknown,
        }
    }

    fn is_own(&self, host: &str) -> bool {
        host.parse::<IpAddr>().is_ok()
            || host == "localhost"
            || self.given.iter().any(|own| own == host)
    }

    /// Returns true if the host is the machine's name, with or without a domain.
    fn is_of_the_machine(&self, host: &str) -> bool {
        self.machine.as_deref().is_some_and(|machine| {
            let short = machine.split('.').next().unwrap_or(machine);
            let rest = host.strip_prefix(short);
            host == machine || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// Normalizes a host for comparison.
fn normal(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// Returns the name or address in a Host header, without the port.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Returns the machine's name, where the system reports it.
fn machine() -> Option<String> {
    let name = ["/proc/sys/kernel/hostname", "/etc/hostname"].into_iter();
    let mut names = name.filter_map(|path| fs::read_to_string(path).ok());
    names.find_map(|name| Some(name.trim().to_owned()).filter(|name| !name.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        let given = vec!["store.example".to_owned(), "Minio".to_owned()];
        Hosts { machine: Some("box".to_owned()), ..Hosts::new(&given) }
    }

    #[track_caller]
    fn refused(request: &Request<()>, anonymous: bool) -> Option<String> {
        let refused = hosts().refuse_others(request, anonymous).err()?;
        let message = refused.message().unwrap_or_default();
        assert!(
            message.contains("path style") && message.contains("addressing_style"),
            "{message}"
        );
        Some(refused.code().as_str().to_owned())
    }

    #[track_caller]
    fn check(headers: &[&str], signed: Option<&str>, anonymous: Option<&str>) {
        let mut request = Request::new(());
        for value in headers {
            request.headers_mut().append(header::HOST, value.parse().unwrap());
        }
        assert_eq!(refused(&request, false).as_deref(), signed, "{headers:?}");
        assert_eq!(refused(&request, true).as_deref(), anonymous, "{headers:?}");
    }

    const INVALID: Option<&str> = Some("InvalidRequest");
    const DENIED: Option<&str> = Some("AccessDenied");

    #[test]
    fn a_request_names_one_host() {
        let check = |hosts: &[&str], version: Version, expected: bool| {
            let mut request = Request::new(());
            *request.version_mut() = version;
            for value in hosts {
                request.headers_mut().append(header::HOST, value.parse().unwrap());
            }
            assert_eq!(refuse_odd_hosts(&request).is_ok(), expected, "{hosts:?} {version:?}");
        };
        check(&[], Version::HTTP_11, false);
        check(&[], Version::HTTP_10, true);
        for good in ["a", "a_1:9000", "127.0.0.1:80", "[::1]:9000", "[::1]", "a.:1", "a:"] {
            check(&[good], Version::HTTP_11, true);
        }
        for bad in ["", "me@a", "a:b", "a:99999", "a b", "a/b", "[::1", "a:80:80", "a,b@c"] {
            check(&[bad], Version::HTTP_11, false);
        }
        check(&["a", "a"], Version::HTTP_11, false);
    }

    #[test]
    fn addresses_and_names_that_were_given_are_the_servers() {
        for host in [
            "127.0.0.1:9000",
            "192.168.1.7",
            "[::1]:9000",
            "[fe80::1]",
            "localhost",
            "LOCALHOST:9000",
            "localhost.:9000",
            "store.example:9000",
            "Store.Example",
            "minio:9000",
        ] {
            check(&[host], None, None);
        }
        // HTTP/1.0 requests have no Host header, and browsers do not send them.
        check(&[], None, None);
    }

    #[test]
    fn names_that_are_likely_its_own_are_accepted_from_who_signs() {
        for host in [
            "store",
            "store:9000",
            "sluice_1",
            "box",
            "box.lan:9000",
            "BOX.local",
            "localhost.localdomain",
            "host.docker.internal:9000",
        ] {
            check(&[host], None, DENIED);
        }
    }

    #[test]
    fn a_bucket_before_a_name_is_refused() {
        for host in [
            "bucket.localhost:9000",
            "bucket.localhost.",
            "Bucket.LOCALHOST",
            "my.bucket.localhost",
            "bucket.store.example",
            "a.b.store.example:80",
            "bucket.minio:9000",
            "bucket.127.0.0.1:9000",
            "bucket.box",
            "bucket.box.lan",
            // The host has two readings, of which the harmless one is chosen.
            "box.localhost",
            "bucket.host.docker.internal",
            "bucket.localhost.localdomain",
        ] {
            check(&[host], INVALID, INVALID);
        }
    }

    #[test]
    fn other_names_are_refused() {
        for host in [
            "evil.example:9000",
            "bucket.s3.amazonaws.com",
            "127.0.0.1.evil.example",
            "localhost.evil",
            "boxes.lan",
            ".",
        ] {
            let signed = if host == "." { None } else { INVALID };
            check(&[host], signed, DENIED);
        }
        check(&["localhost", "evil.example"], INVALID, DENIED);
    }

    #[test]
    fn a_target_is_of_the_host_that_is_named() {
        for (target, host, expected) in [
            ("http://localhost:9000/bucket", "localhost:9000", true),
            ("http://LOCALHOST:9000/bucket", "localhost:9000", true),
            ("http://localhost:9000/bucket", "localhost:9001", false),
            ("http://store/bucket", "localhost", false),
            ("/bucket", "localhost", true),
        ] {
            let request = Request::get(target).header(header::HOST, host).body(()).unwrap();
            assert_eq!(refuse_odd_hosts(&request).is_ok(), expected, "{target} {host}");
        }
    }

    #[test]
    fn a_target_with_a_name_counts_too() {
        let mut request = Request::new(());
        *request.uri_mut() = "http://bucket.localhost/key".parse().unwrap();
        request.headers_mut().insert(header::HOST, "localhost".parse().unwrap());
        assert_eq!(refused(&request, false).as_deref(), INVALID);
        *request.uri_mut() = "http://evil.example/bucket/key".parse().unwrap();
        assert_eq!(refused(&request, true).as_deref(), DENIED);
    }
}
