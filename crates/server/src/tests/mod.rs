//! Tests of the server through the AWS SDK, as clients see it.

mod access_log;
mod arrow;
mod conditions;
mod conformance;
mod damage;
mod described;
mod faults;
mod heads;
mod hosts;
mod limits;
mod listings;
mod objects;
mod ranges;
mod refused_bodies;
mod select;
mod server;
mod signatures;
mod slow;
mod strangers;
mod uploads;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use tempfile::TempDir;

use crate::server::{Builder, Server};

/// A server with a bucket called `bucket`, and a client for it.
struct Fixture {
    folder: TempDir,
    server: Server,
    client: Client,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    async fn with(configure: impl FnOnce(Builder) -> Builder) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let builder = configure(Server::builder(folder.path()).sync_writes(false));
        let server = builder.start().await.unwrap();
        let client = client(&server.endpoint(), server.access_key(), server.secret_key());
        client.create_bucket().bucket("bucket").send().await.unwrap();
        Self { folder, server, client }
    }

    async fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) -> String {
        let body = ByteStream::from(bytes.into());
        let put = self.client.put_object().bucket("bucket").key(key).body(body);
        put.send().await.unwrap().e_tag.unwrap()
    }

    async fn get(&self, key: &str) -> Vec<u8> {
        let got = self.client.get_object().bucket("bucket").key(key).send().await.unwrap();
        got.body.collect().await.unwrap().to_vec()
    }

    async fn keys(&self) -> Vec<String> {
        let listed = self.client.list_objects_v2().bucket("bucket").send().await.unwrap();
        listed.contents.unwrap_or_default().into_iter().filter_map(|object| object.key).collect()
    }
}

fn client(endpoint: &str, access_key: &str, secret_key: &str) -> Client {
    let config = aws_sdk_s3::Config::builder()
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("eu-somewhere-7"))
        .credentials_provider(Credentials::new(access_key, secret_key, None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .force_path_style(true)
        .build();
    Client::from_conf(config)
}

/// Returns S3's code of a failure, or `cut` if there was no answer.
fn code<E: ProvideErrorMetadata>(error: &SdkError<E>) -> String {
    match error {
        SdkError::ServiceError(_) => {
            let status = error.raw_response().map_or(0, |raw| raw.status().as_u16());
            format!("{status} {}", error.code().unwrap_or_default())
        }
        _ => "cut".to_owned(),
    }
}

/// Returns bytes that vary with their position.
fn bytes(length: usize) -> Vec<u8> {
    (0..length as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}
