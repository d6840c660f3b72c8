//! Requests about the attributes and tags of objects.

use s3s::dto::{
    Checksum, GetObjectAttributesInput, GetObjectAttributesOutput, GetObjectAttributesParts,
    GetObjectTaggingInput, GetObjectTaggingOutput, ObjectAttributes, StorageClass, Timestamp,
};
use s3s::{S3Request, S3Result, s3_error};

use crate::counters::Operation;

use super::fields::with_checksums;
use super::reads::{all_checksums, checksum_type};
use super::{Api, check_customer_key, check_version, etag};

/// The attributes that can be requested.
const ATTRIBUTES: [&str; 5] = [
    ObjectAttributes::ETAG,
    ObjectAttributes::CHECKSUM,
    ObjectAttributes::OBJECT_PARTS,
    ObjectAttributes::OBJECT_SIZE,
    ObjectAttributes::STORAGE_CLASS,
];

impl Api {
    /// Returns the requested ones of size, checksums and number of parts. Parts are not listed one by one; S3 does
    /// not do so either for objects without checksums of parts.
    pub(super) async fn get_object_attributes(
        &self,
        request: S3Request<GetObjectAttributesInput>,
    ) -> S3Result<GetObjectAttributesOutput> {
        let input = request.input;
        self.begin(Operation::GetObjectAttributes, &input.bucket, &input.key).await?;
        check_version(input.version_id.as_deref())?;
        check_customer_key(input.sse_customer_algorithm.as_ref())?;
        let asked = input.object_attributes;
        if asked.is_empty() {
            return Err(s3_error!(InvalidArgument, "x-amz-object-attributes names none"));
        }
        // Clients send one header for each, or a list with commas, which some of them quote.
        let names = asked.iter().flat_map(|it| it.as_str().trim_matches('"').split(','));
        let names: Vec<&str> = names.map(str::trim).collect();
        if let Some(unknown) = names.iter().find(|name| !ATTRIBUTES.contains(name)) {
            return Err(s3_error!(InvalidArgument, "there is no attribute `{unknown}`"));
        }
        let wants = |name: &'static str| names.contains(&name);
        let head = self.blocking(move |store| store.head(&input.bucket, &input.key)).await?;
        let checksums = all_checksums(&head.meta);
        let kind = checksum_type(&checksums);
        let checksum = with_checksums!(checksums, Checksum { checksum_type: kind });
        let parts = i32::try_from(head.meta.parts.len()).ok().filter(|parts| *parts > 0);
        Ok(GetObjectAttributesOutput {
            e_tag: wants(ObjectAttributes::ETAG).then(|| etag(&head.meta.etag)),
            checksum: (wants(ObjectAttributes::CHECKSUM) && checksum.checksum_type.is_some())
                .then_some(checksum),
            object_parts: parts.filter(|_| wants(ObjectAttributes::OBJECT_PARTS)).map(|parts| {
                GetObjectAttributesParts { total_parts_count: Some(parts), ..Default::default() }
            }),
            object_size: i64::try_from(head.size)
                .ok()
                .filter(|_| wants(ObjectAttributes::OBJECT_SIZE)),
            storage_class: wants(ObjectAttributes::STORAGE_CLASS)
                .then(|| StorageClass::from_static(StorageClass::STANDARD)),
            last_modified: Some(Timestamp::from(head.modified)),
            ..Default::default()
        })
    }

    /// Returns an empty list, because objects have no tags here.
    pub(super) async fn get_object_tagging(
        &self,
        request: S3Request<GetObjectTaggingInput>,
    ) -> S3Result<GetObjectTaggingOutput> {
        let input = request.input;
        self.begin(Operation::GetObjectTagging, &input.bucket, &input.key).await?;
        check_version(input.version_id.as_deref())?;
        self.blocking(move |store| store.head(&input.bucket, &input.key)).await?;
        Ok(GetObjectTaggingOutput { tag_set: Vec::new(), version_id: None })
    }
}
