//! The conditions on keys that are sent, with their expected effect.

use std::fmt;

use sluicegate_costmodel::Terms;

use super::bloom::Shape;
use super::hashing::Hashing;
use crate::context::choice::Reason;
use crate::estimate::demand::BLOOM_CONTAINS;
use crate::scan::s3_select::Filter;

/// The condition on the keys of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum PushedKeyFilter {
    /// A value between two bounds.
    Between {
        /// The number of values between the bounds, for a countable type.
        values: Option<f64>,
    },
    /// A list of so many keys.
    OneOf(usize),
    /// A Bloom filter of keys.
    Hashed {
        /// The way in which the store evaluates the filter.
        hashing: Hashing,
        /// The number of keys in the filter.
        keys: usize,
        /// The bits of the filter.
        bits: u64,
        /// The requested false-positive rate.
        wanted: f64,
        /// The false-positive rate that fits.
        sent: f64,
    },
}

impl PushedKeyFilter {
    /// Returns the terms that the store evaluates per row.
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

    /// Returns the constants of the list.
    #[must_use]
    pub fn constants(&self) -> u64 {
        match self {
            Self::OneOf(keys) => *keys as u64,
            Self::Between { .. } | Self::Hashed { .. } => 0,
        }
    }
}

/// The conditions on keys of one statement.
#[derive(Debug, Clone, Default)]
pub struct PushedKeys {
    /// The conditions as filters.
    pub filters: Vec<Filter>,
    /// The conditions by column.
    pub columns: Vec<(String, PushedKeyFilter)>,
    /// The columns for which only bounds are sent although more was requested, with the reason.
    pub only_bounds: Vec<(String, Reason)>,
    /// The columns for which nothing is sent, with the reason.
    pub refused: Vec<(String, Reason)>,
}

/// For example `bloom on k (27200 keys, 260715 bits, p = 0.01)`, or `bounds on k (no more: the store has no
/// SUBSTRING)`.
impl fmt::Display for PushedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (column, likely) in &self.columns {
            parts.push(match likely {
                PushedKeyFilter::Between { .. } => {
                    match self.only_bounds.iter().find(|(name, _)| name == column) {
                        Some((_, why)) => format!("bounds on {column} (no more: {why})"),
                        None => format!("bounds on {column}"),
                    }
                }
                PushedKeyFilter::OneOf(keys) => format!("list on {column} ({keys} keys)"),
                PushedKeyFilter::Hashed { hashing, keys, bits, wanted, sent } => {
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

impl PushedKeys {
    /// Returns the probability that a row passes whose value in a column is no key but lies between the bounds of the
    /// keys.
    #[must_use]
    pub fn wrong_yes(&self, column: &str) -> f64 {
        match self.columns.iter().find(|(name, _)| name == column) {
            None | Some((_, PushedKeyFilter::Between { .. })) => 1.0,
            Some((_, PushedKeyFilter::OneOf(_))) => 0.0,
            Some((_, PushedKeyFilter::Hashed { sent, .. })) => *sent,
        }
    }

    /// Returns the least false-positive rate of the Bloom filters, if there are any.
    #[must_use]
    pub fn least_p(&self) -> Option<f64> {
        let each = self.columns.iter().filter_map(|(_, likely)| match likely {
            PushedKeyFilter::Hashed { sent, .. } => Some(*sent),
            PushedKeyFilter::Between { .. } | PushedKeyFilter::OneOf(_) => None,
        });
        each.reduce(f64::min)
    }

    /// Returns true if the condition on a column contains all keys at the requested false-positive rate.
    #[must_use]
    pub fn has_all(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, likely)| {
            name == column
                && match likely {
                    PushedKeyFilter::Between { .. } => false,
                    PushedKeyFilter::OneOf(_) => true,
                    PushedKeyFilter::Hashed { wanted, sent, .. } => wanted == sent,
                }
        })
    }

    /// Replaces the condition on a column.
    #[must_use]
    pub fn with(&self, column: &str, likely: PushedKeyFilter) -> Self {
        let mut with = self.clone();
        with.columns.retain(|(name, _)| name != column);
        with.refused.retain(|(name, _)| name != column);
        with.only_bounds.retain(|(name, _)| name != column);
        with.columns.push((column.to_owned(), likely));
        with
    }

    /// Returns the expected share of the rows that pass, if a column has so many different values as `domain` returns.
    #[must_use]
    pub fn share(&self, domain: impl Fn(&str) -> Option<f64>) -> f64 {
        /// The share of rows between the bounds of the keys, if their values are not countable.
        const BETWEEN: f64 = 0.9;
        /// The share of rows that match a key, if the number of values is unknown.
        const UNKNOWN: f64 = 0.2;
        let shares = self.columns.iter().map(|(column, likely)| {
            let domain = domain(column);
            let of = |keys: usize| match domain {
                Some(domain) => (keys as f64 / domain.max(1.0)).min(1.0),
                None => UNKNOWN,
            };
            match likely {
                // Each of the values between the bounds occurs in at most one of `domain` rows.
                PushedKeyFilter::Between { values } => match (values, domain) {
                    (Some(values), Some(domain)) => (values / domain.max(1.0)).min(1.0),
                    _ => BETWEEN,
                },
                PushedKeyFilter::OneOf(keys) => of(*keys),
                PushedKeyFilter::Hashed { keys, sent, .. } => of(*keys) + (1.0 - of(*keys)) * sent,
            }
        });
        shares.fold(1.0, f64::min)
    }
}
