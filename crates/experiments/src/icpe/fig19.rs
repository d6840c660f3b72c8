//! Figure 19: the stages of query 4.

use super::gantt::{evaluate, runs};
use crate::Experiment;
use crate::experiment::Method;

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig19",
    title: "Stages of query 4, measured and estimated",
    place: "ICPE §6.4, Figure 19",
    method: Method::Live { runs: runs::<4>, evaluate: evaluate::<4> },
};
