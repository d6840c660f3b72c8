//! The identity that a worker reports to a coordinator.

use std::hash::{BuildHasher, RandomState};
use std::process;

use crate::VERSION;

/// A worker's version and a random number. The number reveals that two URLs are those of one worker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) version: String,
    number: String,
}

impl Identity {
    /// Creates an identity of this version with a new number.
    pub(crate) fn new() -> Self {
        let number = RandomState::new().hash_one(process::id());
        Self { version: VERSION.to_owned(), number: format!("{number:016x}") }
    }

    /// Encodes the identity for sending.
    pub(crate) fn to_text(&self) -> String {
        format!("{} {}", self.version, self.number)
    }

    /// Decodes an identity. A text without a number is only a version.
    pub(crate) fn read(text: &str) -> Self {
        let (version, number) = text.split_once(' ').unwrap_or((text, ""));
        Self { version: version.to_owned(), number: number.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_differ() {
        let (one, other) = (Identity::new(), Identity::new());
        assert_ne!(one, other);
        assert_eq!(Identity::read(&one.to_text()), one);
        assert_eq!(Identity::read("0.0.7").version, "0.0.7");
    }
}
