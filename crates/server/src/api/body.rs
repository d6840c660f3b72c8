//! Bodies: files to streams and streams to drafts, with the blocking work on threads of its own.

use std::collections::VecDeque;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use s3s::dto::{ChecksumAlgorithm, StreamingBlob};
use s3s::{S3Error, S3ErrorCode, S3Result, StdError, TrailingHeaders, s3_error};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::faults::{FLUSH, Fault};
use crate::store::{Algorithm, Crc64, Expected, Object, Store, Written};

use super::Api;

/// Bytes of a file that are read, and sent, at a time.
const CHUNK: u64 = 512 * 1024;
/// Chunks of an upload that may wait for the disk.
const UPLOAD_QUEUE: usize = 16;
/// S3's limit on what one request may upload.
const MAX_UPLOAD: i64 = 5 * 1024 * 1024 * 1024;

/// A part of a body: some text, or a range of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Bytes),
    Object(Range<u64>),
}

impl Piece {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Object(range) => range.end - range.start,
        }
    }

    /// The first bytes, and the rest.
    fn split(self, at: u64) -> (Self, Self) {
        match self {
            Self::Text(text) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
                (Self::Text(text.slice(..at)), Self::Text(text.slice(at..)))
            }
            Self::Object(range) => {
                let at = range.end.min(range.start + at);
                (Self::Object(range.start..at), Self::Object(at..range.end))
            }
        }
    }
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// Takes so many bytes off the front, or all there are.
fn take(pieces: &mut VecDeque<Piece>, mut bytes: u64) -> VecDeque<Piece> {
    let mut taken = VecDeque::new();
    while let Some(piece) = pieces.pop_front() {
        let (first, rest) = piece.split(bytes);
        bytes -= first.length();
        if first.length() > 0 {
            taken.push_back(first);
        }
        if rest.length() > 0 {
            pieces.push_front(rest);
            break;
        }
    }
    taken
}

/// A body about an object as a stream; the next chunk is read while one is sent. Of a whole object the
/// last chunk is sent only if the bytes are those that were stored.
pub(super) fn read(
    object: Object,
    pieces: impl IntoIterator<Item = Piece>,
    fault: Option<Fault>,
) -> StreamingBlob {
    let mut left: VecDeque<Piece> = pieces.into_iter().collect();
    let whole = left == [Piece::Object(0..object.size)];
    let mut cut = false;
    if let Some(Fault::CutBody { after }) = fault {
        let sent = take(&mut left, after);
        cut = !left.is_empty();
        left = sent;
    }
    let reader = Reader { object, left, checked: (whole && !cut).then(Crc64::default) };
    let chunks = stream::unfold(reader.next(), |ahead| async {
        let (chunk, reader) = match ahead?.await {
            Ok(Ok((chunk, reader))) => (Ok(chunk), Some(reader)),
            Ok(Err(e)) => (Err(e), None),
            Err(e) => (Err(io::Error::other(e)), None),
        };
        Some((chunk, reader.and_then(Reader::next)))
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

/// What of an object is still to be sent.
struct Reader {
    object: Object,
    left: VecDeque<Piece>,
    /// Of what was read, if all of the object is.
    checked: Option<Crc64>,
}

impl Reader {
    /// Begins to read the next chunk, if there is any.
    fn next(mut self) -> Option<JoinHandle<io::Result<(Bytes, Self)>>> {
        let pieces = take(&mut self.left, CHUNK);
        if pieces.is_empty() {
            return None;
        }
        Some(spawn_blocking(move || Ok((self.read(pieces)?.into(), self))))
    }

    fn read(&mut self, pieces: VecDeque<Piece>) -> io::Result<Vec<u8>> {
        let wanted = pieces.iter().map(Piece::length).sum::<u64>();
        let mut chunk = Vec::with_capacity(usize::try_from(wanted).map_err(io::Error::other)?);
        for piece in pieces {
            match piece {
                Piece::Text(text) => chunk.extend_from_slice(&text),
                Piece::Object(range) => {
                    let (mut file, wanted) = (&self.object.file, range.end - range.start);
                    file.seek(SeekFrom::Start(range.start))?;
                    if (file.take(wanted).read_to_end(&mut chunk)? as u64) < wanted {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
        }
        if let Some(checked) = &mut self.checked {
            checked.update(&chunk);
        }
        if self.left.is_empty()
            && let Some(checked) = self.checked.take()
        {
            self.object.check_whole(checked.finish())?;
        }
        Ok(chunk)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_taken_by_bytes() {
        let text = |text: &'static str| Piece::Text(Bytes::from_static(text.as_bytes()));
        let all = [text("head"), Piece::Object(10..20), text(""), text("end")];
        let taken = |left: &mut VecDeque<Piece>, bytes| Vec::from(take(left, bytes));
        let mut left = VecDeque::from(all);
        assert_eq!(taken(&mut left, 6), [text("head"), Piece::Object(10..12)]);
        assert_eq!(taken(&mut left, 0), []);
        assert_eq!(taken(&mut left, 9), [Piece::Object(12..20), text("e")]);
        assert_eq!(taken(&mut left, 9), [text("nd")]);
        assert_eq!(taken(&mut left, 9), []);
    }
}
