//! What a worker says of itself.

use std::hash::{BuildHasher, RandomState};
use std::process;

use crate::VERSION;

/// Its version, and a number by which it is known under each of its URLs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) version: String,
    number: String,
}

impl Identity {
    /// Of a new worker of this version.
    pub(crate) fn new() -> Self {
        let number = RandomState::new().hash_one(process::id());
        Self { version: VERSION.to_owned(), number: format!("{number:016x}") }
    }

    /// As it is sent.
    pub(crate) fn to_text(&self) -> String {
        format!("{} {}", self.version, self.number)
    }

    /// What was sent.
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
