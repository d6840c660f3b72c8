//! Requests about the configuration of buckets. No bucket has one, and the answers are those of S3 for that case.

use http::StatusCode;
use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result};

use crate::counters::Operation;

use super::buckets::owner;
use super::{Api, check_version};

/// Returns the error for a configuration that a bucket does not have.
fn has_none(code: S3ErrorCode, message: &'static str) -> S3Error {
    let mut error = S3Error::with_message(code, message);
    error.set_status_code(StatusCode::NOT_FOUND);
    error
}

/// Defines operations that read a missing configuration and return an error.
macro_rules! without {
    ($($method:ident($input:ty) -> $output:ty: $operation:ident, $code:ident, $message:literal;)*) => {
        impl Api {
            $(
                pub(super) async fn $method(&self, request: S3Request<$input>) -> S3Result<$output> {
                    self.look_at(Operation::$operation, request.input.bucket).await?;
                    let code = S3ErrorCode::Custom(stringify!($code).into());
                    Err(has_none(code, $message))
                }
            )*
        }
    };
}

without! {
    get_bucket_cors(GetBucketCorsInput) -> GetBucketCorsOutput:
        GetBucketCors, NoSuchCORSConfiguration, "The CORS configuration does not exist";
    // AWS encrypts every bucket since 2023; this server stores bytes as they come.
    get_bucket_encryption(GetBucketEncryptionInput) -> GetBucketEncryptionOutput:
        GetBucketEncryption, ServerSideEncryptionConfigurationNotFoundError,
        "The server side encryption configuration was not found";
    get_bucket_lifecycle_configuration(GetBucketLifecycleConfigurationInput)
        -> GetBucketLifecycleConfigurationOutput:
        GetBucketLifecycleConfiguration, NoSuchLifecycleConfiguration,
        "The lifecycle configuration does not exist";
    get_bucket_policy(GetBucketPolicyInput) -> GetBucketPolicyOutput:
        GetBucketPolicy, NoSuchBucketPolicy, "The bucket policy does not exist";
    get_bucket_tagging(GetBucketTaggingInput) -> GetBucketTaggingOutput:
        GetBucketTagging, NoSuchTagSet, "The TagSet does not exist";
    get_bucket_ownership_controls(GetBucketOwnershipControlsInput) -> GetBucketOwnershipControlsOutput:
        GetBucketOwnershipControls, OwnershipControlsNotFoundError,
        "The bucket ownership controls were not found";
    get_bucket_policy_status(GetBucketPolicyStatusInput) -> GetBucketPolicyStatusOutput:
        GetBucketPolicyStatus, NoSuchBucketPolicy, "The bucket policy does not exist";
    get_bucket_replication(GetBucketReplicationInput) -> GetBucketReplicationOutput:
        GetBucketReplication, ReplicationConfigurationNotFoundError,
        "The replication configuration was not found";
    get_bucket_website(GetBucketWebsiteInput) -> GetBucketWebsiteOutput:
        GetBucketWebsite, NoSuchWebsiteConfiguration,
        "The specified bucket does not have a website configuration";
    get_object_lock_configuration(GetObjectLockConfigurationInput) -> GetObjectLockConfigurationOutput:
        GetObjectLockConfiguration, ObjectLockConfigurationNotFoundError,
        "Object Lock configuration does not exist for this bucket";
    get_public_access_block(GetPublicAccessBlockInput) -> GetPublicAccessBlockOutput:
        GetPublicAccessBlock, NoSuchPublicAccessBlockConfiguration,
        "The public access block configuration was not found";
}

/// Defines operations whose answer is empty for a missing configuration.
macro_rules! empty {
    ($($method:ident($input:ty) -> $output:ident: $operation:ident;)*) => {
        impl Api {
            $(
                pub(super) async fn $method(&self, request: S3Request<$input>) -> S3Result<$output> {
                    self.look_at(Operation::$operation, request.input.bucket).await?;
                    Ok($output::default())
                }
            )*
        }
    };
}

empty! {
    get_bucket_accelerate_configuration(GetBucketAccelerateConfigurationInput)
        -> GetBucketAccelerateConfigurationOutput: GetBucketAccelerateConfiguration;
    get_bucket_logging(GetBucketLoggingInput) -> GetBucketLoggingOutput: GetBucketLogging;
    get_bucket_notification_configuration(GetBucketNotificationConfigurationInput)
        -> GetBucketNotificationConfigurationOutput: GetBucketNotificationConfiguration;
}

impl Api {
    /// Counts a request about a bucket, and refuses it if the bucket does not exist.
    async fn look_at(&self, operation: Operation, bucket: String) -> S3Result<()> {
        self.begin(operation, &bucket, "").await?;
        self.blocking(move |store| store.bucket(&bucket)).await.map(drop)
    }

    pub(super) async fn get_bucket_request_payment(
        &self,
        request: S3Request<GetBucketRequestPaymentInput>,
    ) -> S3Result<GetBucketRequestPaymentOutput> {
        self.look_at(Operation::GetBucketRequestPayment, request.input.bucket).await?;
        let payer = Some(Payer::from_static(Payer::BUCKET_OWNER));
        Ok(GetBucketRequestPaymentOutput { payer })
    }

    pub(super) async fn get_bucket_acl(
        &self,
        request: S3Request<GetBucketAclInput>,
    ) -> S3Result<GetBucketAclOutput> {
        self.look_at(Operation::GetBucketAcl, request.input.bucket).await?;
        Ok(GetBucketAclOutput { grants: Some(grants()), owner: Some(owner()) })
    }

    pub(super) async fn get_object_acl(
        &self,
        request: S3Request<GetObjectAclInput>,
    ) -> S3Result<GetObjectAclOutput> {
        let input = request.input;
        self.begin(Operation::GetObjectAcl, &input.bucket, &input.key).await?;
        check_version(input.version_id.as_deref())?;
        self.blocking(move |store| store.head(&input.bucket, &input.key)).await?;
        let (grants, owner) = (Some(grants()), Some(owner()));
        Ok(GetObjectAclOutput { grants, owner, request_charged: None })
    }
}

/// Returns the grants of all buckets and objects: the owner has full control, and others have no access.
fn grants() -> Grants {
    let Owner { display_name, id } = owner();
    let type_ = Type::from_static(Type::CANONICAL_USER);
    let grantee = Grantee { display_name, email_address: None, id, type_, uri: None };
    let permission = Some(Permission::from_static(Permission::FULL_CONTROL));
    vec![Grant { grantee: Some(grantee), permission }]
}
