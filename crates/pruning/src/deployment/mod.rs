//! Programs in use: several queries in one switch ([`pack`](mod@pack)), several entries in one packet
//! ([`multi_entry`]), several switches ([`topology`]), and [`plan_on`], which chooses a configuration whose program
//! fits.

mod flow;
pub mod multi_entry;
pub mod pack;
mod placement;
pub mod topology;

pub use flow::Flow;
pub use placement::{Goal, PlacedPlan, PlacementError, plan_on};
