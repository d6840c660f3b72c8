//! Options for reaching a store: endpoint, region, credentials and time-outs.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::Error;

/// Options for reaching a store. By default everything comes from the usual AWS chain: environment variables, then
/// the profile files, then the machine's role.
#[derive(Clone)]
pub struct ConnectOptions {
    /// The URL of the store, `http://host:port` or `https://…`. `None` takes it from the environment or the AWS
    /// profile, and otherwise means AWS itself.
    pub endpoint: Option<String>,
    /// The region that requests are signed for. `None` takes it from the environment or the AWS profile, and
    /// otherwise means `us-east-1`.
    pub region: Option<String>,
    /// The section of the AWS profile files to take credentials from, which takes precedence over keys in the
    /// environment. `None` uses the environment's keys if there are any, and otherwise the section that `AWS_PROFILE`
    /// names, or `default`.
    pub aws_profile: Option<String>,
    /// True if the bucket is part of the path (`http://host/bucket/key`) instead of the host name. `None` means true
    /// if an endpoint is given.
    pub path_style: Option<bool>,
    /// True if an invalid endpoint in the environment or the AWS profile should fail each request instead of
    /// [`Client::connect`](crate::Client::connect). Callers set it if they may not need the store.
    pub defer_endpoint: bool,
    /// True if requests are sent unsigned. Like AWS, most stores then refuse Select.
    pub anonymous: bool,
    /// The credentials to use instead of those of the chain.
    pub credentials: Option<Credentials>,
    /// The time-out for making a connection. 3 s by default.
    pub connect_timeout: Duration,
    /// The time after which the client gives up a silent store, before an answer begins or between its parts. After
    /// half of it the request is sent once more, because an unnoticed loss of the connection also looks like silence.
    /// A store without rows to send sends a continuation event about every second; an answer of nothing else is given
    /// up after 20 idle time-outs. 30 s by default.
    pub idle_timeout: Duration,
    /// The maximum number of attempts for a request that fails before its answer begins; at least 1. 3 by default.
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
    /// Returns true if the credentials come from the SDK's provider chain, which begins with the environment.
    pub(super) fn uses_chain(&self) -> bool {
        self.credentials.is_none() && self.aws_profile.is_none() && !self.anonymous
    }
}

impl fmt::Debug for ConnectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL may contain a password before the `@`, or a secret in its query.
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
    /// The time when they expire; `None` if they do not, or if it is unknown.
    pub expires: Option<SystemTime>,
}

impl Credentials {
    /// Creates an access key that does not expire.
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
    /// Checks for characters that headers do not allow in the key ID and the token. The secret is not sent, so it may
    /// contain anything but control characters.
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
