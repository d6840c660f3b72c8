//! Decisions about operators: the possible strategies with their predictions, and why others are not possible.
//!
//! The chooser (`store/chooser.rs`) picks a strategy and returns a [`Decision`], plain data that EXPLAIN shows. A
//! strategy that is not possible has a [`Reason`]. The [`Journal`] of a plan collects the decisions.

mod basis;
mod decision;
mod journal;
mod reason;

pub use self::basis::Basis;
pub use self::decision::{Decision, Verdict};
pub use self::journal::Journal;
pub use self::reason::Reason;
