//! What is asked about keys, in numbers and as conditions.

use std::fmt;

use sluicegate_costmodel::Terms;

use super::bloom::Shape;
use super::hashing::Hashing;
use crate::choice::Why;
use crate::datasource::s3_select::Filter;
use crate::profile::BLOOM_CONTAINS;

/// What is asked about the keys of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Likely {
    /// A value between two others.
    Between {
        /// How many values of its type there are between them, of one that counts.
        values: Option<f64>,
    },
    /// One of so many.
    OneOf(usize),
    /// One in a Bloom filter.
    Hashed {
        /// How the store looks into it.
        hashing: Hashing,
        /// How many are in it.
        keys: usize,
        /// Its bits.
        bits: u64,
        /// The probability of a wrong yes that was asked for.
        wanted: f64,
        /// The one that fits.
        sent: f64,
    },
}

impl Likely {
    /// What the store evaluates per row for it.
    #[must_use]
    pub fn terms(&self) -> Terms {
        match self {
            Self::Between { .. } | Self::OneOf(_) => 2.into(),
            Self::Hashed { hashing: Hashing::Binary, .. } => BLOOM_CONTAINS.into(),
            Self::Hashed { hashing: Hashing::Substring, sent, .. } => {
                Terms { probes: f64::from(Shape::new(1, *sent).slices), ..Terms::NONE }
            }
        }
    }

    /// The constants of its list.
    #[must_use]
    pub fn constants(&self) -> u64 {
        match self {
            Self::OneOf(keys) => *keys as u64,
            Self::Between { .. } | Self::Hashed { .. } => 0,
        }
    }
}

/// What is asked about keys.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// The conditions.
    pub filters: Vec<Filter>,
    /// What they are, by column.
    pub columns: Vec<(String, Likely)>,
    /// Why only bounds are asked for of some columns, where more was wanted.
    pub only_bounds: Vec<(String, Why)>,
    /// Why nothing is asked about some columns.
    pub refused: Vec<(String, Why)>,
}

/// `bloom on k (27200 keys, 260715 bits, p = 0.01)`, or
/// `bounds on k (no more: the store has no SUBSTRING)`
impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (column, likely) in &self.columns {
            parts.push(match likely {
                Likely::Between { .. } => {
                    match self.only_bounds.iter().find(|(name, _)| name == column) {
                        Some((_, why)) => format!("bounds on {column} (no more: {why})"),
                        None => format!("bounds on {column}"),
                    }
                }
                Likely::OneOf(keys) => format!("list on {column} ({keys} keys)"),
                Likely::Hashed { hashing, keys, bits, wanted, sent } => {
                    let bloom = match hashing {
                        Hashing::Binary => "binary bloom",
                        Hashing::Substring => "bloom",
                    };
                    let p = match wanted == sent {
                        true => format!("p = {sent}"),
                        false => format!("p = {sent:.4}, {wanted} does not fit"),
                    };
                    format!("{bloom} on {column} ({keys} keys, {bits} bits, {p})")
                }
            });
        }
        for (column, why) in &self.refused {
            parts.push(format!("nothing on {column}: {why}"));
        }
        f.write_str(&parts.join("; "))
    }
}

impl Sent {
    /// The probability that a row passes whose key in a column is not wanted, but lies between
    /// those that are.
    #[must_use]
    pub fn wrong_yes(&self, column: &str) -> f64 {
        match self.columns.iter().find(|(name, _)| name == column) {
            None | Some((_, Likely::Between { .. })) => 1.0,
            Some((_, Likely::OneOf(_))) => 0.0,
            Some((_, Likely::Hashed { sent, .. })) => *sent,
        }
    }

    /// The least probability of a wrong yes of its Bloom filters, if there are any.
    #[must_use]
    pub fn least_p(&self) -> Option<f64> {
        let each = self.columns.iter().filter_map(|(_, likely)| match likely {
            Likely::Hashed { sent, .. } => Some(*sent),
            Likely::Between { .. } | Likely::OneOf(_) => None,
        });
        each.reduce(f64::min)
    }

    /// Whether all keys of a column are in it, with no more wrong yeses than are wanted.
    #[must_use]
    pub fn has_all(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, likely)| {
            name == column
                && match likely {
                    Likely::Between { .. } => false,
                    Likely::OneOf(_) => true,
                    Likely::Hashed { wanted, sent, .. } => wanted == sent,
                }
        })
    }

    /// The same with something else about a column.
    #[must_use]
    pub fn with(&self, column: &str, likely: Likely) -> Self {
        let mut with = self.clone();
        with.columns.retain(|(name, _)| name != column);
        with.refused.retain(|(name, _)| name != column);
        with.only_bounds.retain(|(name, _)| name != column);
        with.columns.push((column.to_owned(), likely));
        with
    }

    /// The share of the rows that pass, if the keys are `keys` of `domain` that the column has.
    #[must_use]
    pub fn share(&self, domain: Option<f64>) -> f64 {
        /// Of rows whose keys lie between those that are wanted, if they do not count.
        const BETWEEN: f64 = 0.9;
        /// Of rows whose key is wanted, if nobody knows how many there are.
        const UNKNOWN: f64 = 0.2;
        let of = |keys: usize| match domain {
            Some(domain) => (keys as f64 / domain.max(1.0)).min(1.0),
            None => UNKNOWN,
        };
        let shares = self.columns.iter().map(|(_, likely)| match likely {
            // At most one row in `domain` has each of the values between.
            Likely::Between { values } => match (values, domain) {
                (Some(values), Some(domain)) => (values / domain.max(1.0)).min(1.0),
                _ => BETWEEN,
            },
            Likely::OneOf(keys) => of(*keys),
            Likely::Hashed { keys, sent, .. } => of(*keys) + (1.0 - of(*keys)) * sent,
        });
        shares.fold(1.0, f64::min)
    }
}
