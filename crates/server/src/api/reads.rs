//! `GetObject` and `HeadObject`.

use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use s3s::dto::{
    self, ChecksumMode, ChecksumType, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, Timestamp,
};
use s3s::{S3Request, S3Result, s3_error};

use crate::counters::Operation;
use crate::store::{Checksums, Head, Meta};

use super::fields::{conditions, described, with_checksums};
use super::{Api, body, check_customer_key, check_version, etag};

const DEFAULT_CONTENT_TYPE: &str = "binary/octet-stream";

/// The part of an object that a request asks for.
struct Slice {
    range: Range<u64>,
    /// As in `Content-Range`; absent if it is the whole object.
    content_range: Option<String>,
}

fn slice(head: &Head, range: Option<dto::Range>, part: Option<i32>) -> S3Result<Slice> {
    let size = head.size;
    let range = match (range, part) {
        (Some(_), Some(_)) => {
            return Err(s3_error!(InvalidRequest, "a range and a part number exclude each other"));
        }
        (None, None) => return Ok(Slice { range: 0..size, content_range: None }),
        // An empty suffix is not a range either.
        (Some(_), None) if size == 0 => return Err(s3_error!(InvalidRange)),
        (Some(range), None) => range.check(size)?,
        (None, Some(part)) => part_range(&head.meta, size, part)?,
    };
    let last = range.end.saturating_sub(1);
    let content_range = format!("bytes {}-{last}/{size}", range.start);
    Ok(Slice { content_range: (size > 0).then_some(content_range), range })
}

/// Where a part of a multipart object lies; any other object is its own first part.
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

/// The checksums that may be returned: they are those of the whole object.
fn visible_checksums(meta: &Meta, slice: &Slice, mode: Option<&ChecksumMode>) -> Checksums {
    let wanted = mode.is_some_and(|mode| mode.as_str().eq_ignore_ascii_case("ENABLED"));
    if wanted && slice.content_range.is_none() {
        meta.checksums.clone()
    } else {
        Checksums::default()
    }
}

pub(super) fn checksum_type(checksums: &Checksums) -> Option<ChecksumType> {
    let name =
        if checksums.composite { ChecksumType::COMPOSITE } else { ChecksumType::FULL_OBJECT };
    (!checksums.is_empty()).then(|| ChecksumType::from_static(name))
}

fn length(range: &Range<u64>) -> Option<i64> {
    i64::try_from(range.end - range.start).ok()
}

fn parts_count(parts: &[u64], part: Option<i32>) -> Option<i32> {
    part.filter(|_| !parts.is_empty()).and_then(|_| i32::try_from(parts.len()).ok())
}

fn expires(seconds: Option<u64>) -> Option<Timestamp> {
    seconds.map(|seconds| Timestamp::from(UNIX_EPOCH + Duration::from_secs(seconds)))
}

impl Api {
    pub(super) async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<GetObjectOutput> {
        let input = request.input;
        let fault = self.begin(Operation::GetObject, &input.bucket, &input.key).await?;
        check_version(input.version_id.as_deref())?;
        check_customer_key(input.sse_customer_algorithm.as_ref())?;
        let conditions = conditions!(input);
        let object = self.blocking(move |store| store.get(&input.bucket, &input.key)).await?;
        let head = Head { size: object.size, modified: object.modified, meta: object.meta.clone() };
        conditions.check(&head.meta.etag, head.modified)?;
        let slice = slice(&head, input.range, input.part_number)?;
        let body = body::read(object, slice.range.clone(), fault);
        Ok(described!(head, slice, input, GetObjectOutput { body: Some(body) }))
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
        let head = self.blocking(move |store| store.head(&input.bucket, &input.key)).await?;
        conditions.check(&head.meta.etag, head.modified)?;
        let slice = slice(&head, input.range, input.part_number)?;
        Ok(described!(head, slice, input, HeadObjectOutput {}))
    }
}
