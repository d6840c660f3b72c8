//! Figure 10: cores and bytes over the time of query 9.

use super::usage::{evaluate, runs};
use crate::Experiment;
use crate::experiment::Method;

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig10",
    title: "Use of the CPU and reading over the time of query 9",
    place: "ICPE §6.4, Figure 10",
    method: Method::Live { runs: runs::<9>, evaluate: evaluate::<9> },
};
