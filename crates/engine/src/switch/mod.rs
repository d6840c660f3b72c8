//! The switch on the way from the workers to the final stage, as far as a query has to do with it.
//!
//! `SET sluice.switch = 'tofino1'` puts a programmable switch between the partitions of a plan (the
//! workers) and its final stage (the master). Each entry crosses it as a packet that holds the
//! query's columns, as [`words`](Field) of 32 bits; the switch drops those that the final stage does
//! not need. What runs in it is a model of the `pruning` crate, bit for bit.
//!
//! | what | where |
//! |---|---|
//! | which operators are served, and how plans change | [`crate::optimizer::SwitchPruning`] |
//! | the configuration that fits the target | `planner` |
//! | columns → words | `key` (equality), `order` (order), `lanes` (Arrow types) |
//! | what is fetched for the rows that passed | `late` |
//! | when a switch that prunes nothing is no longer asked | `patience` |
//! | rows through the switch | [`crate::physical_plan::switch_prune`] |
//!
//! All programs of one query share the switch: they are packed together, and one that does not fit
//! beside the others is left out. A row that has no code (a NULL in a 64-bit key, a NaN under MAX)
//! passes unseen, which superset closure allows.

mod algorithm;
mod amount;
mod flags;
mod key;
mod lanes;
mod late;
mod optimum;
mod order;
mod patience;
mod plan;
pub(crate) mod planner;
mod target;
mod words;

pub use algorithm::Algorithm;
pub use amount::Amount;
pub use flags::Flags;
pub use key::Key;
pub use late::Late;
pub use optimum::Optimum;
pub(crate) use optimum::Recording;
pub use order::Order;
pub(crate) use patience::Patience;
pub use plan::{Resources, SwitchPlan};
pub use target::{Delta, SwitchTarget};
pub use words::Field;
pub(crate) use words::{Words, encode};
