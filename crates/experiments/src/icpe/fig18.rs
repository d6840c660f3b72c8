//! Figure 18: cores and bytes over the time of query 4.

use super::usage::{evaluate, runs};
use crate::Experiment;
use crate::experiment::Method;

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig18",
    title: "Use of the CPU and reading over the time of query 4",
    place: "ICPE §6.4, Figure 18",
    method: Method::Live { runs: runs::<4>, evaluate: evaluate::<4> },
};
