//! The token that a coordinator must send with its plans.

use std::fmt;

use http::HeaderValue;
use tonic::{Request, Status};

/// The header that holds the token.
const HEADER: &str = "authorization";

/// A secret that the coordinator and the workers share. Anyone with the token can read with a worker's credentials.
#[derive(Clone)]
pub struct Token {
    value: HeaderValue,
}

impl Token {
    /// The length limit of tokens, in bytes. HTTP servers accept headers of a few kilobytes.
    pub const MOST_BYTES: usize = 4096;

    /// Creates a token of visible ASCII characters. `None` if the text has other characters, is empty, or is longer
    /// than [`Token::MOST_BYTES`].
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        if text.is_empty()
            || text.len() > Self::MOST_BYTES
            || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return None;
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).ok()?;
        value.set_sensitive(true);
        Some(Self { value })
    }

    /// Adds the token to a request.
    pub(crate) fn sign<T>(&self, request: &mut http::Request<T>) {
        request.headers_mut().insert(HEADER, self.value.clone());
    }

    /// Refuses a request that has no token, or another one.
    pub(crate) fn check(&self, request: &Request<()>) -> Result<(), Status> {
        let given = request.metadata().get(HEADER).map(|value| value.as_encoded_bytes());
        match given {
            Some(given) if same(given, self.value.as_bytes()) => Ok(()),
            Some(_) => Err(Status::unauthenticated("the worker has another token")),
            None => Err(Status::unauthenticated("the worker wants a token")),
        }
    }
}

/// Compares two byte strings in a time that does not depend on where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_passes() {
        let token = Token::new("secret").unwrap();
        let check = |given: Option<&str>| {
            let mut request = Request::new(());
            if let Some(given) = given {
                request.metadata_mut().insert(HEADER, given.parse().unwrap());
            }
            token.check(&request).is_ok()
        };
        assert!(check(Some("Bearer secret")));
        for other in [None, Some("secret"), Some("Bearer secres"), Some("Bearer secret "), Some("")]
        {
            assert!(!check(other), "{other:?}");
        }
        assert!(!format!("{token:?}").contains("secret"));
        for no in ["", "two words", "ümlaut", "line\n"] {
            assert!(Token::new(no).is_none(), "{no:?}");
        }
        assert!(Token::new(&"x".repeat(Token::MOST_BYTES)).is_some());
        assert!(Token::new(&"x".repeat(Token::MOST_BYTES + 1)).is_none());
    }
}
