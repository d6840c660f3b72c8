//! Experiments that no paper has.

pub mod all_in_one;
mod data;
mod model;
pub mod predicted;
pub mod select_speed;
pub mod strategy_map;
pub mod transfer;
pub mod workers;

use crate::Experiment;

/// The experiments.
pub static EXPERIMENTS: &[Experiment] = &[
    transfer::EXPERIMENT,
    all_in_one::EXPERIMENT,
    strategy_map::EXPERIMENT,
    predicted::EXPERIMENT,
    select_speed::EXPERIMENT,
    workers::EXPERIMENT,
];
