//! Operations on buckets.

use s3s::dto::*;
use s3s::{S3Request, S3Result};

use crate::counters::Operation;

use super::Api;

/// The region of all buckets. Requests may be signed for any region.
const REGION: &str = "us-east-1";

impl Api {
    pub(super) async fn list_buckets(
        &self,
        request: S3Request<ListBucketsInput>,
    ) -> S3Result<ListBucketsOutput> {
        self.begin(Operation::ListBuckets, "", "").await?;
        let input = request.input;
        let prefix = input.prefix.clone().unwrap_or_default();
        let after = input.continuation_token.unwrap_or_default();
        let limit = input.max_buckets.and_then(|n| usize::try_from(n).ok()).unwrap_or(10_000);
        let buckets = self.blocking(|store| store.list_buckets()).await?;
        let mut buckets: Vec<_> = buckets
            .into_iter()
            .filter(|bucket| bucket.name.starts_with(&prefix) && bucket.name > after)
            .collect();
        let more = buckets.len() > limit;
        buckets.truncate(limit);
        Ok(ListBucketsOutput {
            continuation_token: buckets.last().filter(|_| more).map(|bucket| bucket.name.clone()),
            buckets: Some(
                buckets
                    .into_iter()
                    .map(|bucket| Bucket {
                        name: Some(bucket.name),
                        creation_date: Some(bucket.created.into()),
                        ..Bucket::default()
                    })
                    .collect(),
            ),
            owner: Some(owner()),
            prefix: input.prefix,
        })
    }

    pub(super) async fn create_bucket(
        &self,
        request: S3Request<CreateBucketInput>,
    ) -> S3Result<CreateBucketOutput> {
        let bucket = request.input.bucket;
        self.begin(Operation::CreateBucket, &bucket, "").await?;
        let location = Some(format!("/{bucket}"));
        self.blocking(move |store| store.create_bucket(&bucket)).await?;
        Ok(CreateBucketOutput { location })
    }

    pub(super) async fn delete_bucket(
        &self,
        request: S3Request<DeleteBucketInput>,
    ) -> S3Result<DeleteBucketOutput> {
        let bucket = request.input.bucket;
        self.begin(Operation::DeleteBucket, &bucket, "").await?;
        self.blocking(move |store| store.delete_bucket(&bucket)).await?;
        Ok(DeleteBucketOutput::default())
    }

    pub(super) async fn head_bucket(
        &self,
        request: S3Request<HeadBucketInput>,
    ) -> S3Result<HeadBucketOutput> {
        let bucket = request.input.bucket;
        self.begin(Operation::HeadBucket, &bucket, "").await?;
        self.blocking(move |store| store.bucket(&bucket)).await?;
        Ok(HeadBucketOutput { bucket_region: Some(REGION.to_owned()), ..Default::default() })
    }

    pub(super) async fn get_bucket_location(
        &self,
        request: S3Request<GetBucketLocationInput>,
    ) -> S3Result<GetBucketLocationOutput> {
        let bucket = request.input.bucket;
        self.begin(Operation::GetBucketLocation, &bucket, "").await?;
        self.blocking(move |store| store.bucket(&bucket)).await?;
        // Like S3, the location of us-east-1 is empty.
        Ok(GetBucketLocationOutput::default())
    }

    pub(super) async fn get_bucket_versioning(
        &self,
        request: S3Request<GetBucketVersioningInput>,
    ) -> S3Result<GetBucketVersioningOutput> {
        let bucket = request.input.bucket;
        self.begin(Operation::GetBucketVersioning, &bucket, "").await?;
        self.blocking(move |store| store.bucket(&bucket)).await?;
        Ok(GetBucketVersioningOutput::default())
    }
}

/// Returns the owner of all buckets and objects.
pub(super) fn owner() -> Owner {
    Owner { display_name: Some("sluice".to_owned()), id: Some("sluice".to_owned()) }
}
