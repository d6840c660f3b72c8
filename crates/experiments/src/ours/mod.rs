//! Experiments that no paper has.

use crate::Experiment;

/// The experiments.
pub static EXPERIMENTS: &[Experiment] = &[];
