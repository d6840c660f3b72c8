//! How to reach a store: endpoint, region, credentials and time limits.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::Error;

/// How to reach a store. By default everything comes from the usual AWS chain: environment
/// variables, then the profile files, then the machine's role.
#[derive(Clone)]
pub struct ConnectOptions {
    /// `http://host:port` or `https://…`; `None` takes it from the environment or the AWS profile,
    /// and otherwise means AWS itself.
    pub endpoint: Option<String>,
    /// The region to sign for; `None` takes it from the environment or the AWS profile, and otherwise
    /// means `us-east-1`.
    pub region: Option<String>,
    /// The section of the AWS profile files whose credentials are used, whatever keys the environment has;
    /// `None` means the keys of the environment, else those of `AWS_PROFILE`, or `default`.
    pub aws_profile: Option<String>,
    /// Whether the bucket is part of the path (`http://host/bucket/key`) instead of the host name;
    /// `None` means yes if an endpoint is given.
    pub path_style: Option<bool>,
    /// Whether an endpoint of the environment or the AWS profile that is none fails the requests, each for itself,
    /// rather than [`Client::connect`](crate::Client::connect): for those who may need no store.
    pub defer_endpoint: bool,
    /// Whether to send requests unsigned. Like AWS, most stores then refuse Select.
    pub anonymous: bool,
    /// Credentials to use instead of those of the chain.
    pub credentials: Option<Credentials>,
    /// The connect timeout.
    pub connect_timeout: Duration,
    /// How long a store may say nothing, before an answer begins and between its parts, until the client
    /// gives up. After half of that the request is sent once more, because a connection that was lost
    /// unnoticed is silent, too. While it has no rows to send, a store sends a continuation event about
    /// every second; an answer of nothing else is given up after 20 idle time-outs. 30 s by default.
    pub idle_timeout: Duration,
    /// The most attempts for a request that fails before its answer begins; at least 1.
    pub request_attempts: u32,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            endpoint: None,
            region: None,
            aws_profile: None,
            path_style: None,
            defer_endpoint: false,
            anonymous: false,
            credentials: None,
            connect_timeout: Duration::from_secs(3),
            idle_timeout: Duration::from_secs(30),
            request_attempts: 3,
        }
    }
}

impl ConnectOptions {
    /// Whether credentials come from the environment and what else the SDK asks.
    pub(super) fn uses_chain(&self) -> bool {
        self.credentials.is_none() && self.aws_profile.is_none() && !self.anonymous
    }
}

impl fmt::Debug for ConnectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL may carry a password before the `@`, or a secret in its query.
        let endpoint = self.endpoint.as_deref();
        let endpoint =
            endpoint.map(|url| if url.contains(['@', '?', '#']) { "<withheld>" } else { url });
        f.debug_struct("ConnectOptions")
            .field("endpoint", &endpoint)
            .field("region", &self.region)
            .field("aws_profile", &self.aws_profile)
            .field("path_style", &self.path_style)
            .field("defer_endpoint", &self.defer_endpoint)
            .field("anonymous", &self.anonymous)
            .field("credentials", &self.credentials)
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("request_attempts", &self.request_attempts)
            .finish()
    }
}

/// An access key, possibly temporary. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The access key ID.
    pub access_key_id: String,
    /// The secret access key.
    pub secret_access_key: String,
    /// The session token of temporary credentials.
    pub session_token: Option<String>,
    /// When they expire; `None` if they do not, as far as is known.
    pub expires: Option<SystemTime>,
}

impl Credentials {
    /// An access key that does not expire.
    pub fn new(access_key_id: impl Into<String>, secret_access_key: impl Into<String>) -> Self {
        Self {
            access_key_id: access_key_id.into(),
            secret_access_key: secret_access_key.into(),
            session_token: None,
            expires: None,
        }
    }
}

impl Credentials {
    /// Headers carry the key ID and the token. The secret may be anything that is typed in one line.
    pub(super) fn check(&self) -> Result<(), Error> {
        let is_carried = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let token = self.session_token.as_deref().unwrap_or_default();
        let what = if !is_carried(&self.access_key_id) {
            "the access key ID"
        } else if !is_carried(token) {
            "the session token"
        } else if self.secret_access_key.contains(char::is_control) {
            "the secret access key"
        } else {
            return Ok(());
        };
        Err(Error::InvalidCredentials { what })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(<withheld>)")
    }
}

impl From<&Credentials> for aws_credential_types::Credentials {
    fn from(ours: &Credentials) -> Self {
        Self::new(
            ours.access_key_id.clone(),
            ours.secret_access_key.clone(),
            ours.session_token.clone(),
            ours.expires,
            "ConnectOptions",
        )
    }
}

impl From<&aws_credential_types::Credentials> for Credentials {
    fn from(theirs: &aws_credential_types::Credentials) -> Self {
        Self {
            access_key_id: theirs.access_key_id().to_owned(),
            secret_access_key: theirs.secret_access_key().to_owned(),
            session_token: theirs.session_token().map(str::to_owned),
            expires: theirs.expiry(),
        }
    }
}
