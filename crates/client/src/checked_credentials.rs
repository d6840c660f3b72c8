//! A check of credentials before the SDK puts them into headers. The SDK panics if they have invalid characters.

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};

use super::error::Error;
use super::options::Credentials;

/// Passes on another provider's credentials. Returns an error if a header cannot hold them, or if all requests are
/// refused.
#[derive(Debug)]
pub(super) struct CheckedCredentials {
    pub(super) provider: SharedCredentialsProvider,
    /// The reason why all requests are refused.
    pub(super) refused: Option<Error>,
}

impl ProvideCredentials for CheckedCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            if let Some(refused) = &self.refused {
                return Err(CredentialsError::invalid_configuration(refused.clone()));
            }
            let found = self.provider.provide_credentials().await?;
            match Credentials::from(&found).check() {
                Ok(()) => Ok(found),
                Err(error) => Err(CredentialsError::invalid_configuration(error)),
            }
        })
    }
}
