//! Detection of an endpoint's kind of store, by its `Server` header or an earlier probe.

use std::time::Duration;

use object_store::client::{HttpRequest, HttpRequestBody};
use sluicegate_client::{Client, ConnectOptions, NoRedirectClient};
use sluicegate_costmodel::BytesPerSecond;
use sluicegate_engine::Error;
use sluicegate_s3select::capabilities::{LINK_RATE_HEADER, StoreCapabilities};

use super::probed_endpoints::{KnownEndpoints, ProbedEndpoint};
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;

/// Timeout of the request for the `Server` header.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Returns the profile of the store that these options reach:
///
/// 1. AWS if they name no endpoint,
/// 2. else the profile that the endpoint's `Server` header names,
/// 3. else the result of `sluice endpoint probe`,
/// 4. else `unknown`: no statement is sent to the store, and objects are read with GET, until it is probed.
///    A probe writes samples to a bucket, so it runs only on request.
///
/// A store that does not answer is unknown, too: the query that follows reports the error.
///
/// The second result is the rate of the link to the store, if the store names it.
pub(crate) async fn profile(
    options: &ConnectOptions,
) -> Result<(StoreCapabilities, Option<BytesPerSecond>)> {
    let Some(endpoint) = endpoint(options).await? else {
        return Ok((StoreCapabilities::aws(), None));
    };
    let server = Server::probe_kind(&endpoint).await;
    tracing::debug!(server = server.header(), "kind of store");
    if let Some(profile) = server.profile() {
        return Ok((profile, server.link_rate()));
    }
    if let Some(known) = find(&endpoint, &server) {
        return Ok((known.profile, None));
    }
    if server.answers() {
        print_line(&format!(
            "{endpoint} does not say what kind of store it is, so objects are read with GET; \
             `sluice endpoint probe --endpoint {endpoint} --bucket NAME` finds out what it can do"
        ));
    }
    Ok((StoreCapabilities::unknown(), None))
}

/// Returns the rate of the link that the store at these options simulates, if it names one.
pub(crate) async fn link_rate(options: &ConnectOptions) -> Result<Option<BytesPerSecond>> {
    let Some(endpoint) = endpoint(options).await? else { return Ok(None) };
    Ok(Server::probe_kind(&endpoint).await.link_rate())
}

/// Returns the profile that a probe of the endpoint saved.
///
/// # Errors
///
/// If there is no endpoint, or it was not probed.
pub(crate) async fn probed(options: &ConnectOptions) -> Result<StoreCapabilities> {
    let Some(endpoint) = endpoint(options).await? else {
        return Err(Failure::new("there is no endpoint that could have been probed")
            .with_hint("Name it with --endpoint, or leave out --store."));
    };
    let known = find(&endpoint, &Server::probe_kind(&endpoint).await);
    known.map(|known| known.profile).ok_or_else(|| {
        Failure::new(format!("{endpoint} was not probed"))
            .with_hint(format!("Run sluice endpoint probe --endpoint {endpoint} --bucket NAME."))
    })
}

fn find(endpoint: &str, server: &Server) -> Option<ProbedEndpoint> {
    KnownEndpoints::in_cache()?.find(endpoint, server.header())
}

/// Returns the URL of the store that these options reach; `None` for AWS.
pub(super) async fn endpoint(options: &ConnectOptions) -> Result<Option<String>> {
    let client =
        Client::connect(options, StoreCapabilities::unknown()).await.map_err(Error::from)?;
    Ok(client.endpoint().map(str::to_owned))
}

/// The result of a request for a server's header.
#[derive(Debug)]
pub(crate) enum Server {
    /// The server did not answer.
    Silent,
    /// The server answered, with its `Server` header and the rate of its link in bytes per second if it sent them.
    Answers(Option<String>, Option<u64>),
}

impl Server {
    /// Sends an unsigned request and reads the `Server` header of the answer, even of a refusal.
    pub(crate) async fn probe_kind(endpoint: &str) -> Self {
        Self::ask(endpoint).await.unwrap_or(Self::Silent)
    }

    async fn ask(endpoint: &str) -> Option<Self> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = endpoint.parse().ok()?;
        // Redirects are not followed: the header of another server would be misleading.
        let direct = NoRedirectClient::new(TIMEOUT);
        let answer = tokio::time::timeout(TIMEOUT, direct.send(request)).await.ok()?.ok()?;
        let header = |name| answer.headers().get(name).and_then(|header| header.to_str().ok());
        let rate = header(LINK_RATE_HEADER).and_then(|rate| rate.parse().ok());
        Some(Self::Answers(header("server").map(str::to_owned), rate))
    }

    /// Returns the rate of the link that the server simulates.
    fn link_rate(&self) -> Option<BytesPerSecond> {
        match self {
            Self::Answers(_, rate) => {
                rate.filter(|rate| *rate > 0).map(|it| BytesPerSecond(it as f64))
            }
            Self::Silent => None,
        }
    }

    /// Returns true if the server answered.
    pub(super) fn answers(&self) -> bool {
        matches!(self, Self::Answers(..))
    }

    /// Returns the `Server` header, if there is one.
    pub(crate) fn header(&self) -> Option<&str> {
        match self {
            Self::Answers(header, _) => header.as_deref(),
            Self::Silent => None,
        }
    }

    /// Returns the profile that the `Server` header stands for.
    pub(crate) fn profile(&self) -> Option<StoreCapabilities> {
        let name = self.header()?.to_ascii_lowercase();
        let known =
            [("sluicegate", "sluice"), ("amazons3", "aws"), ("minio", "minio"), ("ceph", "ceph")];
        let (_, profile) = known.iter().find(|(server, _)| name.starts_with(server))?;
        StoreCapabilities::by_name(profile)
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
            let server = Server::Answers(Some(header.to_owned()), None);
            assert_eq!(server.profile().map(|found| found.name).as_deref(), profile, "{header}");
        }
        assert!(Server::Silent.profile().is_none());
    }
}
