//! Credentials that headers can carry: the SDK panics where it puts others into one.

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};

use super::error::Error;
use super::options::Credentials;

/// Another provider's credentials, or an error if no header can carry them or no request is to be sent.
#[derive(Debug)]
pub(super) struct CheckedCredentials {
    pub(super) provider: SharedCredentialsProvider,
    /// Why no request is to be sent.
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
