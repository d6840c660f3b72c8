//! The certificate of a server.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate with its key.
#[derive(Clone)]
pub struct TlsIdentity {
    pub(crate) acceptor: TlsAcceptor,
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
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)) })
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
