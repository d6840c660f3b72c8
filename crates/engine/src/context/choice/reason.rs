//! The reason why a strategy is not possible.

use std::borrow::Cow;
use std::fmt;

/// The reason why a strategy is not possible: a clause without a full stop, such as `the store has no S3 Select`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// Makes a reason of a clause.
    #[must_use]
    pub fn new(clause: impl Into<Cow<'static, str>>) -> Self {
        Self(clause.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&'static str> for Reason {
    fn from(clause: &'static str) -> Self {
        Self::new(clause)
    }
}

impl From<String> for Reason {
    fn from(clause: String) -> Self {
        Self::new(clause)
    }
}
