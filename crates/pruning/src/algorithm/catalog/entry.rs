//! The description of an algorithm, which the `entry.rs` of its folder provides.

use std::fmt;

use super::{Configured, ParameterSpec, Parameters, Range};
use crate::ConfigError;
use crate::deployment::Goal;
use crate::switch::Program;
use crate::theory::{Demand, Limits};

/// The parameter-independent facts about an algorithm, for the catalog, the trials, the table of resources and
/// `sluice switch`.
#[derive(Debug)]
pub struct Entry {
    /// The name by which the algorithm is chosen.
    pub name: &'static str,
    /// The name of the kind of query that the algorithm serves; several algorithms may serve one.
    pub query: &'static str,
    /// The kind of query in SQL.
    pub sql: &'static str,
    /// Whether the answer is always the same, as in the paper's appendix A.1.
    pub guarantee: Guarantee,
    /// The parameters of the algorithm.
    pub parameters: &'static [ParameterSpec],
    /// The values that its packets carry.
    pub carries: PacketContents,
    /// Configures the algorithm; missing parameters take the paper's defaults.
    pub configure: fn(&Parameters) -> Result<Configured, ConfigError>,
    /// Returns the planning goal for its kind of query at these sizes.
    pub goal: fn(&QuerySize) -> Box<dyn Goal>,
    /// The smaller sizes to try if the paper's default does not fit.
    pub sizes: Sizes,
    /// The paper's count of its resources.
    pub paper: Paper,
    /// The authors' own program, if they released one.
    pub released: Option<Released>,
}

impl Entry {
    /// Returns true if the algorithm has the parameter of this name.
    #[must_use]
    pub fn takes(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|it| it.name == parameter)
    }

    /// Lists the names of its parameters, separated by commas.
    pub(super) fn listed(&self) -> String {
        self.parameters.iter().map(|it| it.name).collect::<Vec<_>>().join(", ")
    }

    /// Returns default parameters, but with arrays of `cells` cells if their size is a parameter.
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

/// The certainty that pruning leaves an answer unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarantee {
    /// The answer never changes.
    Deterministic,
    /// The answer never changes if packets carry the keys themselves. If they carry fingerprints of keys, it changes
    /// with a probability that the length of the fingerprints bounds.
    Fingerprints,
    /// The answer changes with a probability that the configuration bounds.
    Probabilistic,
}

impl Guarantee {
    /// Returns the guarantee of the paper's algorithm: it counts DISTINCT as probabilistic.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deterministic => "deterministic",
            Self::Fingerprints => "probabilistic for fingerprints",
            Self::Probabilistic => "probabilistic",
        }
    }
}

/// The sizes of a query that a user states for planning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuerySize {
    /// The number of rows that TOP N returns.
    pub n: u64,
    /// The number of rows in all, or an estimate.
    pub entries: u64,
    /// The number of distinct keys, or a bound on it.
    pub keys: u64,
    /// The width of a key in bits.
    pub key_bits: u32,
    /// The width of a value in bits.
    pub value_bits: u32,
    /// The allowed probability of a wrong answer; 0 requires a deterministic algorithm.
    pub delta: f64,
    /// The fraction of a join's probing rows that have a match.
    pub matching: f64,
    /// The number of comparisons in a filter.
    pub predicates: u32,
    /// The number of coordinates of a point.
    pub dimensions: u32,
}

impl Default for QuerySize {
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

/// The values that a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketContents {
    /// Values that are compared with constants.
    Comparands,
    /// A value whose order matters.
    Value,
    /// A key, in one word or two.
    Key,
    /// A key of either table of a join; the flow identifies the table.
    KeyOfEither,
    /// A key and a value whose order matters.
    KeyAndValue,
    /// A key and a value that is summed.
    KeyAndAmount,
    /// The coordinates of a point.
    Coordinates,
}

impl PacketContents {
    /// Returns how many of a packet's `values` 32-bit words are the key, which comes first.
    #[must_use]
    pub const fn key_words(self, values: usize) -> usize {
        match self {
            Self::Comparands | Self::Value | Self::Coordinates => 0,
            Self::Key | Self::KeyOfEither => values,
            Self::KeyAndValue | Self::KeyAndAmount => values.saturating_sub(1),
        }
    }
}

impl fmt::Display for PacketContents {
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

/// The sizes to try for an algorithm, from the paper's default down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// Only the default size.
    Fixed,
    /// From this many columns down to 1.
    Columns(u32),
    /// From 2ᵍ rows down to 2ˡ.
    RowBits {
        /// The exponent l of the smallest size.
        least: u32,
        /// The exponent g of the greatest size.
        greatest: u32,
    },
}

impl Sizes {
    /// Returns the parameters of each size, the largest first.
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

/// The paper's count of an algorithm's resources at its defaults.
#[derive(Debug)]
pub struct Paper {
    /// The default parameters, as the paper writes them.
    pub defaults: &'static str,
    /// The row of table 2, if it has one.
    pub table_2: Option<Table2>,
    /// The reason why the numbers of our program differ.
    pub reason: &'static str,
}

/// A row of table 2.
#[derive(Debug)]
pub struct Table2 {
    /// The formulas of stages, ALUs, SRAM and TCAM.
    pub formulas: [&'static str; 4],
    /// Evaluates the formulas at the defaults, for a switch with these limits.
    pub at: fn(&Limits) -> Demand,
}

/// The authors' program: see [`published`](crate::algorithm::published).
#[derive(Debug)]
pub struct Released {
    /// The names of the program's parameters.
    pub parameters: &'static [&'static str],
    /// Builds the program; missing parameters take the authors' sizes.
    pub program: fn(&Parameters) -> Result<Program, ConfigError>,
}
