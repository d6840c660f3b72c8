//! The operations on multipart uploads.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::TryFutureExt as _;
use s3s::dto::*;
use s3s::{S3Request, S3Result, s3_error};

use crate::counters::Operation;
use crate::error_messages::in_words;
use crate::faults::Fault;
use crate::store::{
    Algorithm, DeclaredObject, PartReference, Store, Upload, WriteConditions, milliseconds,
    storage_error,
};

use super::buckets::owner;
use super::fields::{given_meta, incoming, source_conditions, stated_checksums, with_checksums};
use super::lists::{Encoding, common_prefixes, delimiter, page_size};
use super::reads::checksum_type;
use super::receive::{announced, trailing_checksum};
use super::writes::{copy_source, from_milliseconds};
use super::{Api, check_customer_key, etag};

/// The time that a completion may take before its answer begins. Clients wait longer than this for an answer.
const WAIT_LIMIT: Duration = Duration::from_secs(2);

fn algorithm_name(algorithm: Option<Algorithm>) -> Option<ChecksumAlgorithm> {
    algorithm.map(|a| ChecksumAlgorithm::from_static(a.name()))
}

fn kind(upload: &Upload) -> Option<ChecksumType> {
    let whole = upload.full_object || upload.algorithm == Some(Algorithm::Crc64Nvme);
    let name = if whole { ChecksumType::FULL_OBJECT } else { ChecksumType::COMPOSITE };
    upload.algorithm.map(|_| ChecksumType::from_static(name))
}

/// Returns the answer if it is complete in time. Otherwise returns one that begins at once, and sends blanks until
/// the upload is complete. Like in S3, an error is then in an answer with status 200.
async fn patiently(
    completion: impl Future<Output = S3Result<CompleteMultipartUploadOutput>> + Send + 'static,
    patience: Duration,
) -> S3Result<CompleteMultipartUploadOutput> {
    let mut completion = Box::pin(completion.map_err(in_words));
    match tokio::time::timeout(patience, &mut completion).await {
        Ok(answer) => answer,
        Err(_) => Ok(CompleteMultipartUploadOutput {
            future: Some(completion),
            ..CompleteMultipartUploadOutput::default()
        }),
    }
}

impl Api {
    pub(super) async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<CreateMultipartUploadOutput> {
        let input = request.input;
        self.begin(Operation::CreateMultipartUpload, &input.bucket, &input.key).await?;
        check_customer_key(input.sse_customer_algorithm.as_ref())?;
        let upload = Upload {
            bucket: input.bucket,
            key: input.key,
            initiated: milliseconds(SystemTime::now()),
            meta: given_meta!(input),
            algorithm: trailing_checksum(input.checksum_algorithm.as_ref()),
            full_object: input
                .checksum_type
                .is_some_and(|kind| kind.as_str() == ChecksumType::FULL_OBJECT),
        };
        let (id, upload) =
            self.blocking(move |store| Ok((store.create_upload(&upload)?, upload))).await?;
        Ok(CreateMultipartUploadOutput {
            checksum_algorithm: algorithm_name(upload.algorithm),
            checksum_type: kind(&upload),
            bucket: Some(upload.bucket),
            key: Some(upload.key),
            upload_id: Some(id),
            ..CreateMultipartUploadOutput::default()
        })
    }

    pub(super) async fn upload_part(
        &self,
        request: S3Request<UploadPartInput>,
    ) -> S3Result<UploadPartOutput> {
        let input = request.input;
        let fault = self.begin(Operation::UploadPart, &input.bucket, &input.key).await?;
        check_customer_key(input.sse_customer_algorithm.as_ref())?;
        Store::check_part_number(input.part_number)?;
        let place = (input.upload_id.clone(), input.bucket.clone(), input.key.clone());
        let (_, upload) =
            self.blocking(move |store| store.upload(&place.0, &place.1, &place.2)).await?;
        if let Some(algorithm) = upload.algorithm {
            let stated = |it: &Algorithm| request.headers.contains_key(it.header());
            let stated = Algorithm::ALL.into_iter().filter(stated);
            let mut all = stated.chain(announced(&request.headers));
            if let Some(other) = all.find(|other| *other != algorithm) {
                return Err(s3_error!(
                    InvalidRequest,
                    "the upload was created with checksums of the kind {}, and this part has one of the kind {}",
                    algorithm.name(),
                    other.name()
                ));
            }
        }
        // The object gets the headers and metadata that the upload was created with.
        let wanted = trailing_checksum(input.checksum_algorithm.as_ref()).or(upload.algorithm);
        let incoming = incoming!(request, input, wanted, fault);
        let number = input.part_number;
        let (id, bucket, key) = (input.upload_id, input.bucket, input.key);
        let part = self
            .receive(incoming, move |store, written| {
                store.put_part(&id, &bucket, &key, number, written)
            })
            .await?;
        Ok(with_checksums!(
            part.checksums,
            UploadPartOutput { e_tag: Some(etag(&part.etag)), ..UploadPartOutput::default() }
        ))
    }

    pub(super) async fn upload_part_copy(
        &self,
        request: S3Request<UploadPartCopyInput>,
    ) -> S3Result<UploadPartCopyOutput> {
        let input = request.input;
        self.begin(Operation::UploadPartCopy, &input.bucket, &input.key).await?;
        check_customer_key(input.copy_source_sse_customer_algorithm.as_ref())?;
        Store::check_part_number(input.part_number)?;
        let (from_bucket, from_key) = copy_source(input.copy_source)?;
        let conditions = source_conditions!(input);
        let range = match input.copy_source_range.as_deref().map(Range::parse) {
            None => None,
            Some(Ok(range @ Range::Int { last: Some(_), .. })) => Some(range),
            Some(_) => {
                return Err(s3_error!(InvalidArgument, "a copy's range is `bytes=first-last`"));
            }
        };
        let (id, bucket, key, number) =
            (input.upload_id, input.bucket, input.key, input.part_number);
        let integrity = Arc::clone(&self.integrity);
        let part = self
            .blocking(move |store| {
                use std::io::{Read as _, Seek as _, SeekFrom};
                let (_, upload) = store.upload(&id, &bucket, &key)?;
                let source = store.get(&from_bucket, &from_key)?;
                conditions.check_source(&source.meta.etag, source.modified)?;
                let check = integrity.before_range(&source).map_err(storage_error)?;
                let range = match range {
                    // A part that is shorter than requested would lead to another object.
                    Some(Range::Int { last: Some(last), .. }) if last >= source.size => {
                        return Err(s3_error!(
                            InvalidRange,
                            "the range reaches beyond the source, which has {} bytes",
                            source.size
                        ));
                    }
                    Some(range) => range.check(source.size)?,
                    None => 0..source.size,
                };
                let mut draft = store.draft(upload.algorithm, None)?;
                let mut file = &source.file;
                file.seek(SeekFrom::Start(range.start)).map_err(storage_error)?;
                draft.copy_from(file.take(range.end - range.start))?;
                if !source.is_unchanged() {
                    return Err(s3_error!(SlowDown, "the source was changed while it was copied"));
                }
                if check.record_damage() {
                    return Err(storage_error(source.damaged()));
                }
                store.put_part(&id, &bucket, &key, number, draft.finish()?)
            })
            .await?;
        Ok(UploadPartCopyOutput {
            copy_part_result: Some(with_checksums!(
                part.checksums,
                CopyPartResult {
                    e_tag: Some(etag(&part.etag)),
                    last_modified: Some(from_milliseconds(part.modified).into()),
                }
            )),
            ..UploadPartCopyOutput::default()
        })
    }

    pub(super) async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<CompleteMultipartUploadOutput> {
        let input = request.input;
        let fault =
            self.begin(Operation::CompleteMultipartUpload, &input.bucket, &input.key).await?;
        let parts = input.multipart_upload.and_then(|upload| upload.parts).unwrap_or_default();
        let references = parts
            .into_iter()
            .map(|part| match (part.part_number, part.e_tag) {
                (Some(number), Some(etag)) => Ok(PartReference {
                    number,
                    etag: etag.into_value(),
                    checksums: stated_checksums!(part),
                }),
                _ => Err(s3_error!(MalformedXML, "a part needs its number and ETag")),
            })
            .collect::<S3Result<Vec<_>>>()?;
        let stated = DeclaredObject {
            checksums: stated_checksums!(input),
            full_object: input.checksum_type.map(|kind| kind.as_str() == ChecksumType::FULL_OBJECT),
            size: input.mpu_object_size,
        };
        let conditions =
            WriteConditions { if_match: input.if_match, if_none_match: input.if_none_match };
        let location = format!("/{}/{}", input.bucket, input.key);
        let (id, bucket, key) = (input.upload_id, input.bucket.clone(), input.key.clone());
        let api = self.clone();
        let completion = async move {
            let work = move |store: &Store| {
                store.complete_upload(&id, (&bucket, &key), &references, &stated, &conditions)
            };
            if let Some(Fault::SlowCompletion(time)) = fault {
                tokio::time::sleep(time).await;
            }
            let meta = api.blocking(work).await?;
            let kind = checksum_type(&meta.checksums);
            Ok(with_checksums!(
                meta.checksums,
                CompleteMultipartUploadOutput {
                    bucket: Some(input.bucket),
                    key: Some(input.key),
                    location: Some(location),
                    checksum_type: kind,
                    e_tag: Some(etag(&meta.etag)),
                    ..CompleteMultipartUploadOutput::default()
                }
            ))
        };
        patiently(completion, WAIT_LIMIT).await
    }

    pub(super) async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<AbortMultipartUploadOutput> {
        let input = request.input;
        self.begin(Operation::AbortMultipartUpload, &input.bucket, &input.key).await?;
        self.blocking(move |store| store.abort_upload(&input.upload_id, &input.bucket, &input.key))
            .await?;
        Ok(AbortMultipartUploadOutput::default())
    }

    pub(super) async fn list_parts(
        &self,
        request: S3Request<ListPartsInput>,
    ) -> S3Result<ListPartsOutput> {
        let input = request.input;
        self.begin(Operation::ListParts, &input.bucket, &input.key).await?;
        let limit = page_size(input.max_parts)?;
        let after = input.part_number_marker.unwrap_or(0);
        let place = (input.upload_id.clone(), input.bucket.clone(), input.key.clone());
        let (upload, mut parts) = self
            .blocking(move |store| {
                let (directory, upload) = store.upload(&place.0, &place.1, &place.2)?;
                Ok((upload, store.parts(&directory)?))
            })
            .await?;
        parts.retain(|part| part.number > after);
        let more = parts.len() > usize::try_from(limit).unwrap_or(0);
        parts.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(ListPartsOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(input.upload_id),
            checksum_algorithm: algorithm_name(upload.algorithm),
            checksum_type: kind(&upload),
            is_truncated: Some(more),
            max_parts: Some(limit),
            next_part_number_marker: parts.last().map(|part| part.number),
            part_number_marker: Some(after),
            owner: Some(owner()),
            parts: Some(
                parts
                    .into_iter()
                    .map(|part| {
                        with_checksums!(
                            part.checksums,
                            Part {
                                e_tag: Some(etag(&part.etag)),
                                last_modified: Some(from_milliseconds(part.modified).into()),
                                part_number: Some(part.number),
                                size: i64::try_from(part.size).ok(),
                            }
                        )
                    })
                    .collect(),
            ),
            ..ListPartsOutput::default()
        })
    }

    pub(super) async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<ListMultipartUploadsOutput> {
        let input = request.input;
        let prefix = input.prefix.clone().unwrap_or_default();
        self.begin(Operation::ListMultipartUploads, &input.bucket, &prefix).await?;
        let encoding = Encoding::new(input.encoding_type.as_ref())?;
        let limit = page_size(input.max_uploads)?;
        let key_marker = input.key_marker.clone().unwrap_or_default();
        let id_marker = input.upload_id_marker.clone().unwrap_or_default();
        let bucket = input.bucket.clone();
        let all = self.blocking(move |store| store.uploads(&bucket)).await?;

        let (mut uploads, mut prefixes) = (Vec::new(), Vec::<String>::new());
        let (mut more, mut last) = (false, None);
        // Uploads of one key are ordered by time, not by name. Those up to the marker are skipped.
        let mut marked_passed = id_marker.is_empty();
        for (id, upload) in all {
            let Some(rest) = upload.key.strip_prefix(&prefix) else { continue };
            if upload.key < key_marker || (upload.key == key_marker && id_marker.is_empty()) {
                continue;
            }
            if upload.key == key_marker && !marked_passed {
                marked_passed = id == id_marker;
                continue;
            }
            let separator = input.delimiter.as_deref().filter(|d| !d.is_empty());
            let common = separator.and_then(|d| rest.find(d).map(|at| at + d.len()));
            let common = common.map(|end| upload.key[..prefix.len() + end].to_owned());
            if common.as_ref().is_some_and(|c| *c <= key_marker || prefixes.last() == Some(c)) {
                continue;
            }
            if uploads.len() + prefixes.len() >= usize::try_from(limit).unwrap_or(0) {
                more = limit > 0;
                break;
            }
            last = Some((common.clone().unwrap_or_else(|| upload.key.clone()), id.clone()));
            match common {
                Some(common) => prefixes.push(common),
                None => uploads.push(MultipartUpload {
                    checksum_algorithm: algorithm_name(upload.algorithm),
                    checksum_type: kind(&upload),
                    initiated: Some(from_milliseconds(upload.initiated).into()),
                    key: Some(encoding.encode(upload.key)),
                    owner: Some(owner()),
                    upload_id: Some(id),
                    ..MultipartUpload::default()
                }),
            }
        }
        let (next_key, next_id) = last.filter(|_| more).unzip();
        Ok(ListMultipartUploadsOutput {
            bucket: Some(input.bucket),
            common_prefixes: Some(common_prefixes(prefixes, &encoding)),
            delimiter: delimiter(input.delimiter, &encoding),
            encoding_type: input.encoding_type,
            is_truncated: Some(more),
            key_marker: Some(encoding.encode(key_marker)),
            max_uploads: Some(limit),
            next_key_marker: next_key.map(|key| encoding.encode(key)),
            next_upload_id_marker: next_id,
            prefix: input.prefix.map(|p| encoding.encode(p)),
            upload_id_marker: input.upload_id_marker,
            uploads: Some(uploads),
            request_charged: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_takes_long_begins_before_it_is_there() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let completion = async move {
            let bucket = receiver.await.ok();
            Ok(CompleteMultipartUploadOutput { bucket, ..Default::default() })
        };
        let answer = patiently(completion, Duration::ZERO).await.unwrap();
        let later = answer.future.unwrap();
        sender.send("bucket".to_owned()).unwrap();
        assert_eq!(later.await.unwrap().bucket.as_deref(), Some("bucket"));

        let failed = async { Err(s3_error!(InvalidPart)) };
        let soon = patiently(failed, Duration::from_secs(60)).await.unwrap_err();
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let failed = async move {
            let _ = receiver.await;
            Err(s3_error!(InvalidPart))
        };
        let answer = patiently(failed, Duration::ZERO).await.unwrap();
        drop(sender);
        for error in [soon, answer.future.unwrap().await.unwrap_err()] {
            assert_eq!(error.code().as_str(), "InvalidPart");
            assert!(error.message().is_some());
        }
    }
}
