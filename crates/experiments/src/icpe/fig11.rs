//! Figure 11: the stages of query 9.

use super::gantt::{evaluate, runs};
use crate::Experiment;
use crate::experiment::Method;

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig11",
    title: "Stages of query 9, measured and estimated",
    place: "ICPE §6.4, Figure 11",
    method: Method::Live { runs: runs::<9>, evaluate: evaluate::<9> },
};
