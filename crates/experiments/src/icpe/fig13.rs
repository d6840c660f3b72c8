//! Figure 13: cores and bytes over the time of query 44.

use super::usage::{evaluate, runs};
use crate::Experiment;
use crate::experiment::Method;

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig13",
    title: "Use of the CPU and reading over the time of query 44",
    place: "ICPE §6.4, Figure 13",
    method: Method::Live { runs: runs::<44>, evaluate: evaluate::<44> },
};
