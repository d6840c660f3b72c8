//! What a caller may set of an algorithm.

use crate::algorithm::config::{index_bits, power_of_two};
use crate::algorithm::group_by::Extreme;
use crate::algorithm::hashing::Hashing;
use crate::switch::Relation;
use crate::{ConfigError, Ties};

/// Parameters of an algorithm. `None` stands for the paper's default; [`Entry::parameters`] lists
/// those that an algorithm has.
///
/// [`Entry::parameters`]: super::Entry::parameters
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Parameters {
    /// Columns w of a matrix, tables of GROUP BY, points of SKYLINE, cutoffs of TOP N.
    pub columns: Option<u32>,
    /// Rows d of a matrix, cells of a table, words of a register Bloom filter, counters in a row.
    pub rows: Option<u32>,
    /// Hashes of a filter, rows of a sketch.
    pub hashes: Option<u32>,
    /// Rows that TOP N returns.
    pub n: Option<u32>,
    /// Bits of a key: 32 or 64.
    pub key_bits: Option<u32>,
    /// Coordinates of a point.
    pub dimensions: Option<u32>,
    /// The constant of a filter or of HAVING.
    pub threshold: Option<u32>,
    /// The relation a value must have to the constant.
    pub relation: Option<Relation>,
    /// MAX or MIN.
    pub extreme: Option<Extreme>,
    /// Whether equal values may be pruned.
    pub ties: Option<Ties>,
    /// Whether packets carry one more value that selects the row: for fingerprints.
    pub row_value: Option<bool>,
    /// Which hash functions: see [`Hashing`].
    pub hash_seed: Option<u64>,
    /// Whether keys are hashed by one CRC, a stage less: for keys that are hashes themselves.
    pub linear_hash: Option<bool>,
}

impl Parameters {
    /// Every parameter by its name, and whether it is set.
    pub(super) const fn named(&self) -> [(&'static str, bool); 13] {
        [
            ("columns", self.columns.is_some()),
            ("rows", self.rows.is_some()),
            ("hashes", self.hashes.is_some()),
            ("n", self.n.is_some()),
            ("key_bits", self.key_bits.is_some()),
            ("dimensions", self.dimensions.is_some()),
            ("threshold", self.threshold.is_some()),
            ("relation", self.relation.is_some()),
            ("extreme", self.extreme.is_some()),
            ("ties", self.ties.is_some()),
            ("row_value", self.row_value.is_some()),
            ("hash_seed", self.hash_seed.is_some()),
            ("linear_hash", self.linear_hash.is_some()),
        ]
    }

    /// The columns, or the algorithm's default.
    pub(crate) fn columns_or(&self, default: u32) -> u32 {
        self.columns.unwrap_or(default)
    }

    /// The rows, or the algorithm's default.
    pub(crate) fn rows_or(&self, default: u32) -> u32 {
        self.rows.unwrap_or(default)
    }

    /// The bits that index the rows, or the algorithm's default.
    ///
    /// # Errors
    ///
    /// If the rows are no power of two.
    pub(crate) fn row_bits_or(&self, default: u8) -> Result<u8, ConfigError> {
        match self.rows {
            None => Ok(default),
            Some(rows) => power_of_two("rows", rows).map(index_bits),
        }
    }

    /// The hashes; the paper's default is 3.
    pub(crate) fn hashes(&self) -> u32 {
        self.hashes.unwrap_or(3)
    }

    /// The rows that TOP N returns; the paper's default is 250.
    pub(crate) fn n(&self) -> u32 {
        self.n.unwrap_or(250)
    }

    /// What becomes of equal values; they are kept by default.
    pub(crate) fn ties(&self) -> Ties {
        self.ties.unwrap_or(Ties::Keep)
    }

    /// MAX or MIN; MAX by default.
    pub(crate) fn extreme(&self) -> Extreme {
        self.extreme.unwrap_or(Extreme::Max)
    }

    /// How keys are hashed; mixed, with seed 0, by default.
    ///
    /// # Errors
    ///
    /// If a seed is given for a hash that has none.
    pub(crate) fn hashing(&self) -> Result<Hashing, ConfigError> {
        match (self.linear_hash, self.hash_seed) {
            (Some(true), None) => Ok(Hashing::Linear),
            (Some(true), Some(_)) => Err(ConfigError::Conflict(
                "a linear hash has no seed: another one would only rename the places",
            )),
            (_, seed) => Ok(Hashing::Mixed { seed: seed.unwrap_or(0) }),
        }
    }

    /// Whether keys have 64 bits rather than 32.
    ///
    /// # Errors
    ///
    /// If they have another width.
    pub(crate) fn wide_or(&self, default: bool) -> Result<bool, ConfigError> {
        match self.key_bits {
            None => Ok(default),
            Some(32) => Ok(false),
            Some(64) => Ok(true),
            Some(bits) => Err(ConfigError::OutOfRange {
                what: "key bits (32 or 64)",
                value: bits.into(),
                least: 32,
                greatest: 64,
            }),
        }
    }
}
