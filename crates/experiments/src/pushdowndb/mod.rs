//! PushdownDB (Yu et al., ICDE 2020).
//!
//! Most experiments have two halves. One is measured here: queries by each strategy, over data of a smaller scale.
//! The other is predicted at the paper's sizes with the profile `paper` or `paper-2018`: its client, its link and S3
//! as they were measured. Claims about the paper's seconds and dollars are decided by the predictions, the others by
//! what is counted and measured.
//!
//! * `data.rs` has the data sets, `sweep.rs` turns queries along an axis into runs and tables, and
//!   `sweep_charts.rs` draws them.
//! * `paper.rs` has the paper's sizes. `filter.rs`, `joins.rs` and `groupings.rs` have its strategies as plans of the
//!   cost model, and `bloom.rs` its Bloom filters.
//! * The other files are a table or figure each.

mod bloom;
pub mod bloom_limit;
mod data;
pub mod fig1;
pub mod fig10;
pub mod fig10_parquet;
pub mod fig11;
pub mod fig2;
pub mod fig3;
pub mod fig4;
pub mod fig5;
pub mod fig6;
pub mod fig7;
pub mod fig8;
pub mod fig9;
mod filter;
mod groupings;
mod items;
mod join_sweep;
mod joins;
mod names;
mod paper;
pub mod setup;
mod suggestion;
pub mod suggestion1;
pub mod suggestion2;
pub mod suggestion3;
pub mod suggestion4;
pub mod suggestion5;
pub mod suggestion6;
mod sweep;
mod sweep_charts;
pub mod table1;
pub mod table2;

use crate::Experiment;

/// The experiments of this paper.
pub static EXPERIMENTS: &[Experiment] = &[
    setup::EXPERIMENT,
    table1::EXPERIMENT,
    table2::EXPERIMENT,
    fig1::EXPERIMENT,
    fig2::EXPERIMENT,
    fig3::EXPERIMENT,
    fig4::EXPERIMENT,
    bloom_limit::EXPERIMENT,
    fig5::EXPERIMENT,
    fig6::EXPERIMENT,
    fig7::EXPERIMENT,
    fig8::EXPERIMENT,
    fig9::EXPERIMENT,
    fig10::EXPERIMENT,
    fig10_parquet::EXPERIMENT,
    fig11::EXPERIMENT,
    suggestion1::EXPERIMENT,
    suggestion2::EXPERIMENT,
    suggestion3::EXPERIMENT,
    suggestion4::EXPERIMENT,
    suggestion5::EXPERIMENT,
    suggestion6::EXPERIMENT,
];
