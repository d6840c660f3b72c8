//! The operations that list objects.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::dto::*;
use s3s::{S3Request, S3Result, s3_error};

use crate::counters::Operation;
use crate::store::{Entry, Page, PageRequest};

use super::buckets::owner;
use super::{Api, etag};

/// S3's limit on the entries of one page.
const MAX_KEYS: i32 = 1000;

/// The encoding of names in an answer. Keys may contain characters that XML cannot represent.
pub(super) struct Encoding(bool);

impl Encoding {
    pub(super) fn new(encoding: Option<&EncodingType>) -> S3Result<Self> {
        match encoding.map(EncodingType::as_str) {
            None => Ok(Self(false)),
            Some(name) if name.eq_ignore_ascii_case("url") => Ok(Self(true)),
            Some(_) => Err(s3_error!(InvalidArgument, "the encoding type is `url` or absent")),
        }
    }

    pub(super) fn encode(&self, name: String) -> String {
        const SAFE: &AsciiSet =
            &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
        if self.0 { utf8_percent_encode(&name, SAFE).to_string() } else { name }
    }
}

/// Returns the size of a page, in entries.
pub(super) fn page_size(asked: Option<i32>) -> S3Result<i32> {
    match asked {
        None => Ok(MAX_KEYS),
        Some(n) if n < 0 => Err(s3_error!(InvalidArgument, "a page has a size of 0 to {MAX_KEYS}")),
        Some(n) => Ok(n.min(MAX_KEYS)),
    }
}

fn object(entry: Entry, encoding: &Encoding, owner: Option<Owner>) -> Object {
    Object {
        e_tag: Some(etag(&entry.head.meta.etag)),
        key: Some(encoding.encode(entry.key)),
        last_modified: Some(entry.head.modified.into()),
        owner,
        size: i64::try_from(entry.head.size).ok(),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
        ..Object::default()
    }
}

pub(super) fn common_prefixes(prefixes: Vec<String>, encoding: &Encoding) -> Vec<CommonPrefix> {
    prefixes
        .into_iter()
        .map(|prefix| CommonPrefix { prefix: Some(encoding.encode(prefix)) })
        .collect()
}

/// Returns the delimiter for the answer. An empty one is left out.
pub(super) fn delimiter(asked: Option<String>, encoding: &Encoding) -> Option<String> {
    asked.filter(|asked| !asked.is_empty()).map(|asked| encoding.encode(asked))
}

fn token(marker: &str) -> String {
    URL_SAFE_NO_PAD.encode(marker)
}

fn marker(token: &str) -> S3Result<String> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        s3_error!(InvalidArgument, "the continuation token is not one of this store")
    })
}

impl Api {
    async fn page(&self, bucket: &str, request: PageRequest) -> S3Result<Page> {
        let bucket = bucket.to_owned();
        self.blocking(move |store| store.list(&bucket, &request)).await
    }

    pub(super) async fn list_objects(
        &self,
        request: S3Request<ListObjectsInput>,
    ) -> S3Result<ListObjectsOutput> {
        let input = request.input;
        let prefix = input.prefix.clone().unwrap_or_default();
        self.begin(Operation::ListObjects, &input.bucket, &prefix).await?;
        let encoding = Encoding::new(input.encoding_type.as_ref())?;
        let max_keys = page_size(input.max_keys)?;
        let wanted = PageRequest {
            prefix,
            delimiter: input.delimiter.clone(),
            after: input.marker.clone().unwrap_or_default(),
            max_keys: usize::try_from(max_keys).unwrap_or(0),
        };
        let page = self.page(&input.bucket, wanted).await?;
        Ok(ListObjectsOutput {
            common_prefixes: Some(common_prefixes(page.common_prefixes, &encoding)),
            contents: Some(
                page.entries.into_iter().map(|e| object(e, &encoding, Some(owner()))).collect(),
            ),
            delimiter: delimiter(input.delimiter, &encoding),
            is_truncated: Some(page.next.is_some()),
            marker: Some(encoding.encode(input.marker.unwrap_or_default())),
            max_keys: Some(max_keys),
            name: Some(input.bucket),
            next_marker: page.next.map(|n| encoding.encode(n)),
            prefix: Some(encoding.encode(input.prefix.unwrap_or_default())),
            encoding_type: input.encoding_type,
            request_charged: None,
        })
    }

    pub(super) async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<ListObjectsV2Output> {
        let input = request.input;
        let prefix = input.prefix.clone().unwrap_or_default();
        self.begin(Operation::ListObjectsV2, &input.bucket, &prefix).await?;
        let encoding = Encoding::new(input.encoding_type.as_ref())?;
        let max_keys = page_size(input.max_keys)?;
        let wanted = PageRequest {
            prefix,
            delimiter: input.delimiter.clone(),
            after: match &input.continuation_token {
                Some(token) => marker(token)?,
                None => input.start_after.clone().unwrap_or_default(),
            },
            max_keys: usize::try_from(max_keys).unwrap_or(0),
        };
        let page = self.page(&input.bucket, wanted).await?;
        let owner = input.fetch_owner.unwrap_or(false).then(owner);
        Ok(ListObjectsV2Output {
            key_count: i32::try_from(page.entries.len() + page.common_prefixes.len()).ok(),
            common_prefixes: Some(common_prefixes(page.common_prefixes, &encoding)),
            contents: Some(
                page.entries.into_iter().map(|e| object(e, &encoding, owner.clone())).collect(),
            ),
            continuation_token: input.continuation_token,
            delimiter: delimiter(input.delimiter, &encoding),
            is_truncated: Some(page.next.is_some()),
            max_keys: Some(max_keys),
            name: Some(input.bucket),
            next_continuation_token: page.next.as_deref().map(token),
            prefix: Some(encoding.encode(input.prefix.unwrap_or_default())),
            start_after: input.start_after.map(|s| encoding.encode(s)),
            encoding_type: input.encoding_type,
            request_charged: None,
        })
    }

    /// Lists one version of every object, called `null`, as for a bucket that never had versions.
    pub(super) async fn list_object_versions(
        &self,
        request: S3Request<ListObjectVersionsInput>,
    ) -> S3Result<ListObjectVersionsOutput> {
        let input = request.input;
        let prefix = input.prefix.clone().unwrap_or_default();
        self.begin(Operation::ListObjectVersions, &input.bucket, &prefix).await?;
        let encoding = Encoding::new(input.encoding_type.as_ref())?;
        let max_keys = page_size(input.max_keys)?;
        let wanted = PageRequest {
            prefix,
            delimiter: input.delimiter.clone(),
            after: input.key_marker.clone().unwrap_or_default(),
            max_keys: usize::try_from(max_keys).unwrap_or(0),
        };
        let page = self.page(&input.bucket, wanted).await?;
        let version = |entry: Entry| ObjectVersion {
            e_tag: Some(etag(&entry.head.meta.etag)),
            is_latest: Some(true),
            key: Some(encoding.encode(entry.key)),
            last_modified: Some(entry.head.modified.into()),
            owner: Some(owner()),
            size: i64::try_from(entry.head.size).ok(),
            storage_class: Some(ObjectVersionStorageClass::from_static(
                ObjectVersionStorageClass::STANDARD,
            )),
            version_id: Some("null".to_owned()),
            ..ObjectVersion::default()
        };
        Ok(ListObjectVersionsOutput {
            versions: Some(page.entries.into_iter().map(version).collect()),
            common_prefixes: Some(common_prefixes(page.common_prefixes, &encoding)),
            delimiter: delimiter(input.delimiter, &encoding),
            is_truncated: Some(page.next.is_some()),
            key_marker: Some(encoding.encode(input.key_marker.unwrap_or_default())),
            max_keys: Some(max_keys),
            name: Some(input.bucket),
            next_version_id_marker: page.next.as_ref().map(|_| "null".to_owned()),
            next_key_marker: page.next.map(|n| encoding.encode(n)),
            prefix: Some(encoding.encode(input.prefix.unwrap_or_default())),
            version_id_marker: input.version_id_marker,
            encoding_type: input.encoding_type,
            ..ListObjectVersionsOutput::default()
        })
    }
}
