//! SCRAM-SHA-256 (RFC 5802, RFC 7677): the server's side.
//!
//! The server keeps no password, only keys derived from it. A client proves that it has the password without sending
//! it. Channel binding is not offered.

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

use crate::error::{SqlError, state};

/// The mechanism's name.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// Rounds of the key derivation, as in PostgreSQL.
const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095);
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 18;
/// Most characters of a password.
const MOST_CHARACTERS: usize = 1024;

/// An error of a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// The password is empty.
    #[error("the password is empty")]
    Empty,
    /// The password is too long.
    #[error("the password has more than 1,024 characters")]
    TooLong,
    /// The password has characters that clients may encode differently.
    #[error("the password has characters other than the printable ones of ASCII")]
    NotAscii,
    /// The system has no random numbers.
    #[error("the system returns no random numbers")]
    NoRandomness,
}

/// The keys derived from a password.
#[derive(Clone)]
pub struct Password {
    salt: Vec<u8>,
    iterations: NonZeroU32,
    stored_key: [u8; 32],
    server_key: [u8; 32],
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl Password {
    /// Derives the keys, with a new salt.
    ///
    /// # Errors
    ///
    /// If the password is empty, is longer than 1,024 characters, or has other characters than the printable ones of
    /// ASCII, which clients may normalise differently.
    pub fn new(password: &str) -> Result<Self, PasswordError> {
        if password.is_empty() {
            return Err(PasswordError::Empty);
        }
        if password.len() > MOST_CHARACTERS {
            return Err(PasswordError::TooLong);
        }
        if !password.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(PasswordError::NotAscii);
        }
        let salt = random::<SALT_BYTES>()?;
        Ok(Self::derive(password, salt.to_vec(), ITERATIONS))
    }

    fn derive(password: &str, salt: Vec<u8>, iterations: NonZeroU32) -> Self {
        let mut salted = [0; 32];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, iterations, &salt, password.as_bytes(), &mut salted);
        let client_key = sign(&salted, b"Client Key");
        let server_key = sign(&salted, b"Server Key");
        Self { salt, iterations, stored_key: sha256(&client_key), server_key }
    }

    /// Returns true if this is the password, for protocols whose clients send it. It takes some milliseconds.
    #[must_use]
    pub fn is(&self, password: &str) -> bool {
        // The comparison is between digests, so its time reveals nothing about the password.
        // HMAC pads keys with NUL, so that passwords with NULs at their end would be equal to those without.
        password.len() <= MOST_CHARACTERS
            && !password.contains('\0')
            && Self::derive(password, self.salt.clone(), self.iterations).stored_key
                == self.stored_key
    }

    /// Answers the client's first message. Returns the answer and the state for the client's second message.
    ///
    /// # Errors
    ///
    /// If the message is none of SCRAM, or demands channel binding.
    pub fn first(&self, message: &[u8]) -> Result<(String, Exchange<'_>), SqlError> {
        let nonce = random::<NONCE_BYTES>()
            .map_err(|error| SqlError::fatal(state::INTERNAL_ERROR, error.to_string()))?;
        self.first_with(message, &STANDARD.encode(nonce))
    }

    fn first_with(&self, message: &[u8], nonce: &str) -> Result<(String, Exchange<'_>), SqlError> {
        let message = std::str::from_utf8(message).map_err(|_| malformed())?;
        let mut parts = message.splitn(3, ',');
        let mut part = || parts.next().ok_or_else(malformed);
        let (flag, authorization, bare) = (part()?, part()?, part()?);
        match flag {
            "n" | "y" => {}
            _ => {
                return Err(SqlError::fatal(
                    state::INVALID_AUTHORIZATION,
                    "channel binding is not supported",
                ));
            }
        }
        if !authorization.is_empty() && !authorization.starts_with("a=") {
            return Err(malformed());
        }
        // `n=` is a name, which PostgreSQL's clients leave empty; `r=` is the client's nonce.
        let mut attributes = bare.split(',');
        let name = attributes.next().ok_or_else(malformed)?;
        let theirs =
            attributes.next().and_then(|it| it.strip_prefix("r=")).ok_or_else(malformed)?;
        if !name.starts_with("n=") || theirs.is_empty() {
            return Err(malformed());
        }
        let nonce = format!("{theirs}{nonce}");
        let salt = STANDARD.encode(&self.salt);
        let answer = format!("r={nonce},s={salt},i={}", self.iterations);
        let header = format!("{flag},{authorization},");
        let signed = format!("{bare},{answer},");
        Ok((answer, Exchange { password: self, header, nonce, signed }))
    }
}

/// An exchange after its first message.
#[derive(Debug)]
pub struct Exchange<'a> {
    password: &'a Password,
    /// The beginning of the client's first message.
    header: String,
    nonce: String,
    /// The messages so far, which both sides sign.
    signed: String,
}

impl Exchange<'_> {
    /// Checks the client's second message. Returns the server's proof, or `None` if the password is wrong.
    ///
    /// # Errors
    ///
    /// If the message is none of SCRAM.
    pub fn last(&self, message: &[u8]) -> Result<Option<String>, SqlError> {
        let message = std::str::from_utf8(message).map_err(|_| malformed())?;
        let (unproved, proof) = message.rsplit_once(",p=").ok_or_else(malformed)?;
        let proof = STANDARD.decode(proof).map_err(|_| malformed())?;
        let proof: [u8; 32] = proof.try_into().map_err(|_| malformed())?;
        let mut attributes = unproved.split(',');
        let binding =
            attributes.next().and_then(|it| it.strip_prefix("c=")).ok_or_else(malformed)?;
        let nonce = attributes.next().and_then(|it| it.strip_prefix("r=")).ok_or_else(malformed)?;
        if binding != STANDARD.encode(&self.header) || nonce != self.nonce {
            return Err(malformed());
        }
        let signed = format!("{}{unproved}", self.signed);
        let mut key = sign(&self.password.stored_key, signed.as_bytes());
        key.iter_mut().zip(proof).for_each(|(byte, proof)| *byte ^= proof);
        // The comparison is between digests, so its time reveals nothing about the key.
        if sha256(&key) != self.password.stored_key {
            return Ok(None);
        }
        let proof = sign(&self.password.server_key, signed.as_bytes());
        Ok(Some(format!("v={}", STANDARD.encode(proof))))
    }
}

fn malformed() -> SqlError {
    SqlError::protocol("a message of the authentication is malformed")
}

fn random<const N: usize>() -> Result<[u8; N], PasswordError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| PasswordError::NoRandomness)?;
    Ok(bytes)
}

/// Returns a random number, as the secret of a session.
///
/// # Errors
///
/// If the system has none.
pub fn random_number() -> Result<i32, PasswordError> {
    random().map(i32::from_be_bytes)
}

fn sign(key: &[u8], message: &[u8]) -> [u8; 32] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    fixed(tag.as_ref())
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    fixed(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// SHA-256 has 32 bytes.
fn fixed(bytes: &[u8]) -> [u8; 32] {
    let mut fixed = [0; 32];
    fixed.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    fixed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn the_exchange_of_the_rfc_succeeds() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let password = Password::derive("pencil", salt, ITERATIONS);
        let (answer, exchange) = password
            .first_with(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
            .unwrap();
        assert_eq!(
            answer,
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=";
        let proof =
            exchange.last(format!("{last}dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").as_bytes());
        let expected = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".to_owned();
        assert_eq!(proof.unwrap(), Some(expected));
        let wrong =
            exchange.last(format!("{last}dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVA=").as_bytes());
        assert_eq!(wrong.unwrap(), None);
    }

    #[test]
    fn channel_binding_and_other_exchanges_are_refused() {
        let password = Password::new("secret").unwrap();
        for first in
            ["p=tls-server-end-point,,n=,r=abc", "n,,r=abc", "n,,n=,r=", "n", "x,,n=,r=a", ""]
        {
            password.first(first.as_bytes()).unwrap_err();
        }
        let (answer, exchange) = password.first(b"n,,n=,r=abc").unwrap();
        let nonce = answer[2..].split(',').next().unwrap();
        let zeros = STANDARD.encode([0; 32]);
        assert_eq!(exchange.last(format!("c=biws,r={nonce},p={zeros}").as_bytes()).unwrap(), None);
        // `eSws` is the header `y,,`, which the client did not send.
        exchange.last(format!("c=eSws,r={nonce},p={zeros}").as_bytes()).unwrap_err();
        exchange.last(format!("c=biws,r=abc,p={zeros}").as_bytes()).unwrap_err();
        exchange.last(format!("c=biws,r={nonce},p=AAAA").as_bytes()).unwrap_err();
    }

    #[test]
    fn passwords_are_printable_and_stay_secret() {
        assert_eq!(Password::new("").unwrap_err(), PasswordError::Empty);
        assert_eq!(Password::new("pässwort").unwrap_err(), PasswordError::NotAscii);
        assert_eq!(Password::new("a\n").unwrap_err(), PasswordError::NotAscii);
        assert_eq!(Password::new(&"x".repeat(1025)).unwrap_err(), PasswordError::TooLong);
        let password = Password::new("secret").unwrap();
        assert_eq!(format!("{password:?}"), "Password");
        assert!(password.is("secret") && !password.is("Secret") && !password.is(""));
    }

    proptest! {
        #[test]
        fn any_message_is_answered_or_refused(first in "[npy,=ra]{0,20}", last in "[cprb,=i]{0,30}") {
            let password = Password::derive("secret", vec![1; 16], NonZeroU32::MIN);
            let _ = password.first(first.as_bytes());
            let (_, exchange) = password.first(b"n,,n=,r=abc").unwrap();
            prop_assert!(!matches!(exchange.last(last.as_bytes()), Ok(Some(_))));
        }
    }
}
