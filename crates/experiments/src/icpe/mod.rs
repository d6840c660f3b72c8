//! "Modeling Analytics for Computational Storage" (Lagrange et al., ICPE 2020).
//!
//! `tpcds` has the data and the commands, which the experiments share. `paper` has the printed tables. `ranking`,
//! `stages`, `models`, `plans` and `selectivity` read the outputs; `gantt` and `usage` draw figures of one kind.

pub mod date_dim;
pub mod errata;
pub mod fig10;
pub mod fig11;
pub mod fig12;
pub mod fig13;
pub mod fig14;
pub mod fig15;
pub mod fig16;
pub mod fig17;
pub mod fig18;
pub mod fig19;
pub mod fig2;
pub mod fig3;
pub mod fig4_5;
pub mod fig8;
pub mod fig9;
mod gantt;
mod models;
mod paper;
mod plans;
mod ranking;
mod samples;
mod selectivity;
pub mod setup;
mod stages;
pub mod table2;
pub mod table3;
mod tpcds;
mod usage;
pub mod what_if;

use crate::Experiment;

/// The experiments of this paper.
pub static EXPERIMENTS: &[Experiment] = &[
    setup::EXPERIMENT,
    fig2::EXPERIMENT,
    fig3::EXPERIMENT,
    fig4_5::EXPERIMENT,
    fig8::EXPERIMENT,
    table2::EXPERIMENT,
    fig9::EXPERIMENT,
    table3::EXPERIMENT,
    fig10::EXPERIMENT,
    fig11::EXPERIMENT,
    fig12::EXPERIMENT,
    fig13::EXPERIMENT,
    fig14::EXPERIMENT,
    fig15::EXPERIMENT,
    fig16::EXPERIMENT,
    fig17::EXPERIMENT,
    fig18::EXPERIMENT,
    fig19::EXPERIMENT,
    date_dim::EXPERIMENT,
    what_if::EXPERIMENT,
    errata::EXPERIMENT,
];
