//! Parameters of single algorithms as data: their names, ranges and meanings.

use std::fmt;

use crate::algorithm::config::MAX_ROWS;
use crate::algorithm::rows::MOST_MAPPED;

/// A parameter as one algorithm takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterSpec {
    /// The name of the field of [`Parameters`](super::Parameters).
    pub name: &'static str,
    /// The meaning for this algorithm, with the unit.
    pub is: &'static str,
    /// The values that it may take.
    pub range: Range,
    /// The paper's default value, as text.
    pub default: &'static str,
}

/// The values that a parameter may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Any number from the least to the greatest.
    Numbers(u64, u64),
    /// A power of two from the least to the greatest.
    PowersOfTwo(u64, u64),
    /// Any number from the first to the second, or a power of two up to the third.
    Rows(u64, u64, u64),
    /// One of several words.
    OneOf(&'static [&'static str]),
    /// A flag: set or not.
    Flag,
}

impl Range {
    /// Returns true if the parameter may be this number; words and flags permit none.
    #[must_use]
    pub const fn permits(&self, value: u64) -> bool {
        self.reaches(value)
            && match *self {
                Self::PowersOfTwo(..) => value.is_power_of_two(),
                Self::Rows(_, most, _) => value <= most || value.is_power_of_two(),
                Self::Numbers(..) | Self::OneOf(_) | Self::Flag => true,
            }
    }

    /// Returns true if this number is neither below the least nor above the greatest.
    #[must_use]
    pub const fn reaches(&self, value: u64) -> bool {
        match *self {
            Self::Numbers(least, greatest)
            | Self::PowersOfTwo(least, greatest)
            | Self::Rows(least, _, greatest) => least <= value && value <= greatest,
            Self::OneOf(_) | Self::Flag => false,
        }
    }
}

impl ParameterSpec {
    /// The default of a parameter that replaces another one.
    pub(crate) const NOT_SET: &'static str = "not set";
    /// The seed that selects the hash functions.
    pub(crate) const HASH_SEED: Self = Self {
        name: "hash_seed",
        is: "which hash functions",
        range: Range::Numbers(0, u64::MAX),
        default: "0",
    };
    /// The total bits of all arrays of a Bloom filter.
    pub(crate) const FILTER_BITS: Self = Self {
        name: "filter_bits",
        is: "bits of all H arrays, M, instead of -d for each; arrays are of two sizes if H is no power of two",
        range: Range::PowersOfTwo(8, MAX_ROWS as u64),
        default: Self::NOT_SET,
    };
    /// The flag for hashing by a single CRC.
    pub(crate) const LINEAR_HASH: Self = Self {
        name: "linear_hash",
        is: "hash by a single CRC, a stage less, for keys that are hashes themselves",
        range: Range::Flag,
        default: "no",
    };
    /// The flag for an additional value that selects the row.
    pub(crate) const ROW_VALUE: Self = Self {
        name: "row_value",
        is: "packets carry one more value that selects the row, for fingerprints",
        range: Range::Flag,
        default: "no",
    };
    /// The treatment of equal values.
    pub(crate) const TIES: Self = Self {
        name: "ties",
        is: "what happens to an entry that equals a stored one",
        range: Range::OneOf(&["keep", "prune"]),
        default: "keep",
    };
    /// The choice between MAX and MIN.
    pub(crate) const EXTREME: Self = Self {
        name: "extreme",
        is: "which value of a group is computed",
        range: Range::OneOf(&["max", "min"]),
        default: "max",
    };

    /// Creates a parameter with a range of numbers.
    pub(crate) const fn numbers(
        name: &'static str,
        is: &'static str,
        least: u32,
        greatest: u32,
        default: &'static str,
    ) -> Self {
        Self { name, is, range: Range::Numbers(least as u64, greatest as u64), default }
    }

    /// Creates the size of an array, which is a power of two.
    pub(crate) const fn cells(
        name: &'static str,
        is: &'static str,
        least: u32,
        default: &'static str,
    ) -> Self {
        Self { name, is, range: Range::PowersOfTwo(least as u64, MAX_ROWS as u64), default }
    }

    /// Creates the paper's w, named `columns`.
    pub(crate) const fn columns(
        is: &'static str,
        least: u32,
        greatest: u32,
        default: &'static str,
    ) -> Self {
        Self::numbers("columns", is, least, greatest, default)
    }

    /// Creates the paper's d, named `rows`, as the size of an array.
    pub(crate) const fn rows(is: &'static str, least: u32, default: &'static str) -> Self {
        Self::cells("rows", is, least, default)
    }

    /// Creates the paper's d of a matrix whose rows are chosen by a hash.
    pub(crate) const fn matrix(default: &'static str) -> Self {
        let range = Range::Rows(2, MOST_MAPPED as u64, MAX_ROWS as u64);
        Self { name: "rows", is: "rows of the matrix", range, default }
    }

    /// Creates the constant that values are compared with.
    pub(crate) const fn threshold(
        is: &'static str,
        least: u32,
        greatest: u32,
        default: &'static str,
    ) -> Self {
        Self::numbers("threshold", is, least, greatest, default)
    }

    /// Creates the relation of a value to the constant.
    pub(crate) const fn relation(words: &'static [&'static str], default: &'static str) -> Self {
        let is = "how a value must relate to the threshold";
        Self { name: "relation", is, range: Range::OneOf(words), default }
    }

    /// Creates the width of a key.
    pub(crate) const fn key_bits(default: &'static str) -> Self {
        Self { name: "key_bits", is: "bits of a key", range: Range::OneOf(&["32", "64"]), default }
    }
}

/// Writes the line that lists of parameters show.
impl fmt::Display for ParameterSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is, range, default, .. } = self;
        match range {
            Range::Flag => f.write_str(is),
            Range::Numbers(0, u64::MAX) => write!(f, "{is}: any number [{default}]"),
            Range::Numbers(least, greatest) if least == greatest => write!(f, "{is}: {default}"),
            Range::Numbers(least, greatest) => write!(f, "{is}: {least} to {greatest} [{default}]"),
            Range::PowersOfTwo(least, greatest) => {
                write!(f, "{is}: a power of two from {least} to {greatest} [{default}]")
            }
            Range::Rows(least, most, greatest) => {
                write!(f, "{is}: {least} to {most}, or a power of two to {greatest} [{default}]")
            }
            Range::OneOf(words) => write!(f, "{is}: {} [{default}]", words.join(", ")),
        }
    }
}
