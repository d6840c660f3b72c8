//! The operations `GetObject` and `HeadObject`.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, header};
use s3s::dto::{
    self, ChecksumMode, ChecksumType, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, Timestamp,
};
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};
use sluicegate_s3select::byteranges::{MultipartBody, RangeHeader};

use crate::counters::Operation;
use crate::credentials::random_text;
use crate::store::{
    Algorithm, Checksums, Crc64, Head, Meta, Object, Store, base64_of_crc64, storage_error,
};

use super::body::{self, BodyChunk};
use super::fields::{conditions, described, with_checksums};
use super::{Api, MultipartRanges, check_customer_key, check_version, etag};

const DEFAULT_CONTENT_TYPE: &str = "binary/octet-stream";
/// The size up to which an object's checksum is computed for an answer, in bytes.
const SMALL: u64 = 1 << 20;
/// The number of characters of the boundary between parts, large enough that it cannot be guessed.
const BOUNDARY: usize = 32;

fn content_type_of(meta: &Meta) -> &str {
    meta.content_type.as_deref().unwrap_or(DEFAULT_CONTENT_TYPE)
}

/// The ranges in a Range header.
enum RangeRequest {
    One(dto::Range),
    Several(RangeHeader),
}

/// The part of an object that a request returns.
struct Slice {
    pieces: Vec<BodyChunk>,
    /// The value of `Content-Range`. `None` for the whole object or several ranges.
    content_range: Option<String>,
    /// The mark and content type of an answer in parts.
    in_parts: Option<MultipartRanges>,
    whole: bool,
}

impl Slice {
    fn length(&self) -> Option<i64> {
        i64::try_from(self.pieces.iter().map(BodyChunk::length).sum::<u64>()).ok()
    }
}

fn slice(
    head: &Head,
    asking: Option<RangeRequest>,
    part: Option<i32>,
    content_type: &str,
) -> S3Result<Slice> {
    let size = head.size;
    let ranges = match (asking, part) {
        (Some(_), Some(_)) => {
            return Err(s3_error!(InvalidRequest, "a range and a part number exclude each other"));
        }
        (None, None) => {
            let pieces = vec![BodyChunk::Object(0..size)];
            return Ok(Slice { pieces, content_range: None, in_parts: None, whole: true });
        }
        // An empty object has no ranges, not even an empty suffix.
        (Some(_), None) if size == 0 => return Err(s3_error!(InvalidRange)),
        (Some(RangeRequest::One(range)), None) => vec![range.check(size)?],
        (Some(RangeRequest::Several(asked)), None) => asked.resolve(size),
        (None, Some(part)) => vec![part_range(&head.meta, size, part)?],
    };
    match ranges.as_slice() {
        [] => Err(s3_error!(InvalidRange)),
        [range] => {
            let last = range.end.saturating_sub(1);
            let content_range = format!("bytes {}-{last}/{size}", range.start);
            Ok(Slice {
                content_range: (size > 0).then_some(content_range),
                pieces: vec![BodyChunk::Object(range.clone())],
                in_parts: None,
                whole: size == 0,
            })
        }
        several => {
            let parts = MultipartBody::new(
                random_text(BOUNDARY).map_err(S3Error::internal_error)?,
                content_type.to_owned(),
                size,
            );
            let mut pieces = Vec::with_capacity(2 * several.len() + 1);
            for range in several {
                pieces.extend([parts.head(range).into(), BodyChunk::Object(range.clone())]);
            }
            pieces.push(parts.end().into());
            let in_parts = Some(MultipartRanges { content_type: parts.content_type() });
            Ok(Slice { pieces, content_range: None, in_parts, whole: false })
        }
    }
}

/// Returns whether a Range header applies. `If-Range` restricts it to one version of the object. Dates in `If-Range`
/// are too coarse to identify a version, so the header never applies with them.
fn is_about(headers: &HeaderMap, head: &Head) -> bool {
    let tag = format!("\"{}\"", head.meta.etag);
    headers.get_all(header::IF_RANGE).iter().all(|value| value.as_bytes() == tag.as_bytes())
}

/// Returns the range of a part of a multipart object. Any other object is its own first part.
fn part_range(meta: &Meta, size: u64, part: i32) -> S3Result<Range<u64>> {
    let parts: &[u64] = if meta.parts.is_empty() { &[size] } else { &meta.parts };
    let index = usize::try_from(part).ok().and_then(|part| part.checked_sub(1));
    match index.and_then(|index| parts.split_at_checked(index)) {
        Some((before, [this, ..])) => {
            let start = before.iter().sum();
            Ok(start..start + this)
        }
        _ => Err(s3_error!(InvalidRange, "the object has no such part")),
    }
}

fn wants_checksums(mode: Option<&ChecksumMode>) -> bool {
    mode.is_some_and(|mode| mode.as_str().eq_ignore_ascii_case("ENABLED"))
}

/// Returns the checksums for an answer, which are those of the whole object. Like in S3, the default is a CRC-64/NVME
/// for objects that were uploaded without a checksum.
fn visible_checksums(meta: &Meta, slice: &Slice, mode: Option<&ChecksumMode>) -> Checksums {
    if !wants_checksums(mode) || !slice.whole {
        return Checksums::default();
    }
    all_checksums(meta)
}

/// Returns the checksums of the whole object.
pub(super) fn all_checksums(meta: &Meta) -> Checksums {
    let mut checksums = meta.checksums.clone();
    if checksums.is_empty()
        && let Some(crc64) = meta.crc64
    {
        checksums.set(Algorithm::Crc64Nvme, base64_of_crc64(crc64));
    }
    checksums
}

/// Computes the CRC-64/NVME of a small object that has none, such as a file that was put into the folder by hand.
fn crc64_of_small(object: &Object) -> Option<u64> {
    if object.size > SMALL {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(object.size).ok()?];
    if object.read_at(0, &mut bytes).ok()? < bytes.len() {
        return None;
    }
    let mut crc64 = Crc64::default();
    crc64.update(&bytes);
    Some(crc64.finish())
}

pub(super) fn checksum_type(checksums: &Checksums) -> Option<ChecksumType> {
    let name =
        if checksums.composite { ChecksumType::COMPOSITE } else { ChecksumType::FULL_OBJECT };
    (!checksums.is_empty()).then(|| ChecksumType::from_static(name))
}

fn parts_count(parts: &[u64], part: Option<i32>) -> Option<i32> {
    part.filter(|_| !parts.is_empty()).and_then(|_| i32::try_from(parts.len()).ok())
}

fn expires(seconds: Option<u64>) -> Option<Timestamp> {
    seconds.map(|seconds| Timestamp::from(UNIX_EPOCH + Duration::from_secs(seconds)))
}

impl Api {
    /// Answers a request, whose extensions contain [`RangeHeader`] if it is about several ranges. `s3s` does not support
    /// these. An answer in parts has [`MultipartRanges`] among its extensions.
    pub(super) async fn get_object(
        &self,
        mut request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        let several = request.extensions.remove::<RangeHeader>().map(RangeRequest::Several);
        let input = request.input;
        let fault = self.begin(Operation::GetObject, &input.bucket, &input.key).await?;
        check_version(input.version_id.as_deref())?;
        check_customer_key(input.sse_customer_algorithm.as_ref())?;
        let conditions = conditions!(input);
        let wants_checksums = wants_checksums(input.checksum_mode.as_ref());
        let in_part = several.is_some() || input.range.is_some() || input.part_number.is_some();
        let integrity = Arc::clone(&self.integrity);
        let open = move |store: &Store| {
            let mut object = store.get(&input.bucket, &input.key)?;
            let check = match in_part {
                true => integrity.before_range(&object),
                false => integrity.before_all(&object),
            };
            let check = check.map_err(storage_error)?;
            if wants_checksums && object.meta.crc64.is_none() {
                object.meta.crc64 = crc64_of_small(&object);
            }
            Ok((object, check))
        };
        let (object, check) = self.blocking(open).await?;
        let head = Head { size: object.size, modified: object.modified, meta: object.meta.clone() };
        conditions.check(&head.meta.etag, head.modified)?;
        let asking = several.or_else(|| input.range.map(RangeRequest::One));
        let asking = asking.filter(|_| is_about(&request.headers, &head));
        let content_type = input.response_content_type.as_deref();
        let content_type = content_type.unwrap_or_else(|| content_type_of(&head.meta));
        let mut slice = slice(&head, asking, input.part_number, content_type)?;
        let length = slice.length();
        let checks = (Arc::clone(&self.integrity), check);
        let body = body::read(object, std::mem::take(&mut slice.pieces), checks, fault);
        let in_parts = slice.in_parts.take();
        let output = described!(head, slice, length, input, GetObjectOutput { body: Some(body) });
        let mut response = S3Response::new(output);
        if let Some(in_parts) = in_parts {
            response.extensions.insert(in_parts);
        }
        Ok(response)
    }

    pub(super) async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<HeadObjectOutput> {
        let input = request.input;
        self.begin(Operation::HeadObject, &input.bucket, &input.key).await?;
        check_version(input.version_id.as_deref())?;
        check_customer_key(input.sse_customer_algorithm.as_ref())?;
        let conditions = conditions!(input);
        // The size of a damaged object may have changed.
        let head = self.blocking(move |store| {
            let head = store.head(&input.bucket, &input.key)?;
            let checked = head.meta.check_since(&input.bucket, &input.key, head.size);
            checked.map(|()| head).map_err(storage_error)
        });
        let head = head.await?;
        conditions.check(&head.meta.etag, head.modified)?;
        let asking = input.range.map(RangeRequest::One);
        let slice = slice(&head, asking, input.part_number, content_type_of(&head.meta))?;
        let length = slice.length();
        Ok(described!(head, slice, length, input, HeadObjectOutput {}))
    }
}
