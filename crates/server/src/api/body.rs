//! Bodies: files to streams and streams to drafts, with the blocking work on threads of its own.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use s3s::dto::{ChecksumAlgorithm, StreamingBlob};
use s3s::{S3Error, S3ErrorCode, S3Result, StdError, TrailingHeaders, s3_error};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::faults::{FLUSH, Fault};
use crate::store::{Algorithm, Expected, Object, Store, Written};

use super::Api;

/// Bytes of a file that are read, and sent, at a time.
const CHUNK: u64 = 512 * 1024;
/// Chunks of an upload that may wait for the disk.
const UPLOAD_QUEUE: usize = 16;
/// S3's limit on what one request may upload.
const MAX_UPLOAD: i64 = 5 * 1024 * 1024 * 1024;

/// The bytes of an object as a stream; the next chunk is read while one is sent.
pub(super) fn read(object: Object, range: Range<u64>, fault: Option<Fault>) -> StreamingBlob {
    let end = match fault {
        Some(Fault::CutBody { after }) => range.end.min(range.start + after),
        _ => range.end,
    };
    let cut = end < range.end;
    let object = Arc::new(object);
    let ahead = (range.start < end).then(|| read_chunk(&object, range.start, end));
    let chunks =
        stream::unfold((object, range.start, ahead), move |(object, at, ahead)| async move {
            let chunk = match ahead?.await {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(e)) => return Some((Err(e), (object, at, None))),
                Err(e) => return Some((Err(io::Error::other(e)), (object, at, None))),
            };
            let at = at + chunk.len() as u64;
            let ahead = (at < end).then(|| read_chunk(&object, at, end));
            Some((Ok(chunk), (object, at, ahead)))
        });
    if cut {
        let broken = stream::once(async {
            tokio::time::sleep(FLUSH).await;
            Err(io::Error::from(io::ErrorKind::ConnectionReset))
        });
        StreamingBlob::wrap(chunks.chain(broken))
    } else {
        StreamingBlob::wrap(chunks)
    }
}

fn read_chunk(
    object: &Arc<Object>,
    at: u64,
    end: u64,
) -> tokio::task::JoinHandle<io::Result<Bytes>> {
    let object = Arc::clone(object);
    spawn_blocking(move || {
        let wanted = (end - at).min(CHUNK);
        let mut chunk = Vec::with_capacity(usize::try_from(wanted).map_err(io::Error::other)?);
        let mut file = &object.file;
        file.seek(SeekFrom::Start(at))?;
        file.take(wanted).read_to_end(&mut chunk)?;
        if (chunk.len() as u64) < wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(chunk.into())
    })
}

/// A message to the thread that writes an upload. Without an `End` the client disconnected, and
/// nothing is kept.
enum Message {
    Chunk(Bytes),
    End,
    Failed(S3Error),
}

/// An upload: the body, and what is known of it.
pub(super) struct Incoming {
    pub(super) body: Option<StreamingBlob>,
    pub(super) length: Option<i64>,
    pub(super) expected: Expected,
    pub(super) trailers: Option<TrailingHeaders>,
    pub(super) fault: Option<Fault>,
}

/// The algorithm of the checksum that follows a body.
pub(super) fn trailing_checksum(named: Option<&ChecksumAlgorithm>) -> Option<Algorithm> {
    named.and_then(|name| Algorithm::from_name(name.as_str()))
}

impl Api {
    /// Writes an upload to a draft, checks it against its declared length and checksums, and passes it
    /// on.
    pub(super) async fn receive<T: Send + 'static>(
        &self,
        incoming: Incoming,
        then: impl FnOnce(&Store, Written) -> S3Result<T> + Send + 'static,
    ) -> S3Result<T> {
        let Incoming { body, length, mut expected, trailers, fault } = incoming;
        if length.is_some_and(|length| length > MAX_UPLOAD) {
            return Err(s3_error!(EntityTooLarge, "one request uploads at most 5 GiB"));
        }
        let disk_full_at = match fault {
            Some(Fault::DiskFull { after }) => Some(after),
            _ => None,
        };
        let (sender, mut receiver) = mpsc::channel(UPLOAD_QUEUE);
        let store = Arc::clone(&self.store);
        let writer = spawn_blocking(move || {
            let mut draft = store.draft(expected.algorithms(), disk_full_at)?;
            loop {
                match receiver.blocking_recv() {
                    Some(Message::Chunk(chunk)) => draft.write(&chunk)?,
                    Some(Message::End) => break,
                    Some(Message::Failed(error)) => return Err(error),
                    None => {
                        return Err(s3_error!(IncompleteBody, "the client closed the connection"));
                    }
                }
            }
            if length.is_some_and(|length| u64::try_from(length) != Ok(draft.size())) {
                return Err(s3_error!(
                    IncompleteBody,
                    "the body has another length than announced"
                ));
            }
            if let Some(trailers) = &trailers {
                trailers.read(|headers| {
                    for algorithm in Algorithm::ALL {
                        let value = headers.get(algorithm.header()).and_then(|v| v.to_str().ok());
                        if let Some(value) = value {
                            expected.checksums.set(algorithm, value.to_owned());
                        }
                    }
                });
            }
            let written = draft.finish();
            expected.verify(&written.digest)?;
            then(&store, written)
        });
        let mut body = body.into_iter();
        let mut end = Message::End;
        if let Some(mut body) = body.next() {
            while let Some(chunk) = body.next().await {
                let message = match chunk {
                    Ok(chunk) => Message::Chunk(chunk),
                    Err(error) => {
                        end = Message::Failed(body_error(error));
                        break;
                    }
                };
                if sender.send(message).await.is_err() {
                    // The writer has failed; it says why.
                    break;
                }
            }
        }
        let _ = sender.send(end).await;
        match writer.await {
            Ok(result) => result,
            Err(e) => Err(S3Error::internal_error(e)),
        }
    }
}

/// The error for a body that ends early, or whose signature does not match.
pub(crate) fn body_error(error: StdError) -> S3Error {
    let text = error.to_string();
    let code = if text.contains("Sha256Mismatch") {
        S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into())
    } else if text.contains("SignatureMismatch") {
        S3ErrorCode::SignatureDoesNotMatch
    } else {
        S3ErrorCode::IncompleteBody
    };
    let mut answer = S3Error::with_source(code, error);
    answer.set_status_code(http::StatusCode::BAD_REQUEST);
    answer.set_message("the body is incomplete or is not the one that was signed");
    answer
}
