//! What an algorithm states about itself, in the `entry.rs` of its folder.

use std::fmt;

use super::{Configured, Parameters};
use crate::ConfigError;
use crate::switch::Program;
use crate::theory::Configuration;

/// Everything that the catalog, the trials, the table of resources and `sluice switch` need to know
/// of an algorithm.
#[derive(Debug)]
pub struct Entry {
    /// The name to choose it by.
    pub name: &'static str,
    /// The parameters that it has, by the names of the fields of [`Parameters`].
    pub parameters: &'static [&'static str],
    /// What its packets carry.
    pub carries: Carries,
    /// Builds it; what is not given takes the paper's default.
    pub configure: fn(&Parameters) -> Result<Configured, ConfigError>,
    /// How it shrinks where the paper's default does not fit.
    pub sizes: Sizes,
    /// How the paper counts its resources.
    pub paper: Paper,
    /// The authors' own program, if they released one.
    pub released: Option<Released>,
}

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// A value.
    Value,
    /// A key.
    Key,
    /// A key of either table of a join; the flow says of which.
    KeyOfEither,
    /// A key and a value.
    KeyAndValue,
    /// The coordinates of a point.
    Coordinates,
}

impl Carries {
    /// How many of a packet's `values` 32-bit words are the key; it comes first.
    #[must_use]
    pub const fn key_words(self, values: usize) -> usize {
        match self {
            Self::Value | Self::Coordinates => 0,
            Self::Key | Self::KeyOfEither => values,
            Self::KeyAndValue => values.saturating_sub(1),
        }
    }
}

impl fmt::Display for Carries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Value => "a value",
            Self::Key => "a key",
            Self::KeyOfEither => "a key of either table",
            Self::KeyAndValue => "a key and a value",
            Self::Coordinates => "the coordinates",
        })
    }
}

/// The instances of an algorithm from the paper's default down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// The default only.
    Fixed,
    /// From so many columns down to 1.
    Columns(u32),
    /// From 2ᵍ rows down to 2ˡ.
    RowBits {
        /// l.
        least: u32,
        /// g.
        greatest: u32,
    },
}

impl Sizes {
    /// The parameters of each instance, the largest first.
    #[must_use]
    pub fn descending(self) -> Vec<Parameters> {
        let default = Parameters::default();
        match self {
            Self::Fixed => vec![default],
            Self::Columns(most) => (1..=most)
                .rev()
                .map(|columns| Parameters { columns: Some(columns), ..default })
                .collect(),
            Self::RowBits { least, greatest } => (least..=greatest)
                .rev()
                .map(|bits| Parameters { rows: Some(1 << bits), ..default })
                .collect(),
        }
    }
}

/// How the paper counts an algorithm's resources at its defaults.
#[derive(Debug)]
pub struct Paper {
    /// The default parameters.
    pub defaults: &'static str,
    /// The row of table 2, if it has one.
    pub table_2: Option<Table2>,
    /// Why the numbers of our program differ.
    pub reason: &'static str,
}

/// A row of table 2.
#[derive(Debug)]
pub struct Table2 {
    /// The formulas of stages, ALUs, SRAM and TCAM.
    pub formulas: [&'static str; 4],
    /// What they are evaluated for.
    pub at: Configuration,
}

/// The authors' program: see [`released`](crate::algorithm::released).
#[derive(Debug)]
pub struct Released {
    /// The parameters that it has.
    pub parameters: &'static [&'static str],
    /// Builds it; what is not given takes the authors' size.
    pub program: fn(&Parameters) -> Result<Program, ConfigError>,
}
