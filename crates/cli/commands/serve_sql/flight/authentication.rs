//! Who may send requests.
//!
//! A client proves that it has the password once by `Handshake`, and gets a token of this server process. Every other
//! call carries the token. Calls may also carry the password itself, as `Basic` with any user name, or as `Bearer`.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use sluicegate_postgres::Password;
use tonic::Status;
use tonic::metadata::MetadataMap;

use super::bounded::random;

/// The header with the password or the token.
pub(super) const HEADER: &str = "authorization";
/// The delay of the answer to a wrong password.
const DELAY: Duration = Duration::from_secs(1);
/// The wrong passwords after which a connection is not asked again.
const MOST_FAILURES: usize = 3;
const TOKEN_BYTES: usize = 32;

/// Checks passwords and tokens.
pub(super) struct Authentication {
    password: Option<Password>,
    token: String,
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authentication")
    }
}

/// The wrong passwords of a connection. Attempts of one connection wait for each other.
pub(super) type Failures = tokio::sync::Mutex<usize>;

impl Authentication {
    /// Creates a new token.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub(super) fn new(password: Option<Password>) -> Result<Self, Status> {
        Ok(Self { password, token: URL_SAFE_NO_PAD.encode(random::<TOKEN_BYTES>()?) })
    }

    /// Returns the header that later calls may carry.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// Checks the header of a call.
    ///
    /// # Errors
    ///
    /// UNAUTHENTICATED, after a delay for a wrong password.
    pub(super) async fn check(
        &self,
        metadata: &MetadataMap,
        failures: &Failures,
    ) -> Result<(), Status> {
        let Some(password) = &self.password else { return Ok(()) };
        let header = metadata.get(HEADER).and_then(|it| it.to_str().ok());
        let Some((secret, may_be_token)) = header.and_then(secret) else {
            return Err(refused("the server needs a password"));
        };
        if may_be_token && is_same(&secret, &self.token) {
            return Ok(());
        }
        let mut failures = failures.lock().await;
        if *failures >= MOST_FAILURES {
            return Err(refused("the connection has sent too many wrong passwords"));
        }
        if password.is(&secret) {
            return Ok(());
        }
        *failures += 1;
        tokio::time::sleep(DELAY).await;
        Err(refused("the password or the token is wrong"))
    }
}

/// Returns the password or token of a header, and whether it can be a token.
fn secret(header: &str) -> Option<(String, bool)> {
    let (scheme, value) = header.split_once(' ')?;
    let value = value.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some((value.to_owned(), true));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(value).or_else(|_| STANDARD_NO_PAD.decode(value)).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (_, password) = pair.split_once(':')?;
    Some((password.to_owned(), false))
}

/// Compares digests, so that the time reveals nothing about the token.
fn is_same(one: &str, other: &str) -> bool {
    digest(&SHA256, one.as_bytes()).as_ref() == digest(&SHA256, other.as_bytes()).as_ref()
}

fn refused(why: &str) -> Status {
    Status::unauthenticated(format!(
        "{why}\nHint: Connect with any user name and the password of the server."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(authentication: &Authentication, header: Option<&str>) -> bool {
        let mut metadata = MetadataMap::new();
        if let Some(header) = header {
            metadata.insert(HEADER, header.parse().unwrap());
        }
        authentication.check(&metadata, &Failures::default()).await.is_ok()
    }

    #[tokio::test]
    async fn a_password_or_the_token_is_needed() {
        let password = Some(Password::new("open sesame").unwrap());
        let authentication = Authentication::new(password).unwrap();
        assert_eq!(format!("{authentication:?}"), "Authentication");
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        for right in [
            basic("me:open sesame"),
            basic(":open sesame").replace("Basic", "basic").trim_end_matches('=').to_owned(),
            "Bearer open sesame".to_owned(),
            authentication.bearer(),
        ] {
            assert!(check(&authentication, Some(&right)).await, "{right}");
        }
        let token = authentication.token.clone();
        for wrong in ["Basic !", "Basic", "Digest x", "", &basic("open sesame")] {
            assert!(!check(&authentication, Some(wrong)).await, "{wrong}");
        }
        assert!(!check(&authentication, Some(&basic(&format!("me:{token}")))).await);
        assert!(!check(&authentication, None).await);
        let open = Authentication::new(None).unwrap();
        assert!(check(&open, None).await && check(&open, Some("Bearer x")).await);
    }

    #[tokio::test]
    async fn a_connection_cannot_guess() {
        let authentication = Authentication::new(Some(Password::new("a").unwrap())).unwrap();
        let failures = Failures::new(MOST_FAILURES);
        let mut metadata = MetadataMap::new();
        metadata.insert(HEADER, "Bearer a".parse().unwrap());
        let error = authentication.check(&metadata, &failures).await.unwrap_err();
        assert!(error.message().contains("too many"), "{error}");
        metadata.insert(HEADER, authentication.bearer().parse().unwrap());
        authentication.check(&metadata, &failures).await.unwrap();
    }
}
