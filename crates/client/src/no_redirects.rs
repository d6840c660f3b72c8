//! An HTTP client that sends a request to its own URL and to no other.
//!
//! The HTTP client of the object store crate follows redirects. It removes `Authorization` from a request that it
//! sends to another host, but not the session token of temporary credentials, which is in a header of S3's own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::{Connector, tls};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body::Body;

/// Sends requests, and returns redirects like any other answer. Clones share their connections.
#[derive(Debug, Clone)]
pub struct NoRedirectClient {
    connector: Arc<Connector>,
}

/// A request that got no answer, and the circumstances.
#[derive(Debug)]
pub struct SendError {
    /// True if the request can safely be sent again: no connection was made, so the store has not seen it.
    pub unseen: bool,
    /// True if the connection timed out.
    pub late: bool,
    /// True if the connection broke, or was closed without an answer. The store may have executed the request.
    pub broken: bool,
    source: ConnectorError,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("error sending request")
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Creates a connector that uses the proxies of the environment.
fn connector(connect_timeout: Duration) -> Connector {
    let tls = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    let settings = HttpConnectorSettings::builder().connect_timeout(connect_timeout).build();
    Connector::builder()
        .tls_provider(tls)
        .connector_settings(settings)
        .proxy_config(ProxyConfig::from_env())
        .build()
}

/// Creates an HTTP client for the SDK, whose own connections do not use proxies.
pub(crate) fn http_client(connect_timeout: Duration) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(connector(connect_timeout));
    http_client_fn(move |_, _| connector.clone())
}

impl NoRedirectClient {
    /// Creates a client that uses the proxies of the environment.
    #[must_use]
    pub fn new(connect_timeout: Duration) -> Self {
        Self { connector: Arc::new(connector(connect_timeout)) }
    }

    /// Sends a request to its URL.
    ///
    /// # Errors
    ///
    /// If there is no answer, because the store cannot be reached or the connection breaks.
    pub async fn send<B>(
        &self,
        request: http::Request<B>,
    ) -> Result<http::Response<SdkBody>, SendError>
    where
        B: Body<Data = Bytes> + Send + Sync + 'static,
        B::Error: Into<aws_smithy_types::body::Error> + 'static,
    {
        let request = HttpRequest::try_from(request.map(SdkBody::from_body_1_x));
        let request = request.map_err(|e| not_sent(ConnectorError::user(e.into())))?;
        let answer = self.connector.call(request).await.map_err(not_sent)?;
        answer.try_into_http1x().map_err(|e| not_sent(ConnectorError::other(e.into(), None)))
    }
}

fn not_sent(source: ConnectorError) -> SendError {
    let text = {
        let mut text = String::new();
        let mut next = Some(&source as &(dyn std::error::Error + 'static));
        while let Some(error) = next {
            text.push_str(&error.to_string());
            next = error.source();
        }
        text
    };
    let unseen = text.contains("(Connect)");
    // The store may close a kept-alive connection just before it is reused, usually before the request arrives.
    let broken = source.is_io() || source.as_other().is_some();
    SendError { unseen, late: source.is_timeout(), broken, source }
}
