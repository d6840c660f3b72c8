//! Bodies that are read into memory, which are the XML documents of requests.
//!
//! The size of each document is limited, and so is their total. Errors in a document are reported as the client's:
//! `s3s` would report a wrong hash as an internal error.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, Method, Uri};
use s3s::path::S3Path;
use s3s::{Body, S3Request, S3Result, TrailingHeaders, s3_error};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::error_messages::is_no_xml;
use crate::request_body::BodyState;
use crate::store::{Algorithm, Expected, Hasher};
use crate::target;

/// The maximum length of a document, in bytes. It has room for the longest statement, and for a thousand of the
/// longest keys, with every character escaped.
const MAX_DOCUMENT: usize = 8 << 20;
/// The unit of memory, in bytes. The first unit of each document comes from a pool of its own, so that long documents
/// that arrive slowly leave room for the usual short ones.
const UNIT: usize = 64 << 10;
const SHORT: usize = (32 << 20) / UNIT;
const LONG: usize = (32 << 20) / UNIT;

/// The memory that documents are read into.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    /// The time-out for documents of more than one unit.
    time: Duration,
}

/// A document in memory. Its memory is returned to the pools when it is dropped.
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    _memory: [Option<OwnedSemaphorePermit>; 2],
}

impl Documents {
    pub(crate) fn new(time: Duration) -> Self {
        let [short, long] = [SHORT, LONG].map(|units| Arc::new(Semaphore::new(units)));
        Self { short, long, time }
    }

    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// `MaxMessageLengthExceeded`, `SlowDown` if other documents use all memory, `RequestTimeout` if a long document
    /// takes too long, and errors of the body.
    pub(crate) async fn read(&self, request: &mut S3Request<Body>) -> S3Result<Document> {
        let state = request.extensions.get::<BodyState>().cloned().unwrap_or_default();
        let mut body = std::mem::take(&mut request.input);
        let deadline = Instant::now() + self.time;
        let mut bytes = Vec::new();
        let (mut short, mut long) = (None::<OwnedSemaphorePermit>, None::<OwnedSemaphorePermit>);
        loop {
            // Documents of one unit are only held to the minimum rate.
            let piece = match &long {
                None => body.next().await,
                Some(_) => timeout_at(deadline, body.next()).await.map_err(|_| {
                    s3_error!(RequestTimeout, "the body took longer than {:?}", self.time)
                })?,
            };
            let Some(piece) = piece else { break };
            let piece = piece.map_err(|error| state.error(error))?;
            let length = bytes.len() + piece.len();
            if length > MAX_DOCUMENT {
                return Err(s3_error!(
                    MaxMessageLengthExceeded,
                    "the body of such a request has at most {MAX_DOCUMENT} bytes"
                ));
            }
            let units = length.div_ceil(UNIT);
            grow(&mut short, &self.short, units.min(1))?;
            grow(&mut long, &self.long, units.saturating_sub(1))?;
            bytes.extend_from_slice(&piece);
        }
        refuse_sections(&bytes)?;
        refuse_references(&bytes)?;
        Ok(Document { bytes: bytes.into(), _memory: [short, long] })
    }
}

/// Takes more memory, up to `units` in total.
fn grow(
    held: &mut Option<OwnedSemaphorePermit>,
    memory: &Arc<Semaphore>,
    units: usize,
) -> S3Result<()> {
    let more = units.saturating_sub(held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
    if more == 0 {
        return Ok(());
    }
    let more = u32::try_from(more).unwrap_or(u32::MAX);
    let Ok(more) = Arc::clone(memory).try_acquire_many_owned(more) else {
        return Err(s3_error!(SlowDown, "too many requests at a time; retry later"));
    };
    match held {
        Some(held) => held.merge(more),
        None => *held = Some(more),
    }
    Ok(())
}

/// Refuses CDATA sections, because `s3s` drops their text. The rest of a key would be another key.
fn refuse_sections(document: &[u8]) -> S3Result<()> {
    const START: &[u8] = b"<![CDATA[";
    if memchr::memmem::find(document, START).is_some() {
        return Err(s3_error!(
            MalformedXML,
            "CDATA sections are not supported; write &lt; &gt; and &amp; instead"
        ));
    }
    Ok(())
}

/// Refuses references to characters that XML cannot represent, although keys may have them. The error names the
/// character.
fn refuse_references(document: &[u8]) -> S3Result<()> {
    for at in memchr::memmem::find_iter(document, b"&#") {
        let rest = &document[at + 2..document.len().min(at + 12)];
        let Some(end) = rest.iter().position(|byte| *byte == b';') else { continue };
        let number = String::from_utf8_lossy(&rest[..end]);
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        };
        if code.and_then(char::from_u32).is_some_and(is_no_xml) {
            return Err(s3_error!(
                MalformedXML,
                "&#{number}; is a character that XML cannot hold; delete objects with such keys one by one: then \
                 the key is in the path"
            ));
        }
    }
    Ok(())
}

/// Returns true if the body of a request is a document rather than the bytes of an object.
pub(crate) fn is_document(method: &Method, uri: &Uri) -> bool {
    match *method {
        Method::POST => true,
        Method::PUT => {
            // Sub-resources of an object, such as its tags, have documents.
            let parts = ["acl", "tagging", "retention", "legal-hold", "encryption"];
            !matches!(target::path(uri), Some(S3Path::Object { .. }))
                || target::has_parameter(uri, &parts)
        }
        _ => false,
    }
}

/// Checks a document against the hashes that the request declares. When an upload is completed, `x-amz-checksum-*`
/// describes the object and not the document.
pub(crate) fn verify(
    document: &Document,
    uri: &Uri,
    headers: &HeaderMap,
    trailers: Option<&TrailingHeaders>,
) -> S3Result<()> {
    let text = |headers: &HeaderMap, name: &str| {
        headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let mut expected = Expected { md5: text(headers, "content-md5"), ..Expected::default() };
    if !target::has_parameter(uri, &["uploadId"]) {
        let mut expect = |headers: &HeaderMap| {
            for algorithm in Algorithm::ALL {
                if let Some(value) = text(headers, algorithm.header()) {
                    expected.checksums.set(algorithm, value);
                }
            }
        };
        expect(headers);
        if let Some(trailers) = trailers {
            trailers.read(expect);
        }
    }
    let mut hasher = Hasher::new(expected.algorithms());
    hasher.update(&document.bytes);
    expected.verify(&hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    use http::Extensions;

    fn request(bytes: usize) -> S3Request<Body> {
        S3Request {
            input: Body::from(vec![b' '; bytes]),
            method: Method::POST,
            uri: Uri::from_static("/b?delete"),
            headers: HeaderMap::new(),
            extensions: Extensions::new(),
            credentials: None,
            region: None,
            service: None,
            trailing_headers: None,
        }
    }

    fn code(read: S3Result<Document>) -> Option<String> {
        read.map_err(|error| error.code().as_str().to_owned()).err()
    }

    #[tokio::test]
    async fn documents_are_bounded_each_and_together() {
        let documents = Documents::new(Duration::from_secs(60));
        let long = documents.read(&mut request(MAX_DOCUMENT + 1)).await;
        assert_eq!(code(long).as_deref(), Some("MaxMessageLengthExceeded"));
        let mut held = Vec::new();
        for _ in 0..LONG * UNIT / MAX_DOCUMENT {
            held.push(
                documents.read(&mut request(MAX_DOCUMENT)).await.unwrap_or_else(|e| panic!("{e}")),
            );
        }
        // The first unit of each document is from the other pool.
        let units = 1 + LONG % (MAX_DOCUMENT / UNIT - 1);
        let rest = documents.read(&mut request(units * UNIT)).await;
        assert_eq!(code(documents.read(&mut request(2 * UNIT)).await).as_deref(), Some("SlowDown"));
        // Short documents have memory of their own.
        let mut short = Vec::new();
        for _ in 0..SHORT - held.len() - 1 {
            short.push(documents.read(&mut request(1)).await.unwrap_or_else(|e| panic!("{e}")));
        }
        assert_eq!(code(documents.read(&mut request(1)).await).as_deref(), Some("SlowDown"));
        assert_eq!(code(documents.read(&mut request(0)).await), None);
        drop(rest);
        assert_eq!(code(documents.read(&mut request(2 * UNIT)).await), None);
        assert_eq!(code(documents.read(&mut request(1)).await), None);
    }

    #[tokio::test]
    async fn long_documents_may_not_take_for_ever() {
        let documents = Documents::new(Duration::from_millis(10));
        let bytes = Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 2 * UNIT]));
        // The body never ends.
        let body = futures::stream::once(async { bytes }).chain(futures::stream::pending());
        let body = Body::from(s3s::dto::StreamingBlob::wrap(Box::pin(body)));
        let slow = documents.read(&mut S3Request { input: body, ..request(0) }).await;
        assert_eq!(code(slow).as_deref(), Some("RequestTimeout"));
    }

    #[tokio::test]
    async fn sections_whose_text_would_be_lost_are_refused() {
        let documents = Documents::new(Duration::from_secs(60));
        let read =
            |xml: &'static str| S3Request { input: Body::from(xml.to_owned()), ..request(0) };
        let refused = documents.read(&mut read("<Key>a<![CDATA[b]]></Key>")).await;
        assert_eq!(code(refused).as_deref(), Some("MalformedXML"));
        assert_eq!(code(documents.read(&mut read("<Key>a&lt;![b</Key>")).await), None);
        for odd in ["<Key>a&#1;b</Key>", "<Key>&#xB;</Key>"] {
            let refused = documents.read(&mut read(odd)).await.err().unwrap();
            assert!(refused.message().unwrap().contains("XML cannot hold"), "{odd}");
        }
        assert_eq!(code(documents.read(&mut read("<Key>&#13;&#x41;&#9;&#</Key>")).await), None);
    }

    #[test]
    fn objects_are_no_documents() {
        for (method, uri, expected) in [
            (Method::PUT, "/bucket/key", false),
            (Method::PUT, "/bucket/a/b?partNumber=1&uploadId=acl", false),
            (Method::PUT, "/bucket/key?x-id=PutObject", false),
            (Method::PUT, "/bucket/key?tagging", true),
            (Method::PUT, "/bucket/key?x-id=PutObjectAcl&acl=", true),
            (Method::PUT, "/bucket", true),
            (Method::PUT, "/bucket/?versioning", true),
            (Method::POST, "/bucket?delete", true),
            (Method::POST, "/bucket/key?uploadId=1", true),
            (Method::GET, "/bucket/key", false),
            (Method::DELETE, "/bucket", false),
        ] {
            let is = is_document(&method, &uri.parse().unwrap());
            assert_eq!(is, expected, "{method} {uri}");
        }
    }
}
