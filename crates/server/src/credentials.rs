//! The access key pair of a server.

use std::fmt;

use s3s::auth::{S3Auth, SecretKey};
use s3s::{S3Result, s3_error};

use crate::error::Error;

/// The key pair with which requests must be signed.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
}

impl Credentials {
    /// Generates a pair of 20 and 40 characters, like those of AWS.
    pub(crate) fn random() -> Result<Self, Error> {
        Ok(Self { access_key: random_text(20)?, secret_key: random_text(40)? })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl S3Auth for Credentials {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        if access_key == self.access_key {
            Ok(self.secret_key.clone().into())
        } else {
            Err(s3_error!(InvalidAccessKeyId))
        }
    }
}

/// Generates letters and digits that cannot be guessed.
pub(crate) fn random_text(length: usize) -> Result<String, Error> {
    // 32 letters and digits, so that five bits of a byte pick one without bias.
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes).map_err(|_| Error::NoRandomness)?;
    Ok(bytes.iter().map(|b| char::from(ALPHABET[usize::from(b & 31)])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_differ_and_secrets_stay_secret() {
        let (a, b) = (Credentials::random().unwrap(), Credentials::random().unwrap());
        assert_ne!(a.access_key, b.access_key);
        assert_ne!(a.secret_key, b.secret_key);
        assert_eq!((a.access_key.len(), a.secret_key.len()), (20, 40));
        assert!(!format!("{a:?}").contains(&a.secret_key));
    }
}
