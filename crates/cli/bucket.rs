//! Buckets that are missing.

use aws_sdk_s3::config::{BehaviorVersion, Builder, Credentials, Region};
use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_s3::types::{BucketLocationConstraint, CreateBucketConfiguration};
use sluicegate_engine::{Engine, Error};

use crate::failure::{Failure, Result};

/// The region that a bucket is in if nothing else is asked for.
const DEFAULT_REGION: &str = "us-east-1";

/// Makes the bucket if it is not there. Returns whether it had to be made.
///
/// A store that does not say whether the bucket is there, as to a client that may only write
/// objects, is left to complain when something is written.
pub(crate) async fn ensure(engine: &Engine, name: &str) -> Result<bool> {
    let sdk = client(engine).await?;
    let missing = match Box::pin(sdk.head_bucket().bucket(name).send()).await {
        Ok(_) => false,
        Err(error) => error.as_service_error().is_some_and(|error| error.is_not_found()),
    };
    if !missing {
        return Ok(false);
    }
    let region = engine.endpoint().client.region();
    let mut request = sdk.create_bucket().bucket(name);
    if region != DEFAULT_REGION {
        let place = CreateBucketConfiguration::builder()
            .location_constraint(BucketLocationConstraint::from(region))
            .build();
        request = request.create_bucket_configuration(place);
    }
    match Box::pin(request.send()).await {
        Ok(_) => Ok(true),
        // Somebody was faster.
        Err(error) if error.code() == Some("BucketAlreadyOwnedByYou") => Ok(false),
        Err(error) => {
            tracing::debug!("{}", DisplayErrorContext(&error));
            let reason = error.message().or(error.code()).unwrap_or("the store does not say why");
            Err(Failure::new(format!("cannot create the bucket `{name}`: {reason}"))
                .with_hint("Check the bucket's name and that the access key may create buckets."))
        }
    }
}

/// Removes an empty bucket.
pub(crate) async fn remove(engine: &Engine, name: &str) -> Result<()> {
    let sdk = client(engine).await?;
    let removed = Box::pin(sdk.delete_bucket().bucket(name).send()).await;
    removed.map(|_| ()).map_err(|error| {
        tracing::debug!("{}", DisplayErrorContext(&error));
        let reason = error.message().or(error.code()).unwrap_or("the store does not say why");
        Failure::new(format!("cannot remove the bucket `{name}` again: {reason}"))
            .with_hint("Remove it by hand.")
    })
}

/// A client for the store that the engine talks to, as the engine talks to it.
async fn client(engine: &Engine) -> Result<aws_sdk_s3::Client> {
    let client = &engine.endpoint().client;
    let mut config = Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(client.region().to_owned()))
        .force_path_style(client.path_style());
    if let Some(endpoint) = client.endpoint() {
        config = config.endpoint_url(endpoint);
    }
    config = match client.credentials().await.map_err(Error::from)? {
        Some(credentials) => config.credentials_provider(Credentials::from(&credentials)),
        None => config.allow_no_auth(),
    };
    Ok(aws_sdk_s3::Client::from_conf(config.build()))
}
