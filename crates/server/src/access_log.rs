//! The access log, with a line for each request in the combined log format of web servers.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode, header};
use sluicegate_s3select::value::Timestamp;

use crate::front::is_signature;
use crate::signed::access_keys;

/// The output of the log. A line that cannot be written is lost.
#[derive(Clone)]
pub(crate) struct AccessLog {
    out: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl std::fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessLog").finish_non_exhaustive()
    }
}

/// The parts of a request that appear in its line.
pub(crate) struct LoggedRequest {
    /// The ID of the server's access key, if the request names it.
    key: Option<String>,
    line: String,
    referer: String,
    agent: String,
}

impl LoggedRequest {
    /// Extracts the logged parts from the head of a request. `access_key` is the ID of the server's access key. The
    /// signature of a presigned URL is left out, because a reader of the log could use it. Other key IDs are left
    /// out, too, because some users confuse the ID with the secret.
    pub(crate) fn from_request(request: &Parts, access_key: Option<&str>) -> Self {
        let key = access_key.filter(|known| {
            access_keys(&request.uri, &request.headers).iter().any(|named| named == known)
        });
        let query = request.uri.query().unwrap_or_default();
        let query: Vec<&str> = query.split('&').filter(|pair| !is_signature(pair)).collect();
        let query = query.join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        let path = match (request.uri.path(), request.uri.authority()) {
            // CONNECT has an authority instead of a path.
            ("", Some(authority)) => authority.as_str(),
            (path, _) => path,
        };
        Self {
            key: key.map(str::to_owned),
            line: format!("{} {path}{mark}{query} {:?}", request.method, request.version),
            referer: text(&request.headers, &header::REFERER),
            agent: text(&request.headers, &header::USER_AGENT),
        }
    }
}

impl AccessLog {
    pub(crate) fn new(out: impl Write + Send + 'static) -> Self {
        Self { out: Arc::new(Mutex::new(Box::new(out))) }
    }

    /// Writes the line of a request whose answer begins now.
    pub(crate) fn write(
        &self,
        peer: Option<SocketAddr>,
        asked: &LoggedRequest,
        (status, headers): (StatusCode, &HeaderMap),
        took: Duration,
    ) {
        let peer = peer.map_or_else(|| "-".to_owned(), |peer| peer.ip().to_string());
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let line = format!(
            "{peer} - {} [{}] \"{}\" {} {} \"{}\" \"{}\" {}\n",
            asked.key.as_deref().map_or_else(|| "-".to_owned(), user),
            time(since),
            escaped(&asked.line),
            status.as_u16(),
            text(headers, &header::CONTENT_LENGTH),
            escaped(&asked.referer),
            escaped(&asked.agent),
            took.as_micros(),
        );
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        if let Err(error) = written {
            tracing::debug!("cannot write the access log: {error}");
        }
    }
}

/// Returns a header as text, or `-` if there is none.
fn text(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    value.map_or_else(|| "-".to_owned(), |value| value.into_owned())
}

/// Returns a key's ID without white space.
fn user(key: &str) -> String {
    escaped(key).replace(char::is_whitespace, "_")
}

/// Escapes the characters that would end the quotes around a text, or the line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            // Some readers take these characters for line ends, too.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                escaped.extend(c.escape_unicode());
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Formats a time, given in seconds since 1970, like `25/Nov/2026:06:17:23 +0000`.
fn time(seconds: u64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let time = Timestamp::from_nanos(i128::from(seconds) * 1_000_000_000, 0);
    // 2026-11-25T06:17:23Z
    let iso = time.map(|time| time.to_string()).unwrap_or_default();
    let part = |range: std::ops::Range<usize>| iso.get(range).unwrap_or("-");
    let month =
        part(5..7).parse::<usize>().ok().and_then(|month| MONTHS.get(month.wrapping_sub(1)));
    let month = month.copied().unwrap_or("-");
    format!("{}/{month}/{}:{} +0000", part(8..10), part(0..4), part(11..19))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_web_servers() {
        assert_eq!(time(0), "01/Jan/1970:00:00:00 +0000");
        assert_eq!(time(1_795_587_443), "25/Nov/2026:06:17:23 +0000");
    }

    #[test]
    fn nothing_ends_a_line_or_its_quotes() {
        assert_eq!(escaped("a \"b\"\\\n"), "a \\\"b\\\"\\\\\\u{a}");
        assert_eq!(escaped("a\u{2028}b\u{2029}c\u{85}"), "a\\u{2028}b\\u{2029}c\\u{85}");
    }
}
