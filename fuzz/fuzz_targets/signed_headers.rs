//! Coverage of signatures: the server honours no `x-amz-*` header and no parameter that the signature does not cover.
//!
//! The first byte chooses the operation, the second whether the URL is presigned and where additions are put. Lines
//! follow; the first letter of each is its kind: `+name:value` a header that is signed, `-` a line that an attacker
//! adds to the head, `&name=value` a parameter that is signed, `?` one that is added, `;` a name that is added to the
//! list of signed headers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::sign::{Signer, escape};
use sluicegate_fuzz::store::{Answer, OBJECTS, Store};

const BODY: &str = "what was sent";
const OPERATIONS: [(&str, &str); 6] = [
    ("PUT", "/bucket/drop"),
    ("GET", "/bucket/guard"),
    ("HEAD", "/bucket/guard"),
    ("DELETE", "/bucket/none"),
    ("POST", "/bucket/drop"),
    ("GET", "/bucket"),
];

thread_local! {
    static STORE: Store = Store::signed().unwrap();
}

type Pair = (String, String);

/// A signed request with the additions of an attacker.
#[derive(Debug, Default)]
struct Request<'a> {
    signed: Vec<Pair>,
    query: Vec<Pair>,
    added: Vec<&'a str>,
    added_query: Vec<&'a str>,
    added_names: Vec<&'a str>,
}

impl<'a> Request<'a> {
    fn read(lines: &'a str) -> Self {
        let mut request = Self::default();
        for line in lines.split('\n').filter(|line| !line.contains('\r')) {
            let Some((kind, line)) = line.split_at_checked(1) else { continue };
            match kind {
                "+" => {
                    let Some((name, value)) = line.split_once(':') else { continue };
                    let name = name.to_ascii_lowercase();
                    // The headers that every signature needs are added later.
                    if !name.is_empty()
                        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                        && !["host", "x-amz-date", "x-amz-content-sha256", "content-length"]
                            .contains(&&*name)
                    {
                        request.signed.push((name, value.trim().to_owned()));
                    }
                }
                // An empty line would end the head.
                "-" if !line.is_empty() => request.added.push(line),
                "&" => {
                    let (name, value) = line.split_once('=').unwrap_or((line, ""));
                    if !name.is_empty() && !name.to_ascii_lowercase().starts_with("x-amz-") {
                        request.query.push((name.to_owned(), value.to_owned()));
                    }
                }
                "?" => request.added_query.push(line),
                ";" => request.added_names.push(line),
                _ => {}
            }
        }
        request
    }

    /// Returns true if the server must accept the request.
    fn is_plain(&self) -> bool {
        let word = |text: &str| {
            text.bytes().all(|b| b.is_ascii_lowercase()) && (1..=40).contains(&text.len())
        };
        let mut names: Vec<_> = self.signed.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        self.added.is_empty()
            && self.added_query.is_empty()
            && self.added_names.is_empty()
            && self.query.is_empty()
            && names.len() == self.signed.len()
            && names.len() <= 8
            && self.signed.iter().all(|(name, value)| {
                name.strip_prefix("x-amz-meta-").is_some_and(word) && word(value)
            })
    }

    /// Signs the request and returns its bytes.
    fn wire(&mut self, (method, path): (&str, &str), presigned: bool, first: bool) -> Vec<u8> {
        let signer = Signer::now();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        self.signed.push(pair("host", "localhost"));
        if !presigned {
            self.signed.push(pair("x-amz-content-sha256", "UNSIGNED-PAYLOAD"));
            self.signed.push(pair("x-amz-date", &signer.time));
        }
        let mut query = self.query.clone();
        if presigned {
            query.extend(signer.parameters(&self.signed));
        }
        let signature = signer.signature((method, path), &query, &self.signed, "UNSIGNED-PAYLOAD");
        let names: String = self.added_names.iter().map(|name| format!(";{name}")).collect();
        for (name, value) in &mut query {
            if name == "X-Amz-SignedHeaders" {
                *value += &names;
            }
        }
        let mut pairs: Vec<_> =
            query.iter().map(|(n, v)| format!("{}={}", escape(n), escape(v))).collect();
        let mut lines: Vec<_> = self.signed.iter().map(|(n, v)| format!("{n}: {v}")).collect();
        if presigned {
            pairs.push(format!("X-Amz-Signature={signature}"));
        } else {
            let authorization = signer.authorization(&self.signed, &signature);
            let authorization =
                authorization.replace(", Signature=", &format!("{names}, Signature="));
            lines.push(format!("authorization: {authorization}"));
        }
        let place = if first { 0 } else { pairs.len() };
        pairs.splice(place..place, self.added_query.iter().map(|&pair| pair.to_owned()));
        let place = if first { 0 } else { lines.len() };
        lines.splice(place..place, self.added.iter().map(|&line| line.to_owned()));
        let body = if ["PUT", "POST"].contains(&method) { BODY } else { "" };
        let mut text = format!("{method} {path}?{} HTTP/1.1\r\n", pairs.join("&"));
        for line in lines {
            text += &format!("{line}\r\n");
        }
        text += &format!("connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        text.into_bytes()
    }

    /// Returns an addition that changes the request's effect, if there is one.
    fn changes(&self) -> Option<String> {
        let is_amz = |line: &&&str| {
            let name = line.split(':').next().unwrap_or_default();
            name.trim().to_ascii_lowercase().starts_with("x-amz-")
        };
        if let Some(name) = self.added_names.first() {
            return Some((*name).to_owned());
        }
        if let Some(header) = self.added.iter().find(is_amz) {
            return Some((*header).to_owned());
        }
        // The server ignores fragments and empty parameters.
        let added = self.added_query.join("&");
        let query = added.split('#').next().unwrap_or_default();
        let matters = |pair: &&str| !pair.is_empty() && !pair.starts_with("X-Amz-Signature=");
        query.split('&').find(matters).map(str::to_owned)
    }

    fn signs(&self, name: &str) -> bool {
        self.signed.iter().any(|(signed, _)| signed == name)
    }
}

/// Reads an object with a valid signature.
fn owned(store: &Store, key: &str) -> Option<Answer> {
    let request = Request::default().wire(("GET", &format!("/bucket/{key}")), false, false);
    store.ask(&request, usize::MAX).filter(Answer::is_good)
}

fuzz_target!(|input: &[u8]| {
    let [operation, form, lines @ ..] = input else { return };
    let Ok(lines) = std::str::from_utf8(lines) else { return };
    let (method, path) = OPERATIONS[usize::from(*operation) % OPERATIONS.len()];
    let mut request = Request::read(lines);
    let is_plain = request.is_plain();
    let wire = request.wire((method, path), form & 1 != 0, form & 2 != 0);
    STORE.with(|store| {
        let answer = store.ask(&wire, usize::MAX);
        if let Some(answer) = &answer {
            assert!(answer.status < 500 || [501, 503].contains(&answer.status), "{answer:?}");
        }
        if answer.as_ref().is_some_and(Answer::is_good) {
            let changes = request.changes();
            assert!(changes.is_none(), "honoured though not signed: {changes:?}");
        } else {
            let is_refused = !is_plain || method == "POST";
            assert!(is_refused, "{}\n{answer:?}", wire.escape_ascii());
        }
        if let Some(dropped) = owned(store, "drop") {
            let copies = request.signs("x-amz-copy-source");
            assert!(copies || dropped.body == BODY.as_bytes(), "{dropped:?}");
            for (name, _) in &dropped.headers {
                let is_meta = name.starts_with("x-amz-meta-");
                assert!(!is_meta || copies || request.signs(name), "{name} was not signed");
            }
            store.reset().unwrap();
        }
        for (key, object) in OBJECTS {
            assert_eq!(store.object(key).as_deref(), Some(object.as_bytes()), "{key}");
        }
    });
});
