//! A second implementation of signatures of version 4, to compare with the server's.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The key pair of a store that requires signatures.
pub const ACCESS_KEY: &str = "fuzz";
pub const SECRET_KEY: &str = "fuzz-secret";
const REGION: &str = "us-east-1";

/// The time, the scope and the key of signatures.
#[derive(Debug)]
pub struct Signer {
    /// The time in the form `20261125T030500Z`.
    pub time: String,
    scope: String,
    key: Vec<u8>,
}

/// Names and values of headers or parameters.
pub type Pairs = [(String, String)];

impl Signer {
    /// Creates a signer with the current time.
    pub fn now() -> Self {
        let time = format_time(SystemTime::now());
        let date = &time[..8];
        let mut key = mac(format!("AWS4{SECRET_KEY}").as_bytes(), date.as_bytes());
        for part in [REGION, "s3", "aws4_request"] {
            key = mac(&key, part.as_bytes());
        }
        let scope = format!("{date}/{REGION}/s3/aws4_request");
        Self { time, scope, key }
    }

    /// Returns the signature of a request. Names of headers are lower case.
    pub fn signature(
        &self,
        (method, path): (&str, &str),
        query: &Pairs,
        headers: &Pairs,
        body: &str,
    ) -> String {
        let mut query: Vec<_> = query.iter().map(|(n, v)| (escape(n), escape(v))).collect();
        query.sort();
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut sorted = headers.to_vec();
        sorted.sort();
        let mut lines = String::new();
        for (name, value) in &sorted {
            // Runs of spaces count as one space.
            let value: Vec<_> = value.split(' ').filter(|word| !word.is_empty()).collect();
            let _ = writeln!(lines, "{name}:{}", value.join(" "));
        }
        let (query, names) = (query.join("&"), names(headers));
        self.sign(&format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{body}"))
    }

    fn sign(&self, canonical: &str) -> String {
        let Self { time, scope, key } = self;
        let hash = hex(&Sha256::digest(canonical.as_bytes()));
        hex(&mac(key, format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{hash}").as_bytes()))
    }

    /// Returns the signature of a chunk. `before` is the signature of the previous chunk.
    pub fn chunk(&self, before: &str, bytes: &[u8]) -> String {
        let Self { time, scope, key } = self;
        let (empty, hash) = (hex(&Sha256::digest(b"")), hex(&Sha256::digest(bytes)));
        let text = format!("AWS4-HMAC-SHA256-PAYLOAD\n{time}\n{scope}\n{before}\n{empty}\n{hash}");
        hex(&mac(key, text.as_bytes()))
    }

    /// Returns the `Authorization` header with a signature.
    pub fn authorization(&self, headers: &Pairs, signature: &str) -> String {
        let Self { scope, .. } = self;
        let names = names(headers);
        format!(
            "AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, \
             Signature={signature}"
        )
    }

    /// Returns the parameters of a presigned URL without the signature.
    pub fn parameters(&self, headers: &Pairs) -> Vec<(String, String)> {
        [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256".to_owned()),
            ("X-Amz-Credential", format!("{ACCESS_KEY}/{}", self.scope)),
            ("X-Amz-Date", self.time.clone()),
            ("X-Amz-Expires", "600".to_owned()),
            ("X-Amz-SignedHeaders", names(headers)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// Returns the sorted list of signed headers.
fn names(headers: &Pairs) -> String {
    let mut names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(";")
}

/// Percent-encodes all but unreserved characters.
pub fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("keys have any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Formats a time for signatures.
fn format_time(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that a leap day is the last day of its year.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}
