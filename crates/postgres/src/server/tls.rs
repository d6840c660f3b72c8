//! The certificate of a server.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
pub use tokio_rustls::server::TlsStream;

/// A certificate with its key.
#[derive(Clone)]
pub struct TlsIdentity {
    config: Arc<ServerConfig>,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsIdentity")
    }
}

/// An error of a certificate or its key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file with the certificate cannot be read.
    #[error("`{0}` is no file with a certificate in PEM: {1}")]
    Certificate(String, String),
    /// The file with the key cannot be read.
    #[error("`{0}` is no file with a private key in PEM: {1}")]
    Key(String, String),
    /// The key is not that of the certificate, or of a kind that is not supported.
    #[error("the certificate and the key cannot be used: {0}")]
    Unusable(String),
}

impl TlsIdentity {
    /// Reads a certificate, with the certificates that signed it, and its private key. Both files are in PEM.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or the key does not belong to the certificate.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let at = |path: &Path| path.display().to_string();
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| TlsError::Certificate(at(certificate), error.to_string()))?;
        if chain.is_empty() {
            let why = "it has none".to_owned();
            return Err(TlsError::Certificate(at(certificate), why));
        }
        let key = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| TlsError::Key(at(key), error.to_string()))?;
        let unusable = |error: rustls::Error| TlsError::Unusable(error.to_string());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        // Clients that begin with TLS at once name the protocol.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self { config: Arc::new(config) })
    }

    /// Returns the certificate for clients of another protocol, by the name that ALPN has for it, such as `h2`.
    #[must_use]
    pub fn for_protocol(&self, name: &str) -> Self {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![name.as_bytes().to_vec()];
        Self { config: Arc::new(config) }
    }

    /// Begins TLS on a connection.
    ///
    /// # Errors
    ///
    /// If the client and the server do not agree, or the connection ends.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        TlsAcceptor::from(Arc::clone(&self.config)).accept(stream).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_empty_files_are_named() {
        let folder = std::env::temp_dir();
        let missing = folder.join("no-such-certificate.pem");
        let error = TlsIdentity::read(&missing, &missing).unwrap_err();
        assert!(error.to_string().contains("no-such-certificate.pem"), "{error}");
    }
}
