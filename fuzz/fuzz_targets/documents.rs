//! The XML of requests: the server answers in time, never with an internal error, and removes nothing that was not
//! named.
//!
//! The first byte chooses the operation, the second the size of the pieces in which the document is sent; the rest is
//! the document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::store::{Answer, OBJECTS, Store};

/// The operations. `UPLOAD` stands for the ID of an upload of one part, whose bytes are `part`.
const OPERATIONS: [(&str, &str); 10] = [
    ("POST", "/bucket?delete"),
    ("POST", "/bucket/big?uploadId=UPLOAD"),
    ("POST", "/bucket/table.csv?select&select-type=2"),
    ("POST", "/bucket/lines.json?select&select-type=2"),
    ("PUT", "/new-bucket"),
    ("PUT", "/bucket/guard?tagging"),
    ("PUT", "/bucket?versioning"),
    ("PUT", "/bucket?lifecycle"),
    ("PUT", "/bucket/guard?acl"),
    ("POST", "/bucket/guard?restore"),
];

thread_local! {
    static STORE: Store = Store::anonymous().unwrap();
}

fn request(method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Begins an upload of one part and returns its ID.
fn upload(store: &Store) -> String {
    let begun = store.ask(&request("POST", "/bucket/big?uploads", b""), usize::MAX).unwrap();
    let begun = String::from_utf8(begun.body).unwrap();
    let (_, id) = begun.split_once("<UploadId>").unwrap();
    let (id, _) = id.split_once("</UploadId>").unwrap();
    let target = format!("/bucket/big?partNumber=1&uploadId={id}");
    assert!(store.ask(&request("PUT", &target, b"part"), usize::MAX).unwrap().is_good());
    id.to_owned()
}

/// Returns true if a stream of events is complete: lengths and checksums are right, and the last event is the end or
/// an error.
fn is_whole(mut events: &[u8]) -> bool {
    let mut last: &[u8] = b"";
    while let Some(length) = events.first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((event, rest)) = events.split_at_checked(length) else { return false };
        let Some((bytes, sum)) = event.split_last_chunk::<4>() else { return false };
        if crc32fast::hash(bytes) != u32::from_be_bytes(*sum) {
            return false;
        }
        (last, events) = (bytes, rest);
    }
    let ends = |kind: &[u8]| last.windows(kind.len()).any(|window| window == kind);
    events.is_empty() && (ends(b"End") || ends(b"error"))
}

/// Returns true if a document may name the object: literally, or with an entity, which is not resolved here.
fn may_name(document: &[u8], key: &str) -> bool {
    document.contains(&b'&') || document.windows(key.len()).any(|w| w == key.as_bytes())
}

fn check(answer: &Answer, is_select: bool) {
    assert!(answer.status < 500 || [501, 503].contains(&answer.status), "{answer:?}");
    if is_select && answer.is_good() {
        assert!(is_whole(&answer.body), "{}", answer.body.escape_ascii());
    }
}

fuzz_target!(|input: &[u8]| {
    let [operation, piece, document @ ..] = input else { return };
    let (method, target) = OPERATIONS[usize::from(*operation) % OPERATIONS.len()];
    STORE.with(|store| {
        let id = if target.contains("UPLOAD") { upload(store) } else { String::new() };
        let request = request(method, &target.replace("UPLOAD", &id), document);
        let piece = if *piece == 0 { request.len() } else { usize::from(*piece) };
        let answer = store.ask(&request, piece).expect("documents are answered");
        check(&answer, target.contains("select"));
        for (key, object) in OBJECTS {
            if !target.contains("delete") || !may_name(document, key) {
                assert_eq!(store.object(key).as_deref(), Some(object.as_bytes()), "{key}");
            }
        }
        if let Some(big) = store.object("big") {
            assert!(target.contains("UPLOAD") && big == b"part");
        }
        store.reset().unwrap();
    });
});
