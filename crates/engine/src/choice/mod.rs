//! Chooses how an operator is run, and records the prediction for each strategy and the reason why others are not
//! possible.
//!
//! An operator of ours builds one [`Question`]. It lists the strategies in order of preference, each with an
//! [`Offer`] (its work, and how it is built) or the reason ([`Why`]) that it is not possible. The [`Chooser`]
//! predicts the cost of the offers, follows what the session forces, and returns the strategy to run and a
//! [`Decision`] for EXPLAIN. The [`Journal`] of a plan collects the decisions.
//!
//! Rules choose at planning time ([`crate::optimizer::Choose`]). An operator whose numbers become known only at run
//! time chooses then, with the same types: `Chooser::of(&endpoint, context.session_config().options())` in `execute`
//! returns the same chooser, and the offers may build anything that the operator can run, not only plans.

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
