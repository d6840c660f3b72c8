//! Figure 16: the stages of query 75.

use super::gantt::{evaluate, runs};
use crate::Experiment;
use crate::experiment::Method;

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig16",
    title: "Stages of query 75, measured and estimated",
    place: "ICPE §6.4, Figure 16",
    method: Method::Live { runs: runs::<75>, evaluate: evaluate::<75> },
};
