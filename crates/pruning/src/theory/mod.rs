//! The theorems behind pruning, as functions: each with its statement, its formula and the paper's worked example.
//!
//! | statement | where | function |
//! |---|---|---|
//! | DISTINCT prunes 0.99·min(w·d/(D·e), 1) of the duplicates | 4.2 theorem 1, C theorem 6 | [`distinct::pruned_duplicates_bound`] |
//! | fingerprints for m entries | C theorem 1 | [`distinct::fingerprint_bits_by_entries`] |
//! | fingerprints for D distinct values | 5 theorem 3, C theorem 2, 3 | [`distinct::fingerprint_bits_by_distinct`] |
//! | load of the fullest row | C theorem 3 | [`max_load_bound`] |
//! | columns of TOP N | 5 theorem 1, E theorem 1 | [`top_n::paper_width`] |
//! | TOP N prunes all but w·d·ln(m·e/(w·d)) | 5 theorem 2, E theorem 2 | [`top_n::pruned_bound`] |
//! | best shape of TOP N | 5, E | [`top_n::continuous_optimum`] |
//! | false positives of BF and RBF | 4.3 | [`bloom::bloom_rate`], [`bloom::register_bloom_rate`] |
//! | error of Count-Min | 4.3 | [`count_min::guarantee`] |
//! | approximate product | D | [`skyline::log_error`] |
//! | table 2 | 6 | [`Footprint::demand`] |
//! | packets on the wire | 7.1 | [`line_rate::throughput`] |
//!
//! If an exact computation is sharper than the paper's bound, both are here ([`top_n::exact_width`],
//! [`distinct::fingerprint_bits`], [`max_load_exact`]), and [`plan()`] uses the exact one. Every query also has a
//! function for the pruning of a switch without limits (OPT): `optimal_pruned`, or [`bloom::pruned`] with a rate of
//! 0.
//!
//! Numbers of rows, entries and bits are `u64`; probabilities and fractions are `f64` in `[0, 1]`; δ is a failure
//! probability.

pub mod bloom;
pub mod confidence;
pub mod count_min;
pub mod distinct;
mod expected;
pub mod group_by;
mod lambert_w;
mod limits;
pub mod line_rate;
mod loads;
mod plan;
mod resources;
pub mod skyline;
mod statements;
mod tail;
pub mod top_n;

pub use expected::{PruningEstimate, RowStatistics};
pub use lambert_w::lambert_w;
pub use limits::Limits;
pub use loads::{ln_overload, max_load_bound, max_load_exact};
pub use plan::{Plan, PlanError, Planning, plan, plans};
pub(crate) use plan::{ROWS, fraction, narrow, narrow_values, positive, probability};
pub(crate) use resources::{Arrays, register};
pub use resources::{Demand, Footprint};
pub use statements::{Statement, statements};
pub use tail::{harmonic, ln_binomial, ln_binomial_tail, poisson, poisson_mean};
