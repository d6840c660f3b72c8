//! Uploads, which are written to drafts. They occupy a thread only while there are bytes to write, so clients may be
//! slow.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, HeaderName};
use s3s::dto::{ChecksumAlgorithm, StreamingBlob};
use s3s::{S3Error, S3ErrorCode, S3Result, TrailingHeaders, s3_error};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout, timeout_at};

use crate::faults::Fault;
use crate::request_body::BodyState;
use crate::store::{Algorithm, Draft, Expected, FinishedDraft, Store};

use super::Api;

/// The bytes that are written at a time, while as many more may arrive.
const BATCH_BYTES: usize = 512 * 1024;
/// The pieces of a body that are written at a time. Small pieces have an overhead in memory.
const BATCH_PIECES: usize = 64;
/// The time that a batch waits to become full.
const BATCH_TIME: Duration = Duration::from_millis(5);

/// The trailer with the signature of the trailers.
const TRAILER_SIGNATURE: HeaderName = HeaderName::from_static("x-amz-trailer-signature");

/// An upload: its body, and what is declared about it.
pub(super) struct IncomingUpload {
    pub(super) body: Option<StreamingBlob>,
    pub(super) length: Option<i64>,
    pub(super) expected: Expected,
    /// The checksums that are announced for the trailers.
    pub(super) announced: Vec<Algorithm>,
    pub(super) trailers: Option<TrailingHeaders>,
    pub(super) state: BodyState,
    pub(super) fault: Option<Fault>,
}

/// Returns the algorithm of the checksum in the trailers.
pub(super) fn trailing_checksum(named: Option<&ChecksumAlgorithm>) -> Option<Algorithm> {
    named.and_then(|name| Algorithm::from_name(name.as_str()))
}

/// Returns the checksums that a request announces for its trailers.
pub(super) fn announced(headers: &HeaderMap) -> Vec<Algorithm> {
    let values = headers.get_all("x-amz-trailer").iter().filter_map(|value| value.to_str().ok());
    let names = values.flat_map(|value| value.split(',')).map(str::trim);
    let algorithm =
        |name: &str| Algorithm::ALL.into_iter().find(|a| a.header().eq_ignore_ascii_case(name));
    names.filter_map(algorithm).collect()
}

/// Adds the checksums in the trailers, which must be announced, to those in the headers. Two of the same kind must be
/// equal.
fn add_trailers(
    expected: &mut Expected,
    announced: &[Algorithm],
    headers: &HeaderMap,
) -> S3Result<()> {
    let is_announced = |name: &HeaderName| {
        *name == TRAILER_SIGNATURE || announced.iter().any(|it| name == it.header())
    };
    if let Some(name) = headers.keys().find(|name| !is_announced(name)) {
        return Err(malformed_trailer(format!("x-amz-trailer does not announce {name}")));
    }
    for algorithm in Algorithm::ALL {
        for value in headers.get_all(algorithm.header()) {
            let value = value.to_str().map_err(|_| s3_error!(InvalidDigest))?;
            if expected.checksums.get(algorithm).is_some_and(|before| before != value) {
                return Err(s3_error!(BadDigest, "{} is there twice", algorithm.header()));
            }
            expected.checksums.set(algorithm, value.to_owned());
        }
    }
    Ok(())
}

fn malformed_trailer(message: String) -> S3Error {
    let code = S3ErrorCode::Custom("MalformedTrailerError".into());
    let mut error = S3Error::with_message(code, message);
    error.set_status_code(http::StatusCode::BAD_REQUEST);
    error
}

impl Api {
    /// Writes an upload to a draft, checks it against its declared length and checksums, and passes it to `then`.
    pub(super) async fn receive<T: Send + 'static>(
        &self,
        incoming: IncomingUpload,
        then: impl FnOnce(&Store, FinishedDraft) -> S3Result<T> + Send + 'static,
    ) -> S3Result<T> {
        let IncomingUpload { body, length, mut expected, announced, trailers, state, fault } =
            incoming;
        let length = length.and_then(|length| u64::try_from(length).ok());
        let most = self.limits.upload_bytes;
        if length.is_some_and(|length| length > most) {
            return Err(too_long(most));
        }
        let disk_full_at = match fault {
            Some(Fault::DiskFull { after }) => Some(after),
            _ => None,
        };
        let turn = timeout(self.limits.client_timeout, self.uploads.acquire());
        let Ok(Ok(_turn)) = turn.await else {
            return Err(s3_error!(SlowDown, "too many uploads at a time; retry later"));
        };
        let algorithms: Vec<_> = expected.algorithms().collect();
        let store = Arc::clone(&self.store);
        let draft = spawn_blocking(move || store.draft(algorithms, disk_full_at));
        let draft = match body {
            Some(body) => write(draft, body, &state, most, length).await?,
            None => joined(draft).await?,
        };
        if let Some(trailers) = &trailers {
            let followed =
                trailers.read(|headers| add_trailers(&mut expected, &announced, headers));
            followed.transpose()?;
        }
        if let Some(trailers) = state.trailers() {
            add_trailers(&mut expected, &announced, trailers)?;
        }
        if announced.iter().any(|name| expected.checksums.get(*name).is_none()) {
            let message = "a checksum that x-amz-trailer announces does not follow the body";
            return Err(malformed_trailer(message.to_owned()));
        }
        self.blocking(move |store| {
            if length.is_some_and(|length| length != draft.size()) {
                return Err(another_length());
            }
            let written = draft.finish()?;
            expected.verify(&written.digest)?;
            then(store, written)
        })
        .await
    }
}

/// Writes a body to a draft, one batch while the next one arrives. If this future is dropped, the thread that holds
/// the draft deletes it.
async fn write(
    mut draft: JoinHandle<S3Result<Draft>>,
    mut body: StreamingBlob,
    state: &BodyState,
    most: u64,
    length: Option<u64>,
) -> S3Result<Draft> {
    let mut received = 0;
    loop {
        let batch = batch(&mut body, state).await?;
        received += batch.iter().map(|piece| piece.len() as u64).sum::<u64>();
        match length {
            Some(length) if received > length => return Err(another_length()),
            None if received > most => return Err(too_long(most)),
            _ => {}
        }
        let mut open = joined(draft).await?;
        if batch.is_empty() {
            return Ok(open);
        }
        draft = spawn_blocking(move || {
            open.write_pieces(&batch)?;
            Ok(open)
        });
    }
}

/// Returns the next bytes of a body; no pieces at its end.
async fn batch(body: &mut StreamingBlob, state: &BodyState) -> S3Result<Vec<Bytes>> {
    let mut batch = Vec::new();
    let Some(first) = body.next().await else { return Ok(batch) };
    let mut next = Some(first);
    let (mut bytes, full_by) = (0, Instant::now() + BATCH_TIME);
    while let Some(piece) = next {
        let piece = piece.map_err(|error| state.error(error))?;
        bytes += piece.len();
        if !piece.is_empty() {
            batch.push(piece);
        }
        if bytes >= BATCH_BYTES || batch.len() >= BATCH_PIECES {
            break;
        }
        // An empty batch would mean the end.
        next = if batch.is_empty() {
            body.next().await
        } else {
            match timeout_at(full_by, body.next()).await {
                Ok(piece) => piece,
                Err(_) => break,
            }
        };
    }
    Ok(batch)
}

fn too_long(most: u64) -> S3Error {
    s3_error!(EntityTooLarge, "one request uploads at most {most} bytes")
}

fn another_length() -> S3Error {
    s3_error!(IncompleteBody, "the body has another length than announced")
}

async fn joined(draft: JoinHandle<S3Result<Draft>>) -> S3Result<Draft> {
    draft.await.map_err(S3Error::internal_error)?
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io;

    async fn batches(pieces: Vec<Vec<u8>>) -> Vec<usize> {
        let pieces = pieces.into_iter().map(|piece| Ok::<_, io::Error>(Bytes::from(piece)));
        let mut body = StreamingBlob::wrap(futures::stream::iter(pieces));
        let mut sizes = Vec::new();
        loop {
            let batch = batch(&mut body, &BodyState::default()).await.unwrap();
            sizes.push(batch.concat().len());
            if batch.is_empty() {
                return sizes;
            }
        }
    }

    #[tokio::test]
    async fn batches_are_bounded_in_bytes_and_pieces() {
        assert_eq!(batches(vec![]).await, [0]);
        assert_eq!(batches(vec![vec![], vec![1; 3], vec![], vec![1; 4]]).await, [7, 0]);
        let half = BATCH_BYTES / 2;
        assert_eq!(batches(vec![vec![0; half]; 3]).await, [2 * half, half, 0]);
        assert_eq!(batches(vec![vec![0]; 100]).await, [64, 36, 0]);
    }

    #[tokio::test]
    async fn what_has_arrived_is_written_before_the_rest() {
        let (mut sender, receiver) = futures::channel::mpsc::unbounded();
        let mut body = StreamingBlob::wrap(receiver);
        sender.start_send(Ok::<_, io::Error>(Bytes::from_static(b"slow"))).unwrap();
        let first = batch(&mut body, &BodyState::default()).await.unwrap();
        assert_eq!(first.concat(), b"slow");
        drop(sender);
        assert!(batch(&mut body, &BodyState::default()).await.unwrap().is_empty());
    }
}
