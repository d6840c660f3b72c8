//! The algorithms by name, for those who choose one at run time.
//!
//! ```
//! use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
//!
//! let distinct: Algorithm = "distinct".parse()?;
//! let configured = distinct.configure(&Parameters { columns: Some(4), ..Parameters::default() })?;
//! assert_eq!(configured.program().name, "distinct");
//! // What an algorithm does not have is refused, with what it has.
//! let odd = distinct.configure(&Parameters { hashes: Some(3), ..Parameters::default() });
//! assert!(odd.is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{distinct, filter, group_by, skyline};
use crate::algorithm::distinct::{Policy, Width};
use crate::algorithm::filter::Formula;
use crate::algorithm::group_by::Extreme;
use crate::algorithm::having::{extreme, sum};
use crate::algorithm::join::{Kind, Passes, Shape, bloom, register_bloom};
use crate::algorithm::released;
use crate::algorithm::skyline::Score;
use crate::algorithm::top_n::{deterministic, randomized};
use crate::switch::{Program, Relation};
use crate::{ConfigError, Pruner, Ties};

/// An algorithm of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// WHERE: a comparison.
    Filter,
    /// DISTINCT, the least recently seen key leaves.
    Distinct,
    /// DISTINCT, first in, first out.
    DistinctFifo,
    /// TOP N by cutoffs that double.
    TopNDeterministic,
    /// TOP N by the greatest values of random rows.
    TopNRandomized,
    /// GROUP BY with MAX or MIN.
    GroupBy,
    /// JOIN with a Bloom filter.
    JoinBloom,
    /// JOIN with a register Bloom filter.
    JoinRegisterBloom,
    /// HAVING SUM or COUNT, by Count-Min.
    Having,
    /// HAVING MAX or MIN.
    HavingExtreme,
    /// SKYLINE, points ordered by their sum.
    SkylineSum,
    /// SKYLINE, points ordered by their approximate product.
    SkylineProduct,
    /// SKYLINE, the first points stay.
    SkylineBaseline,
}

/// Parameters; what is `None` takes the paper's default. [`Algorithm::parameters`] says which an
/// algorithm has.
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
    /// How a value must relate to the constant.
    pub relation: Option<Relation>,
    /// MAX or MIN.
    pub extreme: Option<Extreme>,
    /// Whether equal values may be pruned.
    pub ties: Option<Ties>,
    /// Packets have one more value that chooses the row: for fingerprints.
    pub row_value: Option<bool>,
}

/// Parameters that an algorithm cannot take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// A name that is no algorithm.
    #[error("`{0}` is no algorithm: they are {names}", names = names())]
    Unknown(String),
    /// It has no such parameter.
    #[error("{algorithm} has no parameter {parameter}: it has {known}")]
    Unused {
        /// The algorithm.
        algorithm: Algorithm,
        /// What was given.
        parameter: &'static str,
        /// What it has.
        known: String,
    },
    /// Nothing of the kind was released.
    #[error(
        "the authors released no program for {0}: they did for filter, distinct, top-n-deterministic, group-by, join-bloom and skyline-sum"
    )]
    NotReleased(Algorithm),
    /// A parameter out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

fn names() -> String {
    let (last, rest) = match Algorithm::ALL.split_last() {
        Some((last, rest)) => (last.name(), rest),
        None => ("none", &[][..]),
    };
    let rest: Vec<&str> = rest.iter().map(|algorithm| algorithm.name()).collect();
    format!("{} and {last}", rest.join(", "))
}

impl Algorithm {
    /// All, in the order of the paper.
    pub const ALL: [Self; 13] = [
        Self::Filter,
        Self::Distinct,
        Self::DistinctFifo,
        Self::SkylineSum,
        Self::SkylineProduct,
        Self::SkylineBaseline,
        Self::TopNDeterministic,
        Self::TopNRandomized,
        Self::GroupBy,
        Self::JoinBloom,
        Self::JoinRegisterBloom,
        Self::Having,
        Self::HavingExtreme,
    ];

    /// The name to choose it by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Distinct => "distinct",
            Self::DistinctFifo => "distinct-fifo",
            Self::TopNDeterministic => "top-n-deterministic",
            Self::TopNRandomized => "top-n-randomized",
            Self::GroupBy => "group-by",
            Self::JoinBloom => "join-bloom",
            Self::JoinRegisterBloom => "join-register-bloom",
            Self::Having => "having",
            Self::HavingExtreme => "having-extreme",
            Self::SkylineSum => "skyline-sum",
            Self::SkylineProduct => "skyline-aph",
            Self::SkylineBaseline => "skyline-baseline",
        }
    }

    /// Which parameters it has, by the names of the fields of [`Parameters`].
    #[must_use]
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Filter => &["threshold", "relation"],
            Self::Distinct => &["columns", "rows", "key_bits", "row_value"],
            Self::DistinctFifo => &["columns", "rows", "row_value"],
            Self::TopNDeterministic => &["n", "columns"],
            Self::TopNRandomized => &["n", "columns", "rows", "ties"],
            Self::GroupBy => &["columns", "rows", "key_bits", "extreme", "ties"],
            Self::JoinBloom | Self::JoinRegisterBloom => &["rows", "hashes", "key_bits"],
            Self::Having => &["rows", "hashes", "threshold", "key_bits"],
            Self::HavingExtreme => &["columns", "rows", "threshold", "relation"],
            Self::SkylineSum | Self::SkylineProduct | Self::SkylineBaseline => {
                &["columns", "dimensions", "ties"]
            }
        }
    }

    /// What a packet carries.
    #[must_use]
    pub const fn carries(self) -> &'static str {
        match self {
            Self::Filter | Self::TopNDeterministic | Self::TopNRandomized => "a value",
            Self::Distinct | Self::DistinctFifo => "a key",
            Self::JoinBloom | Self::JoinRegisterBloom => "a key of either table",
            Self::GroupBy | Self::Having | Self::HavingExtreme => "a key and a value",
            Self::SkylineSum | Self::SkylineProduct | Self::SkylineBaseline => "the coordinates",
        }
    }

    fn refuse_unused(self, given: &Parameters) -> Result<(), CatalogError> {
        let set = [
            ("columns", given.columns.is_some()),
            ("rows", given.rows.is_some()),
            ("hashes", given.hashes.is_some()),
            ("n", given.n.is_some()),
            ("key_bits", given.key_bits.is_some()),
            ("dimensions", given.dimensions.is_some()),
            ("threshold", given.threshold.is_some()),
            ("relation", given.relation.is_some()),
            ("extreme", given.extreme.is_some()),
            ("ties", given.ties.is_some()),
            ("row_value", given.row_value.is_some()),
        ];
        match set.into_iter().find(|(name, set)| *set && !self.parameters().contains(name)) {
            Some((parameter, _)) => {
                let known = self.parameters().join(", ");
                Err(CatalogError::Unused { algorithm: self, parameter, known })
            }
            None => Ok(()),
        }
    }

    /// The algorithm with these parameters.
    ///
    /// # Errors
    ///
    /// If it has no such parameter, or one is out of range.
    pub fn configure(self, given: &Parameters) -> Result<Configured, CatalogError> {
        self.refuse_unused(given)?;
        let wide = match given.key_bits {
            None => self == Self::Distinct,
            Some(32) => false,
            Some(64) => true,
            Some(bits) => {
                let (value, least, greatest) = (bits.into(), 32, 64);
                return Err(ConfigError::OutOfRange {
                    what: "key bits (32 or 64)",
                    value,
                    least,
                    greatest,
                }
                .into());
            }
        };
        let columns = |default| given.columns.unwrap_or(default);
        let rows = |default| given.rows.unwrap_or(default);
        let ties = given.ties.unwrap_or(Ties::Keep);
        let shape = Shape::new(Kind::Inner, Passes::SmallFirst, wide);
        let threshold = given.threshold.unwrap_or(DEFAULT_THRESHOLD);
        Ok(match self {
            Self::Filter => {
                let relation = given.relation.unwrap_or(Relation::Lt);
                let formula = Formula::compare(0, relation, given.threshold.unwrap_or(10));
                Configured::Filter(filter::Config::new(&formula, 1, None)?)
            }
            Self::Distinct | Self::DistinctFifo => {
                let policy = if self == Self::Distinct { Policy::Lru } else { Policy::Fifo };
                let width = if wide { Width::Bits64 } else { Width::Bits32 };
                let config = distinct::Config::new(rows(4096), columns(2), width, policy)?;
                let split = given.row_value == Some(true);
                Configured::Distinct(if split { config.with_row_value() } else { config })
            }
            Self::TopNDeterministic => {
                let config = deterministic::Config::new(given.n.unwrap_or(250), columns(4))?;
                Configured::TopNDeterministic(config)
            }
            Self::TopNRandomized => {
                let config = randomized::Config::new(rows(4096), columns(4), ties, 0)?;
                Configured::TopNRandomized(config, given.n.unwrap_or(250))
            }
            Self::GroupBy => {
                let extreme = given.extreme.unwrap_or(Extreme::Max);
                let config = group_by::Config::new(rows(4096), columns(8), extreme, ties, wide)?;
                Configured::GroupBy(config, extreme)
            }
            Self::JoinBloom => {
                let hashes = given.hashes.unwrap_or(3);
                Configured::JoinBloom(bloom::Config::new(shape, rows(1 << 23), hashes)?)
            }
            Self::JoinRegisterBloom => {
                let hashes = given.hashes.unwrap_or(3);
                let config = register_bloom::Config::new(shape, rows(1 << 19), hashes, 16)?;
                Configured::JoinRegisterBloom(config)
            }
            Self::Having => {
                let (sketch, counters) = (given.hashes.unwrap_or(3), rows(1024));
                let sum = sum::Aggregate::Sum;
                Configured::Having(sum::Config::new(sketch, counters, threshold, sum, wide)?)
            }
            Self::HavingExtreme => {
                let relation = given.relation.unwrap_or(Relation::Gt);
                let config = extreme::Config::new(relation, threshold, rows(4096), columns(2))?;
                Configured::HavingExtreme(config, relation, threshold)
            }
            Self::SkylineSum | Self::SkylineProduct | Self::SkylineBaseline => {
                let score = match self {
                    Self::SkylineSum => Score::Sum,
                    Self::SkylineProduct => Score::Product,
                    _ => Score::First,
                };
                let dimensions = given.dimensions.unwrap_or(2);
                Configured::Skyline(skyline::Config::new(dimensions, columns(10), score, ties)?)
            }
        })
    }

    /// The authors' program with its quirks, with their own sizes: see [`released`].
    ///
    /// # Errors
    ///
    /// If they released none, or the parameters are not those that it has: `threshold` of the
    /// filter, `n` of TOP N, and `rows` of the others, a power of two.
    pub fn released(self, given: &Parameters) -> Result<Program, CatalogError> {
        let known: &[&str] = match self {
            Self::Filter => &["threshold"],
            Self::TopNDeterministic => &["n"],
            Self::Distinct | Self::GroupBy | Self::JoinBloom => &["rows"],
            Self::SkylineSum => &[],
            _ => return Err(CatalogError::NotReleased(self)),
        };
        let taken = Parameters {
            threshold: given.threshold.filter(|_| known.contains(&"threshold")),
            n: given.n.filter(|_| known.contains(&"n")),
            rows: given.rows.filter(|_| known.contains(&"rows")),
            ..Parameters::default()
        };
        if taken != *given {
            return Err(ConfigError::Conflict(
                "the released programs have fixed sizes: only the filter's threshold, the n of TOP N and the rows of distinct, group-by and join-bloom can be set",
            )
            .into());
        }
        let bits = |default: u8| match given.rows {
            None => Ok(default),
            Some(rows) => crate::algorithm::config::power_of_two("rows", rows)
                .map(crate::algorithm::config::index_bits),
        };
        Ok(match self {
            Self::Filter => released::filter(given.threshold.unwrap_or(10)),
            Self::TopNDeterministic => released::top_n(given.n.unwrap_or(250)),
            Self::Distinct => released::distinct(bits(16)?, released::Repairs::default()),
            Self::GroupBy => released::group_by(bits(17)?),
            Self::JoinBloom => released::join(bits(17)?),
            _ => released::skyline(released::Compiler::Intended),
        })
    }
}

/// The threshold of HAVING if none is given.
const DEFAULT_THRESHOLD: u32 = 1_000_000;

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = CatalogError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|a| a.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| CatalogError::Unknown(name.to_owned()))
    }
}

/// An algorithm with its parameters, and what the query asks that its program does not hold.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Configured {
    /// WHERE.
    Filter(filter::Config),
    /// DISTINCT.
    Distinct(distinct::Config),
    /// TOP N with cutoffs.
    TopNDeterministic(deterministic::Config),
    /// TOP N randomized, and the rows that it returns.
    TopNRandomized(randomized::Config, u32),
    /// GROUP BY, and which value is the best.
    GroupBy(group_by::Config, Extreme),
    /// JOIN with a Bloom filter.
    JoinBloom(bloom::Config),
    /// JOIN with a register Bloom filter.
    JoinRegisterBloom(register_bloom::Config),
    /// HAVING SUM or COUNT.
    Having(sum::Config),
    /// HAVING MAX or MIN, with relation and threshold.
    HavingExtreme(extreme::Config, Relation, u32),
    /// SKYLINE.
    Skyline(skyline::Config),
}

impl Configured {
    /// The program.
    #[must_use]
    pub fn program(&self) -> Program {
        match self {
            Self::Filter(config) => config.program(),
            Self::Distinct(config) => config.program(),
            Self::TopNDeterministic(config) => config.program(),
            Self::TopNRandomized(config, _) => config.program(),
            Self::GroupBy(config, _) => config.program(),
            Self::JoinBloom(config) => config.program(),
            Self::JoinRegisterBloom(config) => config.program(),
            Self::Having(config) => config.program(),
            Self::HavingExtreme(config, _, _) => config.program(),
            Self::Skyline(config) => config.program(),
        }
    }

    /// The fast path.
    #[must_use]
    pub fn pruner(&self) -> Box<dyn Pruner> {
        match self {
            Self::Filter(config) => Box::new(config.pruner()),
            Self::Distinct(config) => Box::new(config.pruner()),
            Self::TopNDeterministic(config) => Box::new(config.pruner()),
            Self::TopNRandomized(config, _) => Box::new(config.pruner()),
            Self::GroupBy(config, _) => Box::new(config.pruner()),
            Self::JoinBloom(config) => Box::new(config.pruner()),
            Self::JoinRegisterBloom(config) => Box::new(config.pruner()),
            Self::Having(config) => Box::new(config.pruner()),
            Self::HavingExtreme(config, _, _) => Box::new(config.pruner()),
            Self::Skyline(config) => Box::new(config.pruner()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_name_and_the_papers_defaults() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
            let configured = algorithm.configure(&Parameters::default()).unwrap();
            let program = configured.program();
            assert_eq!(program.validate(), Ok(()));
            assert_eq!(configured.pruner().values(), usize::from(program.values), "{algorithm}");
        }
        let unknown = "distinkt".parse::<Algorithm>().unwrap_err().to_string();
        assert!(unknown.contains("distinct-fifo") && unknown.contains(" and "), "{unknown}");
    }

    #[test]
    fn parameters_are_taken_or_refused() {
        for algorithm in Algorithm::ALL {
            for (name, given) in [
                ("columns", Parameters { columns: Some(2), ..Parameters::default() }),
                ("rows", Parameters { rows: Some(64), ..Parameters::default() }),
                ("hashes", Parameters { hashes: Some(2), ..Parameters::default() }),
                ("n", Parameters { n: Some(9), ..Parameters::default() }),
                ("key_bits", Parameters { key_bits: Some(32), ..Parameters::default() }),
                ("dimensions", Parameters { dimensions: Some(3), ..Parameters::default() }),
                ("threshold", Parameters { threshold: Some(5), ..Parameters::default() }),
                ("relation", Parameters { relation: Some(Relation::Ge), ..Parameters::default() }),
                ("extreme", Parameters { extreme: Some(Extreme::Min), ..Parameters::default() }),
                ("ties", Parameters { ties: Some(Ties::Prune), ..Parameters::default() }),
                ("row_value", Parameters { row_value: Some(true), ..Parameters::default() }),
            ] {
                let configured = algorithm.configure(&given);
                if algorithm.parameters().contains(&name) {
                    assert!(configured.is_ok(), "{algorithm}, {name}: {configured:?}");
                } else {
                    let refused = configured.unwrap_err();
                    assert!(matches!(refused, CatalogError::Unused { .. }), "{refused}");
                }
            }
        }
    }

    #[test]
    fn what_was_released_can_be_had() {
        let default = Parameters::default();
        let released = Algorithm::ALL.into_iter().filter(|a| a.released(&default).is_ok()).count();
        assert_eq!(released, 6);
        let sized = Parameters { rows: Some(256), ..default };
        let program = Algorithm::Distinct.released(&sized).unwrap();
        assert!(program.registers.iter().all(|register| register.size == 256));
        assert!(Algorithm::Distinct.released(&Parameters { columns: Some(2), ..default }).is_err());
        assert!(matches!(
            Algorithm::Having.released(&default),
            Err(CatalogError::NotReleased(Algorithm::Having))
        ));
    }
}
