//! How an operator is run: the possible ways, what each is predicted to take, and why others are
//! not possible.
//!
//! The [`chooser`] takes a way and returns a [`Decision`]: plain data that EXPLAIN shows. A way
//! that is not possible has a reason ([`Reason`]). The [`Journal`] of a plan collects the decisions.

mod basis;
mod decision;
mod journal;
mod reason;

pub use self::basis::Basis;
pub use self::decision::{Decision, Verdict};
pub use self::journal::Journal;
pub use self::reason::Reason;
