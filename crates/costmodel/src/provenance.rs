//! What a number rests on.

use std::borrow::Cow;
use std::fmt;

/// What a number rests on. Every number shown to a user carries one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provenance {
    /// Counted while it happened: bytes, requests, rows. Exact.
    Counted,
    /// Measured here by a clock.
    Measured,
    /// Computed from the constants of a hardware profile, named.
    Modelled(Cow<'static, str>),
    /// Taken from a publication or a price list, named.
    Published(Cow<'static, str>),
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted => f.write_str("counted"),
            Self::Measured => f.write_str("measured"),
            Self::Modelled(profile) => write!(f, "modelled for {profile}"),
            Self::Published(source) => write!(f, "published: {source}"),
        }
    }
}

/// A number together with what it rests on. Shown as `7.24 GiB (counted)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    /// The number.
    pub value: T,
    /// What it rests on.
    pub provenance: Provenance,
}

impl<T> Sourced<T> {
    /// A number that was counted.
    pub fn counted(value: T) -> Self {
        Self { value, provenance: Provenance::Counted }
    }

    /// A number that was measured.
    pub fn measured(value: T) -> Self {
        Self { value, provenance: Provenance::Measured }
    }
}

impl<T: fmt::Display> fmt::Display for Sourced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.value, self.provenance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    #[test]
    fn a_number_says_what_it_rests_on() {
        assert_eq!(Sourced::counted(Bytes(10)).to_string(), "10 B (counted)");
        let modelled = Sourced { value: 2, provenance: Provenance::Modelled("paper".into()) };
        assert_eq!(modelled.to_string(), "2 (modelled for paper)");
        assert_eq!(Provenance::Published("ICDE".into()).to_string(), "published: ICDE");
    }
}
