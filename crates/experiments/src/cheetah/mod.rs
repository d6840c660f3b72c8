//! Cheetah (Tirmazi et al., SIGMOD 2020).

pub mod ab;
pub mod dag;
pub mod fig10;
pub mod fig10a;
pub mod fig10b;
pub mod fig10c;
pub mod fig10d;
pub mod fig10e;
pub mod fig10f;
pub mod fig11;
pub mod fig11f;
pub mod fig12;
pub mod fig5;
pub mod fig6;
pub mod fig7;
pub mod fig8;
pub mod fig9;
pub mod multi_entry;
pub mod protocol;
pub mod q3;
pub mod reuse;
pub mod setup;
pub mod table1;
pub mod table2;
pub mod table3;
pub mod table_a;
pub mod theory;
pub mod topology;
pub mod udp;
pub mod workers;

mod bigdata;
mod completion;
mod having;
mod placed;
mod sweep;
mod worker_times;

use crate::Experiment;

/// The experiments of this paper.
pub static EXPERIMENTS: &[Experiment] = &[
    setup::EXPERIMENT,
    table1::EXPERIMENT,
    table2::EXPERIMENT,
    table3::EXPERIMENT,
    table_a::EXPERIMENT,
    theory::EXPERIMENT,
    fig5::EXPERIMENT,
    fig6::PARTITIONS,
    fig6::WORKERS,
    fig7::EXPERIMENT,
    fig8::EXPERIMENT,
    workers::EXPERIMENT,
    fig9::EXPERIMENT,
    fig10::EXPERIMENT,
    fig10a::EXPERIMENT,
    fig10b::EXPERIMENT,
    fig10c::EXPERIMENT,
    fig10d::EXPERIMENT,
    fig10e::EXPERIMENT,
    fig10f::EXPERIMENT,
    fig11::DISTINCT,
    fig11::SKYLINE,
    fig11::TOP_N,
    fig11::GROUP_BY,
    fig11::JOIN,
    fig11f::EXPERIMENT,
    fig12::EXPERIMENT,
    ab::EXPERIMENT,
    reuse::EXPERIMENT,
    q3::EXPERIMENT,
    multi_entry::EXPERIMENT,
    topology::EXPERIMENT,
    dag::EXPERIMENT,
    protocol::EXPERIMENT,
    udp::EXPERIMENT,
];
