//! The algorithms, each with its parameters.

use std::fmt;

use sluicegate_pruning::Pruner;
use sluicegate_pruning::algorithm::{distinct, filter, group_by, having, join, skyline, top_n};
use sluicegate_pruning::switch::Program;

/// What runs in the switch: an algorithm of the `pruning` crate with its parameters, as plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Algorithm {
    /// WHERE.
    Filter(filter::Config),
    /// SELECT DISTINCT.
    Distinct(distinct::Config),
    /// ORDER BY … LIMIT, always right.
    TopNDeterministic(top_n::deterministic::Config),
    /// ORDER BY … LIMIT, right with probability 1 − δ.
    TopNRandomized(top_n::randomized::Config),
    /// GROUP BY with MIN or MAX.
    GroupBy(group_by::Config, group_by::Extreme),
    /// JOIN with a Bloom filter.
    Bloom(join::bloom::Config),
    /// JOIN with a register Bloom filter.
    RegisterBloom(join::register_bloom::Config),
    /// HAVING SUM or COUNT above a threshold.
    HavingSum(having::sum::Config),
    /// HAVING MAX above, or MIN below, a threshold.
    HavingExtreme(having::extreme::Config),
    /// SKYLINE OF.
    Skyline(skyline::Config),
}

impl Algorithm {
    /// The program.
    #[must_use]
    pub fn program(&self) -> Program {
        match self {
            Self::Filter(config) => config.program(),
            Self::Distinct(config) => config.program(),
            Self::TopNDeterministic(config) => config.program(),
            Self::TopNRandomized(config) => config.program(),
            Self::GroupBy(config, _) => config.program(),
            Self::Bloom(config) => config.program(),
            Self::RegisterBloom(config) => config.program(),
            Self::HavingSum(config) => config.program(),
            Self::HavingExtreme(config) => config.program(),
            Self::Skyline(config) => config.program(),
        }
    }

    /// A switch that just started.
    #[must_use]
    pub fn pruner(&self) -> Box<dyn Pruner> {
        match self {
            Self::Filter(config) => Box::new(config.pruner()),
            Self::Distinct(config) => Box::new(config.pruner()),
            Self::TopNDeterministic(config) => Box::new(config.pruner()),
            Self::TopNRandomized(config) => Box::new(config.pruner()),
            Self::GroupBy(config, _) => Box::new(config.pruner()),
            Self::Bloom(config) => Box::new(config.pruner()),
            Self::RegisterBloom(config) => Box::new(config.pruner()),
            Self::HavingSum(config) => Box::new(config.pruner()),
            Self::HavingExtreme(config) => Box::new(config.pruner()),
            Self::Skyline(config) => Box::new(config.pruner()),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(c) => {
                let kept = c.truth_table().iter().filter(|keep| **keep).count();
                write!(f, "filter(truth_table={kept}/{})", c.truth_table().len())
            }
            Self::Distinct(c) => {
                write!(f, "distinct(rows={}, columns={})", c.rows(), c.columns())
            }
            Self::TopNDeterministic(c) => {
                write!(f, "top_n_deterministic(n={}, cutoffs={})", c.n(), c.cutoffs())
            }
            Self::TopNRandomized(c) => {
                write!(f, "top_n_randomized(rows={}, columns={})", c.rows(), c.columns())
            }
            Self::GroupBy(c, extreme) => {
                let extreme = match extreme {
                    group_by::Extreme::Max => "max",
                    group_by::Extreme::Min => "min",
                };
                write!(f, "group_by_{extreme}(cells={}, tables={})", c.cells(), c.tables())
            }
            Self::Bloom(c) => {
                write!(f, "join_bloom(arrays={}, bits={})", c.hashes(), c.cells())
            }
            Self::RegisterBloom(c) => {
                write!(f, "join_register_bloom(words={}, hashes={})", c.words(), c.hashes())
            }
            Self::HavingSum(c) => write!(
                f,
                "having_sum(rows={}, counters={}, threshold={})",
                c.rows(),
                c.counters(),
                c.threshold()
            ),
            Self::HavingExtreme(_) => f.write_str("having_extreme"),
            Self::Skyline(c) => {
                let score = match c.score() {
                    skyline::Score::Sum => "sum",
                    skyline::Score::Product => "product",
                    skyline::Score::First => "first",
                };
                write!(f, "skyline(points={}, score={score})", c.points())
            }
        }
    }
}
