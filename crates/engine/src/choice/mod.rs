//! How an operator is run: the possible ways, what each is predicted to take, and why others are
//! not possible.
//!
//! An operator of ours asks one [`Question`]: its ways in order of preference, each an [`Offer`]
//! (what it would ask for, and how it is built) or the reason ([`Why`]) that it is not possible. The
//! [`Chooser`] prices the offers, follows what the session forces, and returns the way to take and a
//! [`Decision`]: plain data that EXPLAIN shows. The [`Journal`] of a plan collects the decisions.
//!
//! Rules ask when they plan ([`crate::optimizer::Choose`]). An operator whose numbers are known only
//! when it runs asks then, with the same types: in `execute`, `Chooser::of(&endpoint,
//! context.session_config().options())` is the same chooser, and the question may offer anything
//! that the operator knows how to run, not plans only.

mod basis;
mod chooser;
mod decision;
mod journal;
mod why;

pub use self::basis::Basis;
pub use self::chooser::{Chooser, Forced, Offer, Question, Way};
pub use self::decision::{Decision, Verdict};
pub use self::journal::Journal;
pub use self::why::Why;
