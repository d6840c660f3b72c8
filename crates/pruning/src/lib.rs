//! Bit-exact models of a programmable switch that drops rows a query does not need.
//!
//! "Pruning" here is *switch pruning*: dropping single rows in flight, with a few stages of registers, as in Cheetah
//! (SIGMOD 2020). It is not DataFusion's `PruningPredicate`, which skips whole files and row groups before they are
//! read.
//!
//! # Invariant
//!
//! A pruner may forward a row that the query does not need, but never drops one that it needs: `Q(prune(rows)) ==
//! Q(rows)`, always for deterministic algorithms and with probability at least `1 − δ` for randomized ones. The
//! result is *superset-closed*: adding pruned rows back does not change the answer. A bad pruner therefore only makes
//! the query slower, because the query's own operator still runs behind it.
//!
//! # Layout
//!
//! * [`algorithm`]: one folder for each algorithm, including the authors' released programs, and the
//!   catalog of their names and parameters.
//! * [`switch`]: programs as plain data, the interpreter that runs them, and the check that they fit a target.
//! * [`encoding`]: the order-preserving 32-bit codes into which a worker turns keys and values.
//! * [`theory`]: every theorem as a function, exact probabilities beside the bounds, and a planner.
//! * [`deployment`]: several queries in one switch, several entries in one packet, several switches,
//!   and the best configuration that fits.
//! * [`protocol`]: reliable delivery through a switch that drops packets, simulated and model-checked.
//! * [`p4`]: programs printed as P4_16.
//! * [`experiment`]: algorithms run on streams of entries, and the paper's table of resources.
//!
//! # Example
//!
//! ```
//! use sluicegate_pruning::algorithm::distinct::{Config, Policy, Width};
//! use sluicegate_pruning::switch::{Target, fit};
//! use sluicegate_pruning::{Entries, Pruner, Selection, first_id};
//!
//! let config = Config::new(4096, 2, Width::Bits32, Policy::Lru)?;
//! let placement = fit(&config.program(), &Target::tofino1()).unwrap();
//! // One for the seeded sums of the key, one for its row, one for each column.
//! assert_eq!(placement.stages.len(), 4);
//!
//! let (mut pruner, mut selection) = (config.pruner(), Selection::new());
//! let keys = [7, 8, 7, 7, 9];
//! pruner.prune(&Entries::new(0, first_id(0), &[&keys])?, &mut selection)?;
//! assert_eq!(selection.iter().collect::<Vec<_>>(), [0, 1, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// The tests of `p4` share the list of programs with the example that prints them.
#[cfg(test)]
extern crate self as sluicegate_pruning;

#[macro_use]
mod validated_serde;

pub mod algorithm;
pub mod deployment;
pub mod encoding;
pub mod experiment;
pub mod p4;
pub mod protocol;
pub mod rng;
pub mod switch;
pub mod theory;

pub use algorithm::config::ConfigError;
pub use algorithm::entries::{Entries, Selection, UnequalColumns, first_id};
pub use algorithm::pruner::{Pruner, Verdict};
pub use algorithm::ties::Ties;
