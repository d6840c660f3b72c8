//! Conversion of the SDK's errors to the client's.

use std::error::Error as StdError;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::types::error::SelectObjectContentEventStreamError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::event_stream::{Message, RawMessage};

use super::Client;
use super::error::{Error, StoreError, Subject};
use super::proxy::{Proxy, proxy_of, without_port};
use sluicegate_s3select::capabilities::StoreCapabilities;

impl Client {
    /// Converts an error of a request whose answer did not begin.
    pub(super) fn sort_request_error<E>(
        &self,
        error: SdkError<E, HttpResponse>,
        subject: &Subject,
    ) -> Error
    where
        E: StdError + ProvideErrorMetadata + 'static,
    {
        let attempts = self.shared.request_attempts;
        if let Some(response) = error.raw_response() {
            let region = response.headers().get("x-amz-bucket-region");
            let said = error.as_service_error();
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            let store_error = StoreError {
                status: Some(response.status().as_u16()),
                region: region.filter(|region| *region != self.region()).map(str::to_owned),
                code: text(said.and_then(ProvideErrorMetadata::code)),
                message: text(said.and_then(ProvideErrorMetadata::message)),
            };
            // Only buckets are checked for web pages. A proxy may refuse a statement with a page, and a GET then
            // shows the actual fault.
            let is_page = subject.key.is_empty()
                && response.headers().get("content-type").is_some_and(|it| it.contains("html"));
            if response.status().is_success() {
                return match is_page {
                    true => self.no_store("it answers with a web page".to_owned()),
                    false => subject.transient(attempts, chain(&error)),
                };
            }
            let is_client_error = response.status().is_client_error();
            return match store_error.status {
                Some(status) if is_page && is_client_error && store_error.code.is_empty() => {
                    self.no_store(format!("it answers with a web page, HTTP status {status}"))
                }
                _ => store_error.sort(subject, self.profile(), attempts),
            };
        }
        if let Some(unusable) = find::<Error>(&error) {
            return unusable.clone();
        }
        if find::<CredentialsError>(&error).is_some() {
            return self.no_credentials();
        }
        match error {
            SdkError::ConstructionFailure(_) => {
                Error::Refused { code: "InvalidRequest".to_owned(), message: chain(&error) }
            }
            _ => self.unreachable(chain(&error)),
        }
    }

    /// Classifies a failed connection by the message of the library that reported it.
    fn unreachable(&self, reason: String) -> Error {
        // The connection that failed was to the proxy.
        if let Some(Proxy { variable, address }) =
            proxy_of(self.endpoint().unwrap_or("https://s3.amazonaws.com"))
        {
            return Error::NoProxy { variable, address, reason };
        }
        match self.endpoint() {
            Some(url) if reason.contains("failed to lookup address") => {
                Error::NoHost { host: host(url).to_owned() }
            }
            // Plain text from a server is not a valid TLS message.
            Some(url) if reason.contains("InvalidContentType") => {
                Error::NoTls { endpoint: url.to_owned() }
            }
            _ => Error::Unreachable { endpoint: self.place(), reason },
        }
    }

    pub(super) fn no_store(&self, why: String) -> Error {
        Error::NoStore { endpoint: self.place(), why }
    }
}

/// Returns the host of a URL, without its port.
fn host(url: &str) -> &str {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
    without_port(host)
}

/// The reaction to an answer that broke off.
#[derive(Debug)]
pub(super) enum Failure {
    /// Send the request again. The reason becomes part of the message if all attempts fail.
    Again(String),
    /// Give up with this error.
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Transient { reason, .. } => Self::Again(reason),
            error @ (Error::NoHost { .. } | Error::NoProxy { .. } | Error::Unreachable { .. }) => {
                Self::Again(error.to_string())
            }
            error => Self::Final(error),
        }
    }
}

/// Converts an error partway through an answer. The SDK has no decoder for S3's error frames (`:message-type: error`)
/// and reports them as messages that it could not unmarshall.
pub(super) fn sort_stream_error(
    error: &SdkError<SelectObjectContentEventStreamError, RawMessage>,
    subject: &Subject,
    profile: &StoreCapabilities,
) -> Failure {
    let store_error = match error {
        SdkError::ResponseError(response) => match response.raw() {
            RawMessage::Decoded(message) if header(message, ":message-type") == "error" => {
                StoreError {
                    code: header(message, ":error-code").to_owned(),
                    message: header(message, ":error-message").to_owned(),
                    ..StoreError::default()
                }
            }
            RawMessage::Decoded(_) => return Failure::Final(subject.bad_answer(chain(error))),
            // A wrong checksum, a malformed frame, or an incomplete frame at the end.
            _ => return Failure::Again(format!("a damaged answer: {}", chain(error))),
        },
        SdkError::ServiceError(service) => StoreError {
            code: service.err().code().unwrap_or_default().to_owned(),
            message: service.err().message().unwrap_or_default().to_owned(),
            ..StoreError::default()
        },
        _ => return Failure::Again(format!("the connection broke: {}", chain(error))),
    };
    store_error.sort(subject, profile, 1).into()
}

fn header<'a>(message: &'a Message, name: &str) -> &'a str {
    let header = message.headers().iter().find(|header| header.name().as_str() == name);
    header.and_then(|header| header.value().as_string().ok()).map_or("", |text| text.as_str())
}

/// Joins the messages of an error and its causes, without those that add no information.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        let empty = matches!(
            text.as_str(),
            "dispatch failure" | "response error" | "io error" | "other" | "client error (Connect)"
        );
        let repeated = texts.last().is_some_and(|last| last.ends_with(&text));
        next = error.source();
        // The innermost message is kept in any case.
        if !repeated && (!empty || (next.is_none() && texts.is_empty())) {
            texts.push(text);
        }
    }
    texts.join(": ")
}

fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
