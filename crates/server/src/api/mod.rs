//! The operations of S3 over the store. `s3s` implements HTTP, XML and SigV4. The methods here convert its types to
//! those of the store and back, and run the store's work outside the async threads.

mod body;
mod buckets;
mod configurations;
mod fields;
mod lists;
mod object_metadata;
mod reads;
mod receive;
mod uploads;
mod writes;

pub(crate) use writes::seconds;

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use s3s::dto::*;
use s3s::{S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use tokio::sync::Semaphore;

use crate::counters::{Counters, Operation};
use crate::faults::{Fault, Faults};
use crate::integrity::Integrity;
use crate::limits::Limits;
use crate::store::{Meta, Store, WriteConditions};

/// A header of an error that makes the connection's handler cut the connection.
pub(crate) const CUT: HeaderName = HeaderName::from_static("x-sluice-cut");

/// A mark for an answer whose body is in parts, each with a range of the object.
#[derive(Debug, Clone)]
pub(crate) struct MultipartRanges {
    /// The content type of the answer.
    pub(crate) content_type: String,
}

/// The operations of one server.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    pub(crate) store: Arc<Store>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) limits: Limits,
    /// The results of comparing objects with their checksums.
    pub(crate) integrity: Arc<Integrity>,
    /// The permits for uploads.
    pub(crate) uploads: Arc<Semaphore>,
}

impl Api {
    /// Counts a request and injects the faults that precede its answer. Returns the fault that
    /// concerns the answer's body.
    pub(crate) async fn begin(
        &self,
        operation: Operation,
        bucket: &str,
        key: &str,
    ) -> S3Result<Option<Fault>> {
        self.counters.count(operation);
        let mut remaining = None;
        for fault in self.faults.strike(operation, key) {
            tracing::debug!(%operation, key, ?fault, "fault injected");
            match fault {
                Fault::SlowDown => return Err(s3_error!(SlowDown, "injected")),
                Fault::InternalError => return Err(s3_error!(InternalError, "injected")),
                Fault::Cut => return Err(cut()),
                Fault::Delay(time) => tokio::time::sleep(time).await,
                Fault::ReplaceObject(bytes) => {
                    let (bucket, key) = (bucket.to_owned(), key.to_owned());
                    self.blocking(move |store| {
                        let mut draft = store.draft([], None)?;
                        draft.write(&bytes)?;
                        let written = draft.finish()?;
                        let meta = Meta { etag: written.etag(), ..Meta::default() };
                        let always = WriteConditions::default();
                        store.commit(&bucket, &key, written, meta, &always)
                    })
                    .await?;
                }
                fault => remaining = Some(fault),
            }
        }
        Ok(remaining)
    }

    /// Runs work of the store on a thread that may block.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> S3Result<T> + Send + 'static,
    ) -> S3Result<T> {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || work(&store)).await {
            Ok(result) => result,
            Err(e) => Err(S3Error::internal_error(e)),
        }
    }
}

/// Returns an error that cuts the connection.
fn cut() -> S3Error {
    let mut error = S3Error::new(S3ErrorCode::InternalError);
    error.set_headers(HeaderMap::from_iter([(CUT, HeaderValue::from_static("1"))]));
    error
}

/// Refuses versions other than `null`, because objects are not versioned here.
fn check_version(version: Option<&str>) -> S3Result<()> {
    match version {
        None | Some("null") => Ok(()),
        Some(_) => Err(s3_error!(NoSuchVersion, "buckets here are not versioned")),
    }
}

/// Refuses requests with the customer's own encryption keys, because bytes are stored as they come.
fn check_customer_key(algorithm: Option<&String>) -> S3Result<()> {
    match algorithm {
        None => Ok(()),
        Some(_) => Err(s3_error!(NotImplemented, "encryption with customer keys is not supported")),
    }
}

fn etag(value: &str) -> ETag {
    ETag::Strong(value.to_owned())
}

macro_rules! operations {
    ($($method:ident($input:ty) -> $output:ty;)*) => {
        #[async_trait::async_trait]
        impl S3 for Api {
            $(
                async fn $method(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                    Ok(S3Response::new(self.$method(request).await?))
                }
            )*

            async fn get_object(
                &self,
                request: S3Request<GetObjectInput>,
            ) -> S3Result<S3Response<GetObjectOutput>> {
                self.get_object(request).await
            }
        }
    };
}

operations! {
    abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput;
    complete_multipart_upload(CompleteMultipartUploadInput) -> CompleteMultipartUploadOutput;
    copy_object(CopyObjectInput) -> CopyObjectOutput;
    create_bucket(CreateBucketInput) -> CreateBucketOutput;
    create_multipart_upload(CreateMultipartUploadInput) -> CreateMultipartUploadOutput;
    delete_bucket(DeleteBucketInput) -> DeleteBucketOutput;
    delete_object(DeleteObjectInput) -> DeleteObjectOutput;
    delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput;
    get_bucket_accelerate_configuration(GetBucketAccelerateConfigurationInput)
        -> GetBucketAccelerateConfigurationOutput;
    get_bucket_acl(GetBucketAclInput) -> GetBucketAclOutput;
    get_bucket_cors(GetBucketCorsInput) -> GetBucketCorsOutput;
    get_bucket_encryption(GetBucketEncryptionInput) -> GetBucketEncryptionOutput;
    get_bucket_lifecycle_configuration(GetBucketLifecycleConfigurationInput)
        -> GetBucketLifecycleConfigurationOutput;
    get_bucket_location(GetBucketLocationInput) -> GetBucketLocationOutput;
    get_bucket_logging(GetBucketLoggingInput) -> GetBucketLoggingOutput;
    get_bucket_notification_configuration(GetBucketNotificationConfigurationInput)
        -> GetBucketNotificationConfigurationOutput;
    get_bucket_ownership_controls(GetBucketOwnershipControlsInput) -> GetBucketOwnershipControlsOutput;
    get_bucket_policy(GetBucketPolicyInput) -> GetBucketPolicyOutput;
    get_bucket_policy_status(GetBucketPolicyStatusInput) -> GetBucketPolicyStatusOutput;
    get_bucket_replication(GetBucketReplicationInput) -> GetBucketReplicationOutput;
    get_bucket_request_payment(GetBucketRequestPaymentInput) -> GetBucketRequestPaymentOutput;
    get_bucket_tagging(GetBucketTaggingInput) -> GetBucketTaggingOutput;
    get_bucket_versioning(GetBucketVersioningInput) -> GetBucketVersioningOutput;
    get_bucket_website(GetBucketWebsiteInput) -> GetBucketWebsiteOutput;
    get_object_acl(GetObjectAclInput) -> GetObjectAclOutput;
    get_object_attributes(GetObjectAttributesInput) -> GetObjectAttributesOutput;
    get_object_lock_configuration(GetObjectLockConfigurationInput) -> GetObjectLockConfigurationOutput;
    get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput;
    get_public_access_block(GetPublicAccessBlockInput) -> GetPublicAccessBlockOutput;
    head_bucket(HeadBucketInput) -> HeadBucketOutput;
    head_object(HeadObjectInput) -> HeadObjectOutput;
    list_buckets(ListBucketsInput) -> ListBucketsOutput;
    list_multipart_uploads(ListMultipartUploadsInput) -> ListMultipartUploadsOutput;
    list_object_versions(ListObjectVersionsInput) -> ListObjectVersionsOutput;
    list_objects(ListObjectsInput) -> ListObjectsOutput;
    list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output;
    list_parts(ListPartsInput) -> ListPartsOutput;
    put_object(PutObjectInput) -> PutObjectOutput;
    upload_part(UploadPartInput) -> UploadPartOutput;
    upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput;
}
