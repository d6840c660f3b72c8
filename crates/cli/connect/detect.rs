//! What kind of store an endpoint is: as it says itself, else as a probe found out.

use std::time::Duration;

use object_store::client::{HttpRequest, HttpRequestBody};
use sluicegate_client::{Client, ConnectOptions, Direct};
use sluicegate_engine::Error;
use sluicegate_s3select::profile::EndpointProfile;

use super::known::{Known, KnownEndpoints};
use crate::failure::{Failure, Result};
use crate::output::progress::say;

/// How long a store may take to answer that.
const PATIENCE: Duration = Duration::from_secs(3);

/// The profile of the store that these options reach:
///
/// 1. AWS if they name no endpoint,
/// 2. else the one that the endpoint's `Server` header names,
/// 3. else what `sluice endpoint probe` found out about it,
/// 4. else `unknown`: no statement is sent to it, and objects are read with GET, until it is probed.
///    A probe writes samples to a bucket, so it runs only on request.
///
/// A store that does not answer is unknown, too: the query that follows reports the error.
pub(crate) async fn profile(options: &ConnectOptions) -> Result<EndpointProfile> {
    let Some(endpoint) = endpoint(options).await? else { return Ok(EndpointProfile::aws()) };
    let server = Server::ask(&endpoint).await;
    tracing::debug!(server = server.header(), "kind of store");
    if let Some(profile) = server.profile() {
        return Ok(profile);
    }
    if let Some(known) = find(&endpoint, &server) {
        return Ok(known.profile);
    }
    if server.answers() {
        say(&format!(
            "{endpoint} does not say what kind of store it is, so objects are read with GET; \
             `sluice endpoint probe --endpoint {endpoint} --bucket NAME` finds out what it can do"
        ));
    }
    Ok(EndpointProfile::unknown())
}

/// The profile that a probe of the endpoint made.
pub(crate) async fn probed(options: &ConnectOptions) -> Result<EndpointProfile> {
    let Some(endpoint) = endpoint(options).await? else {
        return Err(Failure::new("there is no endpoint that could have been probed")
            .with_hint("Name it with --endpoint, or leave out --store."));
    };
    let known = find(&endpoint, &Server::ask(&endpoint).await);
    known.map(|known| known.profile).ok_or_else(|| {
        Failure::new(format!("{endpoint} was not probed"))
            .with_hint(format!("Run sluice endpoint probe --endpoint {endpoint} --bucket NAME."))
    })
}

fn find(endpoint: &str, server: &Server) -> Option<Known> {
    KnownEndpoints::in_cache()?.find(endpoint, server.header())
}

/// The URL of the store that these options reach; none for AWS.
pub(super) async fn endpoint(options: &ConnectOptions) -> Result<Option<String>> {
    let client = Client::connect(options, EndpointProfile::unknown()).await.map_err(Error::from)?;
    Ok(client.endpoint().map(str::to_owned))
}

/// What a server says about itself.
#[derive(Debug)]
pub(crate) enum Server {
    /// Nothing: there was no answer.
    Silent,
    /// Its `Server` header, if it has one.
    Answers(Option<String>),
}

impl Server {
    /// Sends an unsigned request and reads the `Server` header of the answer, even of a refusal.
    pub(crate) async fn ask(endpoint: &str) -> Self {
        Self::header_of(endpoint).await.map_or(Self::Silent, Self::Answers)
    }

    async fn header_of(endpoint: &str) -> Option<Option<String>> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = endpoint.parse().ok()?;
        // What another server says, where this one redirects to, is not about this one.
        let direct = Direct::new(PATIENCE);
        let answer = tokio::time::timeout(PATIENCE, direct.send(request)).await.ok()?.ok()?;
        let header = answer.headers().get("server").and_then(|header| header.to_str().ok());
        Some(header.map(str::to_owned))
    }

    /// Whether there was an answer.
    pub(super) fn answers(&self) -> bool {
        matches!(self, Self::Answers(_))
    }

    /// Its name.
    pub(crate) fn header(&self) -> Option<&str> {
        match self {
            Self::Answers(header) => header.as_deref(),
            Self::Silent => None,
        }
    }

    /// The profile that its name stands for.
    pub(crate) fn profile(&self) -> Option<EndpointProfile> {
        let name = self.header()?.to_ascii_lowercase();
        let known =
            [("sluicegate", "sluice"), ("amazons3", "aws"), ("minio", "minio"), ("ceph", "ceph")];
        let (_, profile) = known.iter().find(|(server, _)| name.starts_with(server))?;
        EndpointProfile::by_name(profile)
    }
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
            let server = Server::Answers(Some(header.to_owned()));
            assert_eq!(server.profile().map(|found| found.name).as_deref(), profile, "{header}");
        }
        assert!(Server::Silent.profile().is_none());
    }
}
