//! Figure 15: cores and bytes over the time of query 75.

use super::usage::{evaluate, runs};
use crate::Experiment;
use crate::experiment::Method;

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig15",
    title: "Use of the CPU and reading over the time of query 75",
    place: "ICPE §6.4, Figure 15",
    method: Method::Live { runs: runs::<75>, evaluate: evaluate::<75> },
};
