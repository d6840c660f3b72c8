//! "Modeling Analytics for Computational Storage" (Lagrange et al., ICPE 2020).

pub mod date_dim;
pub mod fig4_5;

use crate::Experiment;

/// The experiments of this paper.
pub static EXPERIMENTS: &[Experiment] = &[fig4_5::EXPERIMENT, date_dim::EXPERIMENT];
