//! Figure 14: the stages of query 44.

use super::gantt::{evaluate, runs};
use crate::Experiment;
use crate::experiment::Method;

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig14",
    title: "Stages of query 44, measured and estimated",
    place: "ICPE §6.4, Figure 14",
    method: Method::Live { runs: runs::<44>, evaluate: evaluate::<44> },
};
