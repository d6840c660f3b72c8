//! The operations `PutObject`, `CopyObject`, `DeleteObject` and `DeleteObjects`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, header};
use s3s::dto::*;
use s3s::{S3Error, S3Request, S3Result, s3_error};

use crate::counters::Operation;
use crate::error_messages::{in_words, is_no_xml};
use crate::store::{Algorithm, Meta, WriteConditions, storage_error};

use super::fields::{given_meta, incoming, source_conditions, stated_checksums, with_checksums};
use super::reads::checksum_type;
use super::receive::trailing_checksum;
use super::{Api, check_customer_key, check_version, etag};

/// S3's limit on the names and values of `x-amz-meta-*`, in bytes.
const MAX_METADATA: usize = 2048;
/// S3's limit on the keys of one `DeleteObjects`.
const MAX_DELETES: usize = 1000;

/// Returns the user's metadata, if it is within the limit.
pub(super) fn user_metadata(
    metadata: Option<HashMap<String, String>>,
) -> S3Result<BTreeMap<String, String>> {
    let metadata: BTreeMap<_, _> = metadata.unwrap_or_default().into_iter().collect();
    if metadata.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > MAX_METADATA {
        return Err(s3_error!(MetadataTooLarge, "metadata has at most 2 KB"));
    }
    Ok(metadata)
}

/// Removes `aws-chunked` from a content encoding, because it is only the encoding of the transfer.
pub(super) fn content_encoding(encoding: Option<String>) -> Option<String> {
    let encoding = encoding?;
    let lasting: Vec<_> = encoding
        .split(',')
        .map(str::trim)
        .filter(|e| !e.is_empty() && *e != "aws-chunked")
        .collect();
    (!lasting.is_empty()).then(|| lasting.join(","))
}

/// Converts a time to seconds since 1970.
pub(crate) fn seconds(time: Option<Timestamp>) -> Option<u64> {
    // This is the only conversion that needs no type of another crate.
    let mut text = Vec::new();
    time?.format(TimestampFormat::EpochSeconds, &mut text).ok()?;
    let text = String::from_utf8(text).ok()?;
    text.split('.').next()?.parse().ok()
}

/// Returns the bucket and key of the source of a copy.
pub(super) fn copy_source(source: CopySource) -> S3Result<(String, String)> {
    match source {
        CopySource::Bucket { bucket, key, version_id } => {
            check_version(version_id.as_deref())?;
            Ok((bucket.into(), key.into()))
        }
        _ => Err(s3_error!(NotImplemented, "copies are made from buckets of this store")),
    }
}

/// Reads the conditions on the object that a copy replaces, which `s3s` does not support.
fn write_conditions(headers: &HeaderMap) -> S3Result<WriteConditions> {
    let condition = |name: HeaderName| {
        let value = headers.get(&name).map(|v| ETagCondition::parse_http_header(v.as_bytes()));
        value.transpose().map_err(|_| s3_error!(InvalidArgument, "{name} is an ETag or *"))
    };
    Ok(WriteConditions {
        if_match: condition(header::IF_MATCH)?,
        if_none_match: condition(header::IF_NONE_MATCH)?,
    })
}

impl Api {
    pub(super) async fn put_object(
        &self,
        request: S3Request<PutObjectInput>,
    ) -> S3Result<PutObjectOutput> {
        let input = request.input;
        let fault = self.begin(Operation::PutObject, &input.bucket, &input.key).await?;
        check_customer_key(input.sse_customer_algorithm.as_ref())?;
        if input.write_offset_bytes.is_some() {
            return Err(s3_error!(NotImplemented, "appending is not supported"));
        }
        let conditions =
            WriteConditions { if_match: input.if_match, if_none_match: input.if_none_match };
        let meta = given_meta!(input);
        let wanted = trailing_checksum(input.checksum_algorithm.as_ref());
        let incoming = incoming!(request, input, wanted, fault);
        let (bucket, key) = (input.bucket, input.key);
        // Errors are reported before the body is read.
        let place = (bucket.clone(), key.clone());
        self.blocking(move |store| {
            crate::store::Store::check_key(&place.1)?;
            store.bucket(&place.0)
        })
        .await?;
        let meta = self
            .receive(incoming, move |store, written| {
                let checksums = written.digest.checksums.clone();
                let meta = Meta { etag: written.etag(), checksums, ..meta };
                Ok(store.commit(&bucket, &key, written, meta, &conditions)?.0)
            })
            .await?;
        let kind = checksum_type(&meta.checksums);
        Ok(with_checksums!(
            meta.checksums,
            PutObjectOutput {
                checksum_type: kind,
                e_tag: Some(etag(&meta.etag)),
                ..PutObjectOutput::default()
            }
        ))
    }

    pub(super) async fn copy_object(
        &self,
        request: S3Request<CopyObjectInput>,
    ) -> S3Result<CopyObjectOutput> {
        let input = request.input;
        self.begin(Operation::CopyObject, &input.bucket, &input.key).await?;
        check_customer_key(input.sse_customer_algorithm.as_ref())?;
        check_customer_key(input.copy_source_sse_customer_algorithm.as_ref())?;
        let (from_bucket, from_key) = copy_source(input.copy_source)?;
        let directive = input.metadata_directive.as_ref().map_or("COPY", |d| d.as_str());
        let replacing = match directive {
            "COPY" => None,
            "REPLACE" => Some(given_meta!(input)),
            _ => {
                return Err(s3_error!(
                    InvalidArgument,
                    "x-amz-metadata-directive is COPY or REPLACE"
                ));
            }
        };
        if replacing.is_none() && from_bucket == input.bucket && from_key == input.key {
            return Err(s3_error!(
                InvalidRequest,
                "a copy of an object to itself must replace its metadata"
            ));
        }
        let replaces = write_conditions(&request.headers)?;
        let conditions = source_conditions!(input);
        let wanted = trailing_checksum(input.checksum_algorithm.as_ref());
        let (bucket, key) = (input.bucket, input.key);
        let integrity = Arc::clone(&self.integrity);
        let (meta, modified) = self
            .blocking(move |store| {
                let source = store.get(&from_bucket, &from_key)?;
                conditions.check_source(&source.meta.etag, source.modified)?;
                source.check_length().map_err(storage_error)?;
                let kept = |a: &Algorithm| {
                    wanted == Some(*a)
                        || wanted.is_none() && source.meta.checksums.get(*a).is_some()
                };
                let mut draft = store.draft(Algorithm::ALL.into_iter().filter(kept), None)?;
                draft.copy_from(&source.file)?;
                if !source.is_unchanged() {
                    return Err(s3_error!(SlowDown, "the source was changed while it was copied"));
                }
                let written = draft.finish()?;
                integrity.compare(&source, written.digest.crc64).map_err(storage_error)?;
                let meta = Meta {
                    etag: written.etag(),
                    checksums: written.digest.checksums.clone(),
                    parts: Vec::new(),
                    upload: None,
                    ..replacing.unwrap_or(source.meta)
                };
                store.commit(&bucket, &key, written, meta, &replaces)
            })
            .await?;
        let kind = checksum_type(&meta.checksums);
        Ok(CopyObjectOutput {
            copy_object_result: Some(with_checksums!(
                meta.checksums,
                CopyObjectResult {
                    checksum_type: kind,
                    e_tag: Some(etag(&meta.etag)),
                    last_modified: Some(modified.into()),
                }
            )),
            ..CopyObjectOutput::default()
        })
    }

    pub(super) async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<DeleteObjectOutput> {
        let input = request.input;
        self.begin(Operation::DeleteObject, &input.bucket, &input.key).await?;
        check_version(input.version_id.as_deref())?;
        refuse_size_and_time(
            input.if_match_size.is_some(),
            input.if_match_last_modified_time.is_some(),
        )?;
        let conditions = WriteConditions { if_match: input.if_match, if_none_match: None };
        self.blocking(move |store| store.delete(&input.bucket, &input.key, &conditions)).await?;
        Ok(DeleteObjectOutput::default())
    }

    pub(super) async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<DeleteObjectsOutput> {
        let input = request.input;
        self.begin(Operation::DeleteObjects, &input.bucket, "").await?;
        if input.delete.objects.len() > MAX_DELETES {
            return Err(s3_error!(MalformedXML, "one request deletes at most {MAX_DELETES} keys"));
        }
        // The answer could not contain these keys, and neither should the request.
        if let Some(object) = input.delete.objects.iter().find(|it| it.key.contains(is_no_xml)) {
            return Err(s3_error!(
                MalformedXML,
                "XML cannot hold a character of the key {:?}; nothing was deleted: delete such objects one by \
                 one, whose keys are in the path",
                object.key
            ));
        }
        let quiet = input.delete.quiet.unwrap_or(false);
        self.blocking(move |store| {
            let (mut asked, mut errors) = (Vec::new(), Vec::new());
            let mut deleted = Vec::new();
            let failed = |key, e: S3Error| Error {
                code: Some(e.code().as_str().to_owned()),
                message: in_words(e).message().map(str::to_owned),
                key: Some(key),
                version_id: None,
            };
            for object in input.delete.objects {
                let conditions = WriteConditions {
                    if_match: object.e_tag.map(ETagCondition::ETag),
                    if_none_match: None,
                };
                let offered = check_version(object.version_id.as_deref()).and_then(|()| {
                    refuse_size_and_time(object.size.is_some(), object.last_modified_time.is_some())
                });
                match offered {
                    Ok(()) => asked.push((object.key, conditions)),
                    Err(e) => errors.push(failed(object.key, e)),
                }
            }
            let results = store.delete_all(&input.bucket, &asked)?;
            for ((key, _), result) in asked.into_iter().zip(results) {
                match result {
                    Ok(()) => {
                        deleted.push(DeletedObject { key: Some(key), ..DeletedObject::default() });
                    }
                    Err(e) => errors.push(failed(key, e)),
                }
            }
            Ok(DeleteObjectsOutput {
                deleted: (!quiet).then_some(deleted),
                errors: Some(errors),
                request_charged: None,
            })
        })
        .await
    }
}

/// Refuses conditions that S3 supports for directory buckets only. Ignoring them could remove the wrong object.
fn refuse_size_and_time(size: bool, time: bool) -> S3Result<()> {
    if size || time {
        return Err(s3_error!(
            NotImplemented,
            "conditions on the size or the time of what is deleted are not supported; use the ETag"
        ));
    }
    Ok(())
}

/// Converts milliseconds since 1970 to a time.
pub(super) fn from_milliseconds(time: u64) -> SystemTime {
    UNIX_EPOCH + std::time::Duration::from_millis(time)
}
