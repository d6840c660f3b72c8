//! Bit-exact models of a programmable switch that drops rows a query does not need.
//!
//! "Pruning" here is *switch pruning*: dropping single rows in flight, with a few stages of
//! registers, as in Cheetah (SIGMOD 2020). It is not DataFusion's `PruningPredicate`, which skips
//! whole files and row groups before they are read.
//!
//! # Invariant
//!
//! A pruner may forward a row that the query does not need, and never drops one it needs:
//! `Q(prune(rows)) == Q(rows)`, always for deterministic algorithms and with probability at least
//! `1 − δ` for randomized ones. It is *superset-closed*: adding pruned rows back changes nothing.
//! So a pruner can only be wrong by being slow, and the query's own operator still runs behind it.
//!
//! # Layout
//!
//! * [`switch`]: the machine as data, and how a program runs, fits and fails to fit.
//! * One module for each algorithm: a validated `Config`, the `program` that is the definition, and
//!   a fast path that is checked against it by [`check`].
//! * [`released`]: the authors' published programs with their quirks, for comparison.
//! * [`encoding`]: what a worker does to keys and values before they are 32-bit words.
//! * [`pack`], [`multi_entry`], [`topology`]: many queries, many entries, many switches.
//! * [`p4`]: programs printed as P4_16.
//! * [`theory`]: every theorem as a function, exact probabilities beside them, and a planner.
//! * [`protocol`]: reliable delivery through a switch that drops, simulated and model-checked.
//! * [`opt`]: what a pruner without limits would forward.
//! * [`catalog`] and [`trial`]: an algorithm by its name, and what a stream shows of it.
//! * [`table2`]: the paper's table of resources beside what the programs take, and what fits together.
//!
//! # Example
//!
//! ```
//! use sluicegate_pruning::distinct::{Config, Policy, Width};
//! use sluicegate_pruning::switch::{Target, fit};
//! use sluicegate_pruning::{Entries, Pruner, Selection};
//!
//! let config = Config::new(4096, 2, Width::Bits32, Policy::Lru)?;
//! let placement = fit(&config.program(), &Target::tofino1()).unwrap();
//! assert_eq!(placement.stages.len(), 3);
//!
//! let (mut pruner, mut selection) = (config.pruner(), Selection::new());
//! let keys = [7, 8, 7, 7, 9];
//! pruner.prune(&Entries::new(0, 0, &[&keys])?, &mut selection)?;
//! assert_eq!(selection.iter().collect::<Vec<_>>(), [0, 1, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod catalog;
pub mod check;
mod config;
#[cfg(test)]
mod conformance;
pub mod distinct;
pub mod encoding;
mod entries;
pub mod filter;
pub mod group_by;
pub mod having;
pub mod join;
#[cfg(test)]
mod measured;
pub mod multi_entry;
pub mod opt;
pub mod p4;
pub mod pack;
pub mod protocol;
mod pruner;
pub mod released;
pub mod rng;
mod row_hash;
pub mod skyline;
pub mod switch;
pub mod table2;
pub mod theory;
mod ties;
pub mod top_n;
pub mod topology;
pub mod trial;

pub use config::ConfigError;
pub use entries::{Entries, Selection, UnequalColumns};
pub use pruner::{Pruner, Verdict};
pub use ties::Ties;
