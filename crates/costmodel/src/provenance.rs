//! The provenance of numbers: counted, measured, modelled or published.

use std::borrow::Cow;
use std::fmt;

/// The origin of a number. Every number shown to a user carries one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provenance {
    /// Counted while it happened (bytes, requests, rows), so it is exact.
    Counted,
    /// Measured by a clock on this machine.
    Measured,
    /// Computed from the constants of the named hardware profile.
    Modelled(Cow<'static, str>),
    /// Taken from the named publication or price list.
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

/// A number with its provenance, shown as `7.24 GiB (counted)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    /// The number itself.
    pub value: T,
    /// The origin of the number.
    pub provenance: Provenance,
}

impl<T> Sourced<T> {
    /// Marks a number as counted.
    pub fn counted(value: T) -> Self {
        Self { value, provenance: Provenance::Counted }
    }

    /// Marks a number as measured.
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
