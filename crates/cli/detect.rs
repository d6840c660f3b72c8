//! What kind of store an endpoint is, by its own word.

use std::time::Duration;

use object_store::ClientOptions;
use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody, ReqwestConnector};
use sluicegate_engine::Error;
use sluicegate_s3select::client::{Client, ConnectOptions};
use sluicegate_s3select::profile::EndpointProfile;

use crate::failure::Result;

/// How long a store may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(3);

/// The profile of the store that these options reach: AWS if they name no endpoint, else the one
/// that the endpoint's `Server` header names, else `aws`, which is careful. A store that does not
/// answer is taken for AWS, too: the query that follows tells what is wrong with it.
pub(crate) async fn profile(options: &ConnectOptions) -> Result<EndpointProfile> {
    let client = Client::connect(options, EndpointProfile::aws()).await.map_err(Error::from)?;
    let name = match client.endpoint() {
        Some(endpoint) => server_header(endpoint).await,
        None => None,
    };
    let profile = name.as_deref().and_then(by_server).unwrap_or_else(EndpointProfile::aws);
    tracing::debug!(server = name, profile = profile.name, "kind of store");
    Ok(profile)
}

/// What the answer to an unsigned request, whatever it is, says about the server.
async fn server_header(endpoint: &str) -> Option<String> {
    let options = ClientOptions::new()
        .with_connect_timeout(PATIENCE)
        .with_timeout(PATIENCE)
        .with_allow_http(true);
    let client = ReqwestConnector::default().connect(&options).ok()?;
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.uri_mut() = endpoint.parse().ok()?;
    let answer = client.execute(request).await.ok()?;
    Some(answer.headers().get("server")?.to_str().ok()?.to_owned())
}

fn by_server(name: &str) -> Option<EndpointProfile> {
    let name = name.to_ascii_lowercase();
    let known =
        [("sluicegate", "sluice"), ("amazons3", "aws"), ("minio", "minio"), ("ceph", "ceph")];
    let (_, profile) = known.iter().find(|(server, _)| name.starts_with(server))?;
    EndpointProfile::by_name(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_known_by_their_server_header() {
        for (header, profile) in [
            ("sluicegate/0.1.0", Some("sluice")),
            ("MinIO", Some("minio")),
            ("MinIO Console", Some("minio")),
            ("Ceph Object Gateway (squid)", Some("ceph")),
            ("AmazonS3", Some("aws")),
            ("nginx", None),
            ("", None),
        ] {
            assert_eq!(by_server(header).map(|found| found.name).as_deref(), profile, "{header}");
        }
    }
}
