//! PushdownDB (Yu et al., ICDE 2020).
//!
//! Experiments here are evaluated at the paper's sizes, with the profile `paper`: its client, its link and S3 as they
//! were measured. `paper.rs` has the sizes.

pub mod fig1;
pub mod fig4;
pub mod fig8;
mod filter;
mod paper;
pub mod table1;
pub mod table2;

use crate::Experiment;

/// The experiments of this paper.
pub static EXPERIMENTS: &[Experiment] =
    &[table1::EXPERIMENT, table2::EXPERIMENT, fig1::EXPERIMENT, fig4::EXPERIMENT, fig8::EXPERIMENT];
