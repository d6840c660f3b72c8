//! Bodies that are read into memory: the XML of requests.
//!
//! They are bounded each and together, and what is wrong with one is the client's fault: `s3s` would call a
//! body with a wrong hash an internal error.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, Method, Uri};
use s3s::path::{S3Path, parse_path_style};
use s3s::{Body, S3Request, S3Result, TrailingHeaders, s3_error};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::received::BodyState;
use crate::store::{Algorithm, Expected, Hasher};

/// The longest body that is read: the longest statement and a thousand of the longest keys fit, with every
/// character escaped.
const MAX_DOCUMENT: usize = 8 << 20;
/// What all of them may take together, in units.
const MEMORY: usize = (64 << 20) / UNIT;
const UNIT: usize = 64 << 10;

/// The memory that bodies are read into.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    memory: Arc<Semaphore>,
}

/// A body in memory, which counts as long as it exists.
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    _memory: Option<OwnedSemaphorePermit>,
}

impl Documents {
    pub(crate) fn new() -> Self {
        Self { memory: Arc::new(Semaphore::new(MEMORY)) }
    }

    /// Reads all of a request's body.
    ///
    /// # Errors
    ///
    /// `MaxMessageLengthExceeded`, `SlowDown` if others take all memory, and what is wrong with the body.
    pub(crate) async fn read(&self, request: &mut S3Request<Body>) -> S3Result<Document> {
        let state = request.extensions.get::<BodyState>().cloned().unwrap_or_default();
        let mut body = std::mem::take(&mut request.input);
        let (mut bytes, mut memory) = (Vec::new(), None::<OwnedSemaphorePermit>);
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| state.error(error))?;
            let length = bytes.len() + piece.len();
            if length > MAX_DOCUMENT {
                return Err(s3_error!(
                    MaxMessageLengthExceeded,
                    "the body of such a request has at most {MAX_DOCUMENT} bytes"
                ));
            }
            let held = memory.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let more = length.div_ceil(UNIT).saturating_sub(held);
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            let Ok(more) = Arc::clone(&self.memory).try_acquire_many_owned(more) else {
                return Err(s3_error!(SlowDown, "too many requests at a time; retry later"));
            };
            match &mut memory {
                Some(memory) => memory.merge(more),
                None => memory = Some(more),
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Document { bytes: bytes.into(), _memory: memory })
    }
}

/// Whether the body of a request is a document: any but the bytes of an object.
pub(crate) fn is_document(method: &Method, uri: &Uri) -> bool {
    match *method {
        Method::POST => true,
        Method::PUT => {
            let decoded = percent_encoding::percent_decode_str(uri.path()).decode_utf8_lossy();
            let is_object = matches!(parse_path_style(&decoded), Ok(S3Path::Object { .. }));
            // Of all that can be put beside an object, such as its tags, the names have no values.
            let has_part = |name: &str| {
                ["acl", "tagging", "retention", "legal-hold", "encryption"].contains(&name)
            };
            let query = uri.query().unwrap_or_default();
            !is_object
                || query.split('&').any(|p| has_part(p.split('=').next().unwrap_or_default()))
        }
        _ => false,
    }
}

/// Checks a document against the hashes that the request declares. For the completion of an upload
/// `x-amz-checksum-*` is about the object.
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
    let query = uri.query().unwrap_or_default();
    if !query.split('&').any(|pair| pair.starts_with("uploadId=")) {
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

    #[tokio::test]
    async fn documents_are_bounded_each_and_together() {
        let documents = Documents::new();
        let code = |read: S3Result<Document>| read.map_err(|e| e.code().as_str().to_owned()).err();
        let long = documents.read(&mut request(MAX_DOCUMENT + 1)).await;
        assert_eq!(code(long).as_deref(), Some("MaxMessageLengthExceeded"));
        let mut held = Vec::new();
        for _ in 0..MEMORY * UNIT / MAX_DOCUMENT {
            held.push(
                documents.read(&mut request(MAX_DOCUMENT)).await.unwrap_or_else(|e| panic!("{e}")),
            );
        }
        assert_eq!(code(documents.read(&mut request(1)).await).as_deref(), Some("SlowDown"));
        assert_eq!(code(documents.read(&mut request(0)).await), None);
        held.pop();
        assert_eq!(code(documents.read(&mut request(1)).await), None);
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
