//! Programs where they run: many queries in one switch ([`pack`](mod@pack)), many entries in one
//! packet ([`multi_entry`]), many switches ([`topology`]); and [`plan_on`], which chooses a
//! configuration whose program fits.

mod flow;
pub mod multi_entry;
pub mod pack;
mod place;
pub mod topology;

pub use flow::Flow;
pub use place::{Goal, Placed, PlacementError, plan_on};
