//! Errors of the client, classified by what a caller can do about them.

use std::time::Duration;

use sluicegate_conformance::NoAnswer;
use sluicegate_s3select::capabilities::{Refusal, StoreCapabilities};
use sluicegate_s3select::error::is_damage;

use crate::access::access_fault;

/// This client's code for an answer whose head does not name the extensions that the profile relies on.
pub(super) const EXTENSIONS_MISSING: &str = "ExtensionsMissing";

/// The code that Sluicegate's server sends for a statement that was evaluated for longer than it allows.
const STATEMENT_TIMEOUT: &str = "StatementTimeout";

/// The reason why a request failed. No variant contains a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The object does not exist.
    #[error("there is no object `{key}` in bucket `{bucket}`")]
    NotFound {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object.
        key: String,
    },
    /// The bucket does not exist.
    #[error("there is no bucket `{bucket}`")]
    NoSuchBucket {
        /// The name of the bucket.
        bucket: String,
    },
    /// The store rejects the credentials, or they do not permit the request.
    #[error("{}", denied(bucket, key, code))]
    AccessDenied {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object.
        key: String,
        /// The error code of the store.
        code: String,
    },
    /// There are no credentials in the environment, the profile files or the machine's role.
    #[error("no credentials were found")]
    NoCredentials,
    /// The AWS profile files have no such section.
    #[error("there is no AWS profile `{name}`{}", others(known, files))]
    NoProfile {
        /// The name of the profile.
        name: String,
        /// The existing sections, in order.
        known: Vec<String>,
        /// The files that were read.
        files: String,
    },
    /// The environment has only one half of a key pair, and there are no other credentials.
    #[error("{set} is set, and {missing} is not")]
    HalfKeyPair {
        /// The variable that is set.
        set: &'static str,
        /// The variable that is missing.
        missing: &'static str,
    },
    /// The endpoint does not answer.
    #[error("the store at {endpoint} cannot be reached: {reason}")]
    Unreachable {
        /// The endpoint's URL, or AWS's region.
        endpoint: String,
        /// The reason of the failed connection.
        reason: String,
    },
    /// The environment's proxy for the endpoint does not answer.
    #[error("the proxy {address} of {variable} cannot be reached: {reason}")]
    NoProxy {
        /// The environment variable that names the proxy.
        variable: &'static str,
        /// The address of the proxy.
        address: String,
        /// The reason of the failed connection.
        reason: String,
    },
    /// This machine cannot resolve the endpoint's name.
    #[error("there is no host `{host}`")]
    NoHost {
        /// The name of the host.
        host: String,
    },
    /// The endpoint is an `https` URL, but the server does not use TLS.
    #[error("the store at {endpoint} does not speak TLS")]
    NoTls {
        /// The URL of the endpoint.
        endpoint: String,
    },
    /// The server at the endpoint is not an S3 store.
    #[error("what answers at {endpoint} is no S3 store: {why}")]
    NoStore {
        /// The URL of the endpoint.
        endpoint: String,
        /// The evidence, as a sentence about the server.
        why: String,
    },
    /// The given endpoint is not a usable URL.
    #[error("the endpoint is not a URL of the form http://host:port or https://host:port")]
    InvalidEndpoint,
    /// The given endpoint has no `http://` or `https://`.
    #[error("the endpoint `{endpoint}` has no http:// or https:// before it")]
    NoScheme {
        /// The endpoint, with control characters escaped.
        endpoint: String,
    },
    /// The text cannot be the name of a region.
    #[error("`{region}` is no name of a region")]
    InvalidRegion {
        /// The text, with control characters escaped.
        region: String,
    },
    /// A key or token has a character that headers do not allow.
    #[error("{what} has a line end, a blank or another character that no credential has")]
    InvalidCredentials {
        /// The part of the credentials, such as "the session token".
        what: &'static str,
    },
    /// The bucket is in another region than the one that the request was signed for.
    #[error("{} is in {}", about(bucket, ""), expected.as_deref().map_or("another region".to_owned(), |r| format!("region {r}")))]
    WrongRegion {
        /// The name of the bucket.
        bucket: String,
        /// The region of the bucket, if the store names it.
        expected: Option<String>,
    },
    /// The store does not run this statement, or any statement. The caller can read the object instead.
    #[error("the store refuses the request: {code}: {message}")]
    Refused {
        /// The store's error code, or one of this client if the statement was not sent.
        code: String,
        /// The message of the store.
        message: String,
    },
    /// The store detected that bytes of the object differ from those that were written.
    #[error("{} is damaged: {code}: {message}", about(bucket, key))]
    Damaged {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object.
        key: String,
        /// The error code of the store.
        code: String,
        /// The message of the store.
        message: String,
    },
    /// The object was replaced after the caller had read its version.
    #[error("`{key}` in bucket `{bucket}` changed while it was being read")]
    ObjectChanged {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object.
        key: String,
    },
    /// The answer cannot be decoded to rows of the declared columns.
    #[error("the answer for `{key}` in bucket `{bucket}` cannot be used: {message}")]
    BadAnswer {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object.
        key: String,
        /// The fault, with the row that has it.
        message: String,
    },
    /// The store sent nothing for the idle time-out, over two requests.
    #[error("the store says nothing about {}: it was silent for {waited:?}", about(bucket, key))]
    Silent {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object.
        key: String,
        /// The idle time-out that passed.
        waited: Duration,
    },
    /// The store sent only continuation events, for many idle time-outs.
    #[error(
        "the store sends no rows of {}: for {waited:?}, it only said that its answer goes on",
        about(bucket, key)
    )]
    Endless {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object.
        key: String,
        /// The duration of the wait.
        waited: Duration,
    },
    /// A temporary failure that persisted for all attempts.
    #[error("{} could not be read in {attempts} attempts: {reason}", about(bucket, key))]
    Transient {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object.
        key: String,
        /// The number of requests that were sent.
        attempts: u32,
        /// The reason of the last failure.
        reason: String,
    },
}

/// Names the subject of a request: an object, a bucket, or the store.
fn about(bucket: &str, key: &str) -> String {
    match (bucket, key) {
        ("", _) => "the store".to_owned(),
        (_, "") => format!("bucket `{bucket}`"),
        _ => format!("`{key}` in bucket `{bucket}`"),
    }
}

/// Describes a refused access and its reason.
fn denied(bucket: &str, key: &str, code: &str) -> String {
    match access_fault(code) {
        Some(fault) => format!("the store {} ({code})", fault.words),
        None if bucket.is_empty() => format!("the store refuses access ({code})"),
        None => format!("the store refuses access to {} ({code})", about(bucket, key)),
    }
}

/// Lists the existing profiles.
fn others(known: &[String], files: &str) -> String {
    match known {
        [] => format!(": {files} are empty, or not there"),
        known => format!(": there is {} in {files}", known.join(", ")),
    }
}

impl Error {
    /// Returns a sentence on how to fix the error.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "Check the key; keys are case-sensitive.",
            Self::NoSuchBucket { .. } => "Check the bucket's name and the endpoint.",
            Self::AccessDenied { code, .. } => access_fault(code).map_or(
                "Check that the access key may read and list this bucket (s3:GetObject, s3:ListBucket); \
                 requests that are not signed (--anonymous) read public buckets only.",
                |fault| fault.hint,
            ),
            Self::NoCredentials => {
                "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name an AWS profile."
            }
            Self::NoProfile { .. } => {
                "Check the name in --aws-profile, the connection or AWS_PROFILE; AWS_CONFIG_FILE and \
                 AWS_SHARED_CREDENTIALS_FILE name other files."
            }
            Self::HalfKeyPair { .. } => {
                "A key pair is AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: set both, or neither and name an AWS \
                 profile."
            }
            Self::Unreachable { .. } => {
                "Check the endpoint and the network, and that the store is running."
            }
            Self::NoProxy { .. } => {
                "Correct or unset the variable, or name the store's host in NO_PROXY to reach it without."
            }
            Self::NoHost { .. } => {
                "Check the endpoint's name, and that this machine can resolve names."
            }
            Self::NoTls { .. } => "Try http:// instead of https://.",
            Self::NoStore { .. } => {
                "Check the endpoint's port, and that it has no path: http://host:port."
            }
            Self::InvalidEndpoint => {
                "Give a scheme, a host and a port, without a user name or a query."
            }
            Self::NoScheme { .. } => {
                "Write it as http://host:port, wherever it is set: --endpoint, the connection, \
                 AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or endpoint_url of the AWS profile."
            }
            Self::InvalidRegion { .. } => "Name one such as us-east-1.",
            Self::InvalidCredentials { .. } => {
                "Set it again, without what a copy or an `echo` put behind it."
            }
            Self::WrongRegion { .. } => "Give the bucket's region.",
            Self::Refused { .. } => "Read the object instead of asking the store to filter it.",
            Self::ObjectChanged { .. } => "Run the query again.",
            Self::Damaged { .. } => "Store the object again from a copy.",
            Self::BadAnswer { .. } => "Check the declared columns against the object.",
            Self::Silent { .. } | Self::Endless { .. } => {
                "Check that the store is up, or wait longer: SET sluice.idle_timeout = '2min'."
            }
            Self::Transient { .. } => "Try again later.",
        }
    }

    /// Returns true if the store refuses every statement of this client.
    pub fn is_final_refusal(&self) -> bool {
        const CODES: [&str; 4] =
            ["NotImplemented", "MethodNotAllowed", "AccessDenied", EXTENSIONS_MISSING];
        matches!(self, Self::Refused { code, .. } if CODES.contains(&code.as_str()))
    }

    /// Creates the error for a statement that is not sent, because a similar one took too long.
    pub fn overdue(why: impl Into<String>) -> Self {
        Self::Refused { code: STATEMENT_TIMEOUT.to_owned(), message: why.into() }
    }

    /// Returns true if the store stopped the statement because it took too long (`StatementTimeout` of Sluicegate's
    /// server). Other statements may still succeed.
    pub fn is_overdue(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == STATEMENT_TIMEOUT)
    }

    /// Returns true if reading the whole object with GET may work instead.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { code: "RefusedByProfile".to_owned(), message: refusal.to_string() }
    }
}

/// Converts the error to the answer to a probe's question.
///
/// # Errors
/// Returns the error itself if no question can be answered: the store cannot be reached, refuses access, or does not
/// have the object.
impl TryFrom<Error> for NoAnswer {
    type Error = Error;

    fn try_from(error: Error) -> Result<Self, Error> {
        let every_statement = error.is_final_refusal();
        match error {
            Error::Refused { code, message } => {
                Ok(Self::Refused { code, message, every_statement })
            }
            // One of the probe's samples is damaged on purpose.
            Error::Damaged { code, message, .. } => {
                Ok(Self::Refused { code, message, every_statement })
            }
            Error::BadAnswer { message, .. } => {
                Ok(Self::Failed { code: "BadAnswer".to_owned(), message })
            }
            Error::Silent { waited, .. } | Error::Endless { waited, .. } => Ok(Self::Failed {
                code: "Silent".to_owned(),
                message: format!("nothing was said for {waited:?}"),
            }),
            Error::Transient { reason, .. } => {
                // The reason of a transient error begins with its code.
                let (code, message) = reason.split_once(": ").unwrap_or((&reason, ""));
                Ok(Self::Failed { code: code.to_owned(), message: message.to_owned() })
            }
            error => Err(error),
        }
    }
}

/// The object of a request, for error messages.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) bucket: String,
    pub(super) key: String,
}

impl Subject {
    pub(super) fn changed(&self) -> Error {
        Error::ObjectChanged { bucket: self.bucket.clone(), key: self.key.clone() }
    }

    pub(super) fn bad_answer(&self, message: impl Into<String>) -> Error {
        Error::BadAnswer {
            bucket: self.bucket.clone(),
            key: self.key.clone(),
            message: message.into(),
        }
    }

    pub(super) fn stalled(&self, waited: Duration) -> Error {
        Error::Silent { bucket: self.bucket.clone(), key: self.key.clone(), waited }
    }

    pub(super) fn endless(&self, waited: Duration) -> Error {
        Error::Endless { bucket: self.bucket.clone(), key: self.key.clone(), waited }
    }

    pub(super) fn transient(&self, attempts: u32, reason: impl Into<String>) -> Error {
        Error::Transient {
            bucket: self.bucket.clone(),
            key: self.key.clone(),
            attempts,
            reason: reason.into(),
        }
    }
}

/// An error as the store sends it, either as an XML document instead of an answer or as a frame in it.
#[derive(Debug, Clone, Default)]
pub(super) struct StoreError {
    /// The HTTP status; `None` for a frame.
    pub(super) status: Option<u16>,
    /// The region in the `x-amz-bucket-region` header, if it is another one than the client's.
    pub(super) region: Option<String>,
    /// The error code. Empty if there is none, because the answer to HEAD has no body.
    pub(super) code: String,
    /// The message of the store.
    pub(super) message: String,
}

impl StoreError {
    /// Classifies the error by its code. The codes are those of the service's general and Select tables. An unknown
    /// code counts as a refusal, because a GET then shows the actual fault.
    pub(super) fn sort(
        self,
        subject: &Subject,
        profile: &StoreCapabilities,
        attempts: u32,
    ) -> Error {
        let Subject { bucket, key } = subject.clone();
        match (self.code.as_str(), self.status) {
            ("NoSuchKey" | "NotFound", _) => Error::NotFound { bucket, key },
            ("NoSuchBucket", _) => Error::NoSuchBucket { bucket },
            ("PreconditionFailed", _) | ("", Some(412)) => subject.changed(),
            (
                "PermanentRedirect"
                | "TemporaryRedirect"
                | "IllegalLocationConstraintException"
                | "IncorrectEndpoint",
                _,
            )
            | (_, Some(301 | 307)) => Error::WrongRegion { bucket, expected: self.region() },
            ("AuthorizationHeaderMalformed", _) if self.region().is_some() => {
                Error::WrongRegion { bucket, expected: self.region() }
            }
            ("InternalError", _) if profile.internal_error_is_final => {
                Error::Refused { code: self.code, message: self.message }
            }
            (code, status) if is_transient(code, status) => {
                subject.transient(attempts, self.reason())
            }
            ("", Some(404)) => Error::NotFound { bucket, key },
            (_, Some(401 | 403)) | ("AccessDenied" | "AuthorizationHeaderMalformed", _) => {
                let code = if self.code.is_empty() { "AccessDenied".to_owned() } else { self.code };
                Error::AccessDenied { bucket, key, code }
            }
            (code, _) if access_fault(code).is_some() => {
                Error::AccessDenied { bucket, key, code: self.code }
            }
            (code, _) if is_damage(code, &self.message) => {
                Error::Damaged { bucket, key, code: self.code, message: self.message }
            }
            _ => Error::Refused {
                code: match (self.code.as_str(), self.status) {
                    ("", Some(405)) => "MethodNotAllowed".to_owned(),
                    ("", Some(501)) => "NotImplemented".to_owned(),
                    ("", _) => "Unknown".to_owned(),
                    _ => self.code,
                },
                message: if self.message.is_empty() {
                    self.status.map_or_else(String::new, |status| format!("HTTP status {status}"))
                } else {
                    self.message
                },
            },
        }
    }

    fn reason(&self) -> String {
        match (self.code.as_str(), self.status) {
            ("", Some(status)) => format!("the store answered with HTTP status {status}"),
            (code, _) if self.message.is_empty() => format!("the store says {code}"),
            (code, _) => format!("the store says {code}: {}", self.message),
        }
    }

    /// Returns the region that the store expects, from its header or from the message "…the region 'a' is wrong;
    /// expecting 'b'".
    fn region(&self) -> Option<String> {
        let quoted = || {
            let (_, rest) = self.message.split_once("expecting '")?;
            let (region, _) = rest.split_once('\'')?;
            Some(region.to_owned())
        };
        self.region.clone().or_else(quoted)
    }
}

/// Returns true if the same request may succeed when it is repeated.
fn is_transient(code: &str, status: Option<u16>) -> bool {
    let passing = matches!(
        code,
        "InternalError"
            | "Busy"
            | "SlowDown"
            | "ServiceUnavailable"
            | "RequestTimeout"
            | "RequestTimeoutException"
            | "Throttling"
            | "ThrottlingException"
            | "RequestThrottled"
            | "TooManyRequests"
            | "BandwidthLimitExceeded"
    );
    passing || matches!(status, Some(429 | 500 | 502 | 503 | 504 | 509))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: Option<u16>, code: &str, message: &str, profile: &str, expected: &str) {
        let subject = Subject { bucket: "b".to_owned(), key: "k".to_owned() };
        let error =
            StoreError { status, region: None, code: code.to_owned(), message: message.to_owned() };
        let profile = StoreCapabilities::by_name(profile).unwrap();
        assert_eq!(error.sort(&subject, &profile, 3).to_string(), expected);
    }

    #[test]
    fn store_errors_are_sorted_by_what_can_be_done() {
        let missing = "there is no object `k` in bucket `b`";
        check(Some(404), "NoSuchKey", "", "aws", missing);
        check(Some(404), "", "", "aws", missing);
        check(None, "NoSuchKey", "", "aws", missing);
        check(Some(404), "NoSuchBucket", "", "aws", "there is no bucket `b`");
        let denied = "the store refuses access to `k` in bucket `b` (AccessDenied)";
        check(Some(403), "AccessDenied", "", "aws", denied);
        check(Some(403), "", "", "aws", denied);
        let wrong =
            "the store does not accept the signature of the secret key (SignatureDoesNotMatch)";
        check(Some(403), "SignatureDoesNotMatch", "", "aws", wrong);
        let unknown = "the store does not know the access key (InvalidAccessKeyId)";
        check(Some(403), "InvalidAccessKeyId", "", "aws", unknown);
        for (status, code, words) in [
            (403, "RequestTimeTooSkewed", "has another time than this machine"),
            (400, "ExpiredToken", "does not accept the credentials any more: they have expired"),
            (400, "InvalidToken", "does not accept the session token"),
        ] {
            check(Some(status), code, "", "aws", &format!("the store {words} ({code})"));
        }
        let transient = "`k` in bucket `b` could not be read in 3 attempts: the store";
        check(Some(503), "Busy", "x", "sluice", &format!("{transient} says Busy: x"));
        check(None, "SlowDown", "", "sluice", &format!("{transient} says SlowDown"));
        check(Some(502), "", "", "aws", &format!("{transient} answered with HTTP status 502"));
        check(None, "InternalError", "x", "aws", &format!("{transient} says InternalError: x"));
        let refused = "the store refuses the request:";
        check(None, "InternalError", "x", "minio", &format!("{refused} InternalError: x"));
        check(None, "CastFailed", "x", "aws", &format!("{refused} CastFailed: x"));
        let damaged = "`k` in bucket `b` is damaged: TruncatedInput: x";
        check(Some(400), "TruncatedInput", "x", "aws", damaged);
        check(
            None,
            "ParquetParsingError",
            "x",
            "sluice",
            &format!("{refused} ParquetParsingError: x"),
        );
        let page = "the page at byte 9 has another checksum than was written";
        let damaged = format!("`k` in bucket `b` is damaged: ParquetParsingError: {page}");
        check(None, "ParquetParsingError", page, "sluice", &damaged);
        let overdue = format!("{refused} StatementTimeout: x");
        check(Some(400), "StatementTimeout", "x", "sluice", &overdue);
        check(Some(501), "NotImplemented", "x", "aws", &format!("{refused} NotImplemented: x"));
        check(Some(405), "", "", "aws", &format!("{refused} MethodNotAllowed: HTTP status 405"));
        check(
            Some(400),
            "AuthorizationHeaderMalformed",
            "the region 'us-east-1' is wrong; expecting 'eu-west-1'",
            "aws",
            "bucket `b` is in region eu-west-1",
        );
        check(Some(301), "", "", "aws", "bucket `b` is in another region");
        check(Some(412), "", "", "aws", "`k` in bucket `b` changed while it was being read");
    }

    /// The probe's samples include a damaged one.
    #[test]
    fn damage_is_an_answer_to_a_probe() {
        let subject = Subject { bucket: "b".to_owned(), key: "k".to_owned() };
        let error = StoreError { code: "TruncatedInput".to_owned(), ..StoreError::default() };
        let error = error.sort(&subject, &StoreCapabilities::sluice(), 1);
        let answer = NoAnswer::try_from(error).unwrap();
        assert!(matches!(answer, NoAnswer::Refused { every_statement: false, .. }), "{answer:?}");
    }
}
