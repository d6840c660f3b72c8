//! Fetches several ranges of an object with one GET, if the store answers such requests.
//!
//! The API of object stores has GETs of one range only. The list of ranges therefore travels as an extension of a GET
//! of the whole object, and `registry.rs`, which sends our requests, turns it into the header. A store of another
//! kind, or one that ignores such headers, answers with the whole object; that answer is dropped unread.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use datafusion::physical_plan::metrics::Count;
use futures::{StreamExt, TryStreamExt};
use object_store::{Attribute, Error, GetOptions, ObjectMeta, ObjectStore, Result};
use sluicegate_s3select::byteranges::{self, MultipartBody, boundary_of};
use tokio::sync::Semaphore;

use crate::context::notes::Notes;
use crate::store::ranges::{PIECE_BYTES, REQUESTS, get};

/// The longest range header, in bytes: half of what servers commonly accept for a line.
const HEADER_BYTES: usize = 4096;

/// Ranges that one request fetches.
pub(crate) type Batch = Vec<Range<u64>>;

/// The ranges that a GET requests instead of the whole object, as an extension of the request.
#[derive(Debug, Clone)]
pub(crate) struct RequestedRanges(pub(crate) Arc<str>);

/// Metrics of the requests for ranges of data objects.
#[derive(Debug, Clone)]
pub struct RangesRead {
    /// The number of requests.
    pub requests: Count,
    /// The number of ranges.
    pub ranges: Count,
    /// The bytes of the answers.
    pub got: Count,
}

/// Divides ranges into batches for one request each, of at most `most` ranges. The bytes of a batch are bounded so
/// that they fit into memory and can be fetched again quickly after an error.
#[must_use]
pub(crate) fn batches(ranges: &[Range<u64>], most: u32) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let (mut bytes, mut header) = (0, 0);
    for piece in ranges.iter().flat_map(pieces) {
        let (length, in_header) = (piece.end - piece.start, byteranges::header_bytes(&piece));
        bytes += length;
        header += in_header;
        match batches.last_mut() {
            Some(batch)
                if batch.len() < most as usize
                    && bytes <= PIECE_BYTES
                    && header <= HEADER_BYTES =>
            {
                batch.push(piece);
            }
            _ => {
                batches.push(vec![piece]);
                (bytes, header) = (length, in_header);
            }
        }
    }
    batches
}

/// Cuts a range into pieces that fit into one request each.
fn pieces(range: &Range<u64>) -> Vec<Range<u64>> {
    let starts = (range.start..range.end).step_by(PIECE_BYTES as usize);
    starts.map(|start| start..range.end.min(start + PIECE_BYTES)).collect()
}

/// Remembers whether the store refused several ranges in one request during a scan.
#[derive(Debug)]
pub struct ManyRanges {
    refused: AtomicBool,
    notes: Option<Arc<Notes>>,
}

impl ManyRanges {
    /// Starts without a refusal.
    #[must_use]
    pub fn new(notes: Option<Arc<Notes>>) -> Self {
        Self { refused: AtomicBool::new(false), notes }
    }

    /// Returns true if the store refused several ranges in one request.
    #[must_use]
    pub fn are_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    fn refuse(&self, object: &ObjectMeta, why: &Error) {
        let object = &object.location;
        tracing::info!(%object, %why, "asking for one range at a time");
        if !self.refused.swap(true, Ordering::Relaxed)
            && let Some(notes) = &self.notes
        {
            notes.add(format!(
                "several ranges of {object} in one request were not answered, so each has its own: {why}"
            ));
        }
    }
}

/// Fetches ranges of one version of an object.
#[derive(Debug)]
pub struct Fetch {
    store: Arc<dyn ObjectStore>,
    object: ObjectMeta,
    many: Arc<ManyRanges>,
    read: RangesRead,
    /// Limits the number of concurrent requests.
    slots: Semaphore,
}

impl Fetch {
    /// Fetches from the version of the object that was listed.
    #[must_use]
    pub fn new(
        store: Arc<dyn ObjectStore>,
        object: ObjectMeta,
        many: Arc<ManyRanges>,
        read: RangesRead,
    ) -> Self {
        Self { store, object, many, read, slots: Semaphore::new(REQUESTS) }
    }

    /// Returns the object as it was listed.
    #[must_use]
    pub fn object(&self) -> &ObjectMeta {
        &self.object
    }

    /// Fetches some ranges with one request, or with one request for each if the store refuses that.
    ///
    /// # Errors
    ///
    /// If the ranges cannot be read.
    pub async fn batch(&self, ranges: Batch) -> Result<Vec<Bytes>> {
        if ranges.len() > 1 && !self.many.are_refused() {
            match self.fetch_ranges(&ranges).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => self.many.refuse(&self.object, &error),
            }
        }
        futures::stream::iter(ranges)
            .map(|range| self.single(range))
            .buffered(REQUESTS)
            .try_collect()
            .await
    }

    async fn single(&self, range: Range<u64>) -> Result<Bytes> {
        let _slot = self.slots.acquire().await;
        self.read.requests.add(1);
        self.read.ranges.add(1);
        let ObjectMeta { location, e_tag, .. } = &self.object;
        let bytes = get(&self.store, location, e_tag.as_ref(), range).await?;
        self.read.got.add(bytes.len());
        Ok(bytes)
    }

    async fn fetch_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let _slot = self.slots.acquire().await;
        self.read.requests.add(1);
        let ObjectMeta { location, e_tag, size, .. } = &self.object;
        let mut options = GetOptions { if_match: e_tag.clone(), ..GetOptions::default() };
        options.extensions.insert(RequestedRanges(byteranges::header(ranges).into()));
        let answer = self.store.get_opts(location, options).await?;
        let unquoted =
            |tag: &Option<String>| tag.as_ref().map(|it| it.trim_matches('"').to_owned());
        if unquoted(&answer.meta.e_tag) != unquoted(e_tag) {
            return Err(foreign("the answer is about another version of the object"));
        }
        let boundary =
            answer.attributes.get(&Attribute::ContentType).and_then(|it| boundary_of(it));
        let Some(boundary) = boundary else {
            return Err(foreign("the answer is not in parts"));
        };
        let most = MultipartBody::most_bytes(ranges);
        let mut body = BytesMut::new();
        let mut stream = answer.into_stream();
        while let Some(bytes) = stream.try_next().await? {
            if (body.len() + bytes.len()) as u64 > most {
                return Err(foreign("the answer is longer than what was asked for"));
            }
            body.extend_from_slice(&bytes);
        }
        let body = body.freeze();
        let parts = byteranges::found(&body, &boundary, ranges, *size)
            .map_err(|error| foreign(error.to_string()))?;
        self.read.ranges.add(parts.len());
        self.read.got.add(body.len());
        Ok(parts.into_iter().map(|part| body.slice(part)).collect())
    }
}

impl fmt::Display for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.object.location, self.store)
    }
}

/// Returns true if requests for single ranges would fail with the same error.
fn is_final(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { .. }
            | Error::Precondition { .. }
            | Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
    )
}

fn foreign(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Generic { store: "S3", source: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded_in_ranges_bytes_and_header() {
        let small: Vec<_> = (0..1000_u64).map(|n| 1000 * n..1000 * n + 10).collect();
        let together = batches(&small, 100);
        assert_eq!(together.len(), 10);
        assert!(together.iter().all(|batch| batch.len() == 100));
        assert_eq!(batches(&small, 1).len(), 1000);
        assert_eq!(together.concat(), small);
        let far: Vec<_> = small.iter().map(|it| it.start << 40..(it.start << 40) + 1).collect();
        let by_header = batches(&far, 1000);
        assert!(by_header.len() > 4, "{}", by_header.len());
        for batch in &by_header {
            assert!(byteranges::header(batch).len() <= HEADER_BYTES + 10);
        }
        assert_eq!(by_header.concat(), far);
        let mib = 1 << 20;
        let large: Vec<_> = (0..6).map(|n| 8 * n * mib..(8 * n + 3) * mib).collect();
        assert_eq!(batches(&large, 100).len(), 6);
        let halves =
            batches(&large.iter().map(|it| it.start..it.start + mib).collect::<Vec<_>>(), 9);
        assert_eq!(halves.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
        // A range longer than a request is cut, and each piece is a batch of its own.
        let long = [5..9, 100..2 * PIECE_BYTES + 107];
        assert_eq!(batches(&long, 9).iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1]);
        assert!(batches(&[], 9).is_empty());
    }
}
