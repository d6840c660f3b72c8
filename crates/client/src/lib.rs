//! A client of S3 Select: it sends a statement and returns Arrow batches of declared columns. Whatever a store or a
//! network does, no row is lost or returned twice.
//!
//! * An answer is complete only with its End event. An answer that stops earlier is a failure, even if the
//!   connection was closed in an orderly way.
//! * An error that a store sends partway through an answer is decoded to its code and message.
//! * An answer that breaks off is requested again. The bytes that were already received are compared and
//!   skipped; the object must still be the same version ([`SelectCall::e_tag`]).
//! * A request that a store refuses is [`Error::Refused`]. The caller can then read the object instead. The
//!   client no longer sends similar statements ([`Client::refusals`]).
//! * An error about damaged bytes of the object is [`Error::Damaged`], which is no reason to read the object in
//!   another way.
//! * Extensions to S3 Select that a profile relies on must be named in the head of each answer
//!   ([`StoreCapabilities::relies_on`]).
//!
//! ```no_run
//! # async fn example(request: sluicegate_s3select::SelectRequest) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use arrow::datatypes::{DataType, Field, Schema};
//! use futures::TryStreamExt;
//! use sluicegate_client::{Client, ConnectOptions, SelectCall};
//! use sluicegate_s3select::capabilities::StoreCapabilities;
//!
//! let client = Client::connect(&ConnectOptions::default(), StoreCapabilities::aws()).await?;
//! let schema = Arc::new(Schema::new(vec![Field::new("total", DataType::Int64, true)]));
//! let call = SelectCall::new("bucket", "orders.csv", request, schema);
//! let mut rows = client.select(call).await?;
//! while let Some(batch) = rows.try_next().await? {
//!     assert_eq!(batch.num_columns(), 1);
//! }
//! # Ok(())
//! # }
//! ```

mod access;
mod arrow_decoder;
mod arrow_types;
mod aws_profile;
mod buckets;
mod call;
mod checked_credentials;
mod decode;
mod encode;
mod error;
pub mod fractions;
pub mod json_decoder;
mod metrics;
mod no_redirects;
mod options;
mod probe;
mod proxy;
mod raw;
mod refusals;
mod resume;
pub mod rounded_decimals;
mod sdk_error;
mod stall_timeout;
mod stream;
pub mod surrogate_pairs;
pub mod text_values;
mod wire;

#[cfg(test)]
mod tests;

use std::env;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::ProvideCredentials;
use aws_sdk_s3::config::{SharedHttpClient, StalledStreamProtectionConfig};
use aws_smithy_http_client::tls;
use aws_types::service_config::ServiceConfigKey;
use http::Uri;

pub use self::access::{AccessFault, access_fault};
pub use self::arrow_decoder::decoded_rows;
pub use self::arrow_types::arrow_type;
pub use self::call::{RetryPolicy, SelectCall};
use self::checked_credentials::CheckedCredentials;
pub use self::error::Error;
use self::error::Subject;
pub use self::metrics::{Reported, SelectCounts, SelectMetrics};
pub use self::no_redirects::{NoRedirectClient, SendError};
pub use self::options::{ConnectOptions, Credentials};
pub use self::probe::ProbeTarget;
pub use self::proxy::{Proxy, proxy_of};
use self::refusals::Refusals;
pub use self::refusals::{KnownRefusal, RefusalScope, RequestKind};
use self::stall_timeout::StallTimer;
pub use self::stream::SelectStream;
use self::wire::HeadTap;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::request::SelectRequest;

/// The pause before a request whose answer did not begin is sent again. It is jittered, and doubles each time.
const REQUEST_BACKOFF: Duration = Duration::from_millis(200);

/// A connection to one store. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    sdk: aws_sdk_s3::Client,
    config: SdkConfig,
    endpoint: Option<String>,
    /// The error of an unusable endpoint, which fails every request.
    bad_endpoint: Option<Error>,
    /// The error of an AWS profile that the environment names and that does not exist.
    no_profile: Option<Error>,
    /// True if the credentials come from the SDK's provider chain, which begins with the environment.
    uses_chain: bool,
    region: String,
    path_style: bool,
    profile: StoreCapabilities,
    idle_timeout: Duration,
    request_attempts: u32,
    refusals: Refusals,
}

/// The metadata of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectHead {
    /// The object's length in bytes.
    pub size: u64,
    /// The object's version, as in the ETag header.
    pub e_tag: Option<String>,
}

impl Client {
    /// Creates a client. This reads the environment and the AWS profile files, and sends nothing. An endpoint that
    /// does not exist is only detected at the first request.
    pub async fn connect(
        options: &ConnectOptions,
        profile: StoreCapabilities,
    ) -> Result<Self, Error> {
        let region = match &options.region {
            Some(region) => Region::new(region.clone()),
            None => default_region(options).await,
        };
        let attempts = options.request_attempts.max(1);
        // The client limits the wait for answers itself; see `stall_timeout`.
        let timeouts = TimeoutConfig::builder().connect_timeout(options.connect_timeout).build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(region.clone())
            .http_client(https())
            .timeout_config(timeouts)
            .retry_config(
                RetryConfig::standard()
                    .with_max_attempts(attempts)
                    .with_initial_backoff(REQUEST_BACKOFF),
            );
        if let Some(name) = &options.aws_profile {
            aws_profile::check(name).await?;
            // Like with the AWS CLI, a profile that is named explicitly takes precedence over the environment's keys.
            loader = loader
                .profile_name(name)
                .credentials_provider(aws_profile::provider(name, &region));
        }
        if let Some(endpoint) = &options.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        if options.anonymous {
            loader = loader.no_credentials();
        } else if let Some(credentials) = &options.credentials {
            loader =
                loader.credentials_provider(aws_credential_types::Credentials::from(credentials));
        }
        let config = loader.load().await;
        let mut endpoint = options.endpoint.clone().or_else(|| configured_endpoint(&config));
        let mut bad_endpoint = None;
        if let Err(error) = check_endpoint(endpoint.as_deref()) {
            // A deferred error is returned with the credentials. Anonymous requests use none, so nothing would stop
            // them.
            if !options.defer_endpoint || options.endpoint.is_some() || options.anonymous {
                return Err(error);
            }
            (bad_endpoint, endpoint) = (Some(error), None);
        }
        let no_profile = match env::var("AWS_PROFILE").ok().filter(|name| !name.trim().is_empty()) {
            Some(name) if options.uses_chain() => aws_profile::check(&name).await.err(),
            _ => None,
        };
        check_region(region.as_ref())?;
        let path_style = options.path_style.unwrap_or(endpoint.is_some());
        // A store sends little while it scans; the idle time-out allows for that.
        let mut s3 = aws_sdk_s3::config::Builder::from(&config)
            .http_client(no_redirects::http_client(options.connect_timeout))
            .force_path_style(path_style)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        s3.set_endpoint_url(endpoint.clone());
        if let Some(provider) = config.credentials_provider() {
            let refused = bad_endpoint.clone();
            s3 = s3.credentials_provider(CheckedCredentials { provider, refused });
        }
        if options.anonymous {
            s3 = s3.allow_no_auth();
        }
        let shared = Shared {
            sdk: aws_sdk_s3::Client::from_conf(s3.build()),
            config,
            endpoint,
            bad_endpoint,
            no_profile,
            uses_chain: options.uses_chain(),
            region: region.as_ref().to_owned(),
            path_style,
            profile,
            idle_timeout: options.idle_timeout,
            request_attempts: attempts,
            refusals: Refusals::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Sends a statement about an object. The rows come in the store's order.
    ///
    /// Returns once the answer has begun, so that a refusal is detected before the first row.
    pub async fn select(&self, call: SelectCall) -> Result<SelectStream, Error> {
        stream::select(self.clone(), call).await
    }

    /// Fetches an object's length and version.
    ///
    /// A missing bucket is [`Error::NotFound`] as well, because answers to HEAD do not tell the two apart.
    pub async fn head(&self, bucket: &str, key: &str) -> Result<ObjectHead, Error> {
        self.head_counted(bucket, key, &Arc::default()).await
    }

    async fn head_counted(
        &self,
        bucket: &str,
        key: &str,
        metrics: &Arc<SelectMetrics>,
    ) -> Result<ObjectHead, Error> {
        let subject = Subject { bucket: bucket.to_owned(), key: key.to_owned() };
        let sent = StallTimer::new(self.idle_timeout()).send(&subject, || {
            let tap = HeadTap { metrics: Arc::clone(metrics) };
            let request = self.sdk().head_object().bucket(bucket).key(key);
            Box::pin(request.customize().interceptor(tap).send())
        });
        let head = sent.await?.map_err(|error| self.sort_request_error(error, &subject))?;
        let size = head.content_length().and_then(|size| u64::try_from(size).ok());
        Ok(ObjectHead { size: size.unwrap_or(0), e_tag: head.e_tag().map(str::to_owned) })
    }

    /// Returns the profile, which describes the requests that this store supports.
    pub fn profile(&self) -> &StoreCapabilities {
        &self.shared.profile
    }

    /// Returns the earlier refusal of a similar request, if there was one. This request need not be sent.
    pub fn known_refusal(&self, request: &SelectRequest) -> Option<KnownRefusal> {
        self.shared.refusals.find(request)
    }

    /// Returns everything that this store refused and that is therefore no longer sent, oldest first.
    pub fn refusals(&self) -> Vec<KnownRefusal> {
        self.shared.refusals.all()
    }

    /// Returns the endpoint's URL; `None` for AWS itself.
    pub fn endpoint(&self) -> Option<&str> {
        self.shared.endpoint.as_deref()
    }

    /// Returns the region that requests are signed for.
    pub fn region(&self) -> &str {
        &self.shared.region
    }

    /// Returns true if the bucket is part of the URL's path instead of its host name.
    pub fn path_style(&self) -> bool {
        self.shared.path_style
    }

    /// Returns the time after which a silent store is given up: [`ConnectOptions::idle_timeout`].
    pub fn idle_timeout(&self) -> Duration {
        self.shared.idle_timeout
    }

    /// Returns true if requests are sent unsigned.
    pub fn is_anonymous(&self) -> bool {
        self.shared.config.credentials_provider().is_none()
    }

    /// Returns the credentials that requests are currently signed with, for other clients of the same store. `None`
    /// if requests are not signed. Call it again when they have expired.
    pub async fn credentials(&self) -> Result<Option<Credentials>, Error> {
        let Some(provider) = self.shared.config.credentials_provider() else {
            return Ok(None);
        };
        if let Some(error) = &self.shared.bad_endpoint {
            return Err(error.clone());
        }
        let credentials = provider.provide_credentials().await.map_err(|error| {
            tracing::debug!(%error, "no credentials");
            self.no_credentials()
        })?;
        let credentials = Credentials::from(&credentials);
        credentials.check()?;
        Ok(Some(credentials))
    }

    /// Returns the most specific error for missing credentials.
    fn no_credentials(&self) -> Error {
        let (id, secret) = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
        let is_set = |name| env::var(name).is_ok_and(|value| !value.trim().is_empty());
        match (is_set(id), is_set(secret)) {
            _ if !self.shared.uses_chain => Error::NoCredentials,
            (true, false) => Error::HalfKeyPair { set: id, missing: secret },
            (false, true) => Error::HalfKeyPair { set: secret, missing: id },
            _ => self.shared.no_profile.clone().unwrap_or(Error::NoCredentials),
        }
    }

    fn sdk(&self) -> &aws_sdk_s3::Client {
        &self.shared.sdk
    }

    /// Returns the store's name for messages.
    fn place(&self) -> String {
        match &self.shared.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => format!("AWS, region {}", self.shared.region),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.shared.endpoint)
            .field("region", &self.shared.region)
            .field("profile", &self.shared.profile.name)
            .finish_non_exhaustive()
    }
}

/// Creates the HTTP client for requesting credentials.
fn https() -> SharedHttpClient {
    let tls = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    aws_smithy_http_client::Builder::new().tls_provider(tls).build_https()
}

/// Returns the region from the environment or the profile files. The SDK would also query the machine's metadata
/// service, which takes seconds to time out where there is none.
async fn default_region(options: &ConnectOptions) -> Region {
    let mut file = ProfileFileRegionProvider::builder();
    if let Some(name) = &options.aws_profile {
        file = file.profile_name(name);
    }
    // An empty variable counts as unset.
    let named = ["AWS_REGION", "AWS_DEFAULT_REGION"]
        .into_iter()
        .find_map(|name| env::var(name).ok().filter(|region| !region.trim().is_empty()));
    if let Some(region) = named {
        return Region::new(region);
    }
    let region = RegionProviderChain::first_try(file.build()).region().await;
    region.filter(|region| !region.as_ref().is_empty()).unwrap_or(Region::from_static("us-east-1"))
}

/// Returns the endpoint from the environment or the profile files. One for S3 takes precedence over a general one.
fn configured_endpoint(config: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder()
        .service_id("S3")
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build();
    // An empty variable counts as unset.
    let is_set = |url: &String| !url.trim().is_empty();
    let service = key.ok().and_then(|key| config.service_config()?.load_config(key));
    service.filter(is_set).or_else(|| config.endpoint_url().map(str::to_owned).filter(is_set))
}

fn check_endpoint(endpoint: Option<&str>) -> Result<(), Error> {
    let Some(endpoint) = endpoint else { return Ok(()) };
    if !endpoint.is_empty() && !endpoint.contains([':', '/', '@', '?', '#']) || is_host(endpoint) {
        return Err(Error::NoScheme { endpoint: endpoint.escape_debug().to_string() });
    }
    let rest = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
    // S3 does not use the URL's user name or query for authentication, and messages would show them.
    let is_plain =
        rest.is_some_and(|rest| !rest.starts_with('/') && !rest.contains(['@', '?', '#']));
    match endpoint.parse::<Uri>() {
        // The parser accepts ports that are too large.
        Ok(uri) if is_plain && uri.host().is_some() && is_port(&uri) => Ok(()),
        _ => Err(Error::InvalidEndpoint),
    }
}

/// Returns true if the text is a host with a port, such as `localhost:9000`, rather than a URL.
fn is_host(text: &str) -> bool {
    let Some((host, port)) = text.trim_end_matches('/').rsplit_once(':') else { return false };
    let of_host = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
    !host.is_empty() && host.chars().all(of_host) && port.parse::<u16>().is_ok()
}

/// Returns true if the URL has no port or a valid one.
fn is_port(uri: &Uri) -> bool {
    let after = uri.authority().and_then(|it| it.as_str().strip_prefix(it.host()));
    after.is_some_and(|port| port.is_empty() || uri.port_u16().is_some())
}

/// Checks the characters of a region, which becomes part of signatures and host names.
fn check_region(region: &str) -> Result<(), Error> {
    let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match !region.is_empty() && region.chars().all(usual) {
        true => Ok(()),
        false => Err(Error::InvalidRegion { region: region.escape_debug().to_string() }),
    }
}
