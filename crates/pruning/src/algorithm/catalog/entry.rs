//! What an algorithm states about itself, in the `entry.rs` of its folder.

use std::fmt;

use super::{Configured, Parameters, Range, Takes};
use crate::ConfigError;
use crate::deployment::Goal;
use crate::switch::Program;
use crate::theory::{Demand, Limits};

/// Everything that the catalog, the trials, the table of resources and `sluice switch` need to know
/// of an algorithm.
#[derive(Debug)]
pub struct Entry {
    /// The name to choose it by.
    pub name: &'static str,
    /// The name of the kind of query that it serves; several algorithms may serve one.
    pub query: &'static str,
    /// The same in SQL.
    pub sql: &'static str,
    /// The parameters that it has.
    pub parameters: &'static [Takes],
    /// What its packets carry.
    pub carries: Carries,
    /// Builds it; what is not given takes the paper's default.
    pub configure: fn(&Parameters) -> Result<Configured, ConfigError>,
    /// What is to be planned for its kind of query, of these sizes.
    pub goal: fn(&Wanted) -> Box<dyn Goal>,
    /// How it shrinks where the paper's default does not fit.
    pub sizes: Sizes,
    /// How the paper counts its resources.
    pub paper: Paper,
    /// The authors' own program, if they released one.
    pub released: Option<Released>,
}

impl Entry {
    /// Whether it has the parameter of this name.
    #[must_use]
    pub fn takes(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|it| it.name == parameter)
    }

    /// The parameters that it has, as a sentence lists them.
    pub(super) fn listed(&self) -> String {
        self.parameters.iter().map(|it| it.name).collect::<Vec<_>>().join(", ")
    }

    /// Its defaults, but with arrays of `cells` cells, if their size is a parameter.
    #[must_use]
    pub fn with_cells(&self, cells: u32) -> Parameters {
        let mut given = Parameters::default();
        match self
            .parameters
            .iter()
            .find(|it| matches!(it.range, Range::PowersOfTwo(..) | Range::Rows(..)))
        {
            Some(it) if it.name == "columns" => given.columns = Some(cells),
            Some(_) => given.rows = Some(cells),
            None => {}
        }
        given
    }
}

/// The sizes of a query, as a user states them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// Rows that TOP N returns.
    pub n: u64,
    /// Rows in all, or an estimate.
    pub entries: u64,
    /// Distinct keys, or a bound on them.
    pub keys: u64,
    /// Bits of a key.
    pub key_bits: u32,
    /// Bits of a value.
    pub value_bits: u32,
    /// Allowed probability of a wrong answer; 0 asks for a deterministic algorithm.
    pub delta: f64,
    /// The fraction of a join's probing rows that have a match.
    pub matching: f64,
    /// Comparisons of a filter.
    pub predicates: u32,
    /// Coordinates of a point.
    pub dimensions: u32,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            n: 250,
            entries: 10_000_000,
            keys: 10_000,
            key_bits: 32,
            value_bits: 32,
            delta: 1e-4,
            matching: 0.1,
            predicates: 1,
            dimensions: 2,
        }
    }
}

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// Values that are compared with constants.
    Comparands,
    /// A value whose order matters.
    Value,
    /// A key.
    Key,
    /// A key of either table of a join; the flow says of which.
    KeyOfEither,
    /// A key and a value whose order matters.
    KeyAndValue,
    /// A key and a value that is summed.
    KeyAndAmount,
    /// The coordinates of a point.
    Coordinates,
}

impl Carries {
    /// How many of a packet's `values` 32-bit words are the key; it comes first.
    #[must_use]
    pub const fn key_words(self, values: usize) -> usize {
        match self {
            Self::Comparands | Self::Value | Self::Coordinates => 0,
            Self::Key | Self::KeyOfEither => values,
            Self::KeyAndValue | Self::KeyAndAmount => values.saturating_sub(1),
        }
    }
}

impl fmt::Display for Carries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Comparands | Self::Value => "a value",
            Self::Key => "a key",
            Self::KeyOfEither => "a key of either table",
            Self::KeyAndValue | Self::KeyAndAmount => "a key and a value",
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
    pub at: fn(&Limits) -> Demand,
}

/// The authors' program: see [`released`](crate::algorithm::released).
#[derive(Debug)]
pub struct Released {
    /// The parameters that it has.
    pub parameters: &'static [&'static str],
    /// Builds it; what is not given takes the authors' size.
    pub program: fn(&Parameters) -> Result<Program, ConfigError>,
}
