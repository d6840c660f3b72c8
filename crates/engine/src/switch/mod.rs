//! The switch between the workers and the final stage, as a query sees it.
//!
//! `SET sluice.switch = 'tofino1'` puts a programmable switch between the partitions of a plan (the
//! workers) and its final stage (the master). Each entry crosses it as a packet that holds the
//! query's columns, as [`words`](Field) of 32 bits; the switch drops those that the final stage does
//! not need. The switch is a bit-exact model of the `pruning` crate.
//!
//! | what | where |
//! |---|---|
//! | which operators are served, and how plans change | [`crate::optimizer::SwitchPruning`] |
//! | the configuration that fits the target | `planner` |
//! | columns → words | `key` (equality), `order` (order), `lanes` (Arrow types) |
//! | what is fetched for the rows that passed | `late` |
//! | a program as bytes, and back | `parts`; each field checks its own |
//! | how many rows it is expected to let through, for predictions | `demand` |
//! | when a switch that prunes nothing is bypassed | `patience` |
//! | what a switch without limits would forward | `recording` |
//! | what workers would ship without a switch | `alone` |
//! | the query's programs as one, packet by packet | `packed` |
//! | what a switch holds at the end, as states of aggregates | `sums` |
//! | rows through the switch | [`crate::physical_plan::switch_prune`] |
//! | one switch for each execution | [`crate::physical_plan::switch`] |
//!
//! All programs of one query share the switch: they are chosen so that they fit together, and one that
//! does not fit even at its smallest is left out. Each runs through its fast path, which does what the
//! packed program does; with `sluice.switch_packed` that itself runs. Every worker's packets of a
//! program are a flow of their own, so that flow and identifier name one row. A row that has no code (a NULL in a 64-bit key, a NaN in
//! WHERE) bypasses the switch, which is right because pruning may forward too much.

mod alone;
mod amount;
pub(crate) mod demand;
mod flags;
mod key;
mod lanes;
mod late;
mod order;
mod packed;
mod parts;
mod patience;
mod plan;
pub(crate) mod planner;
mod real_bits;
mod recording;
mod sums;
mod target;
mod words;

pub(crate) use alone::Alone;
pub use amount::Amount;
pub use demand::Switched;
pub use flags::Flags;
pub use key::Key;
pub use late::Late;
pub use order::Order;
pub(crate) use packed::Packed;
pub(crate) use patience::Patience;
pub use plan::{Resources, SwitchPlan};
pub(crate) use recording::Recording;
pub use target::{Delta, SwitchTarget};
pub use words::Field;
pub(crate) use words::{Words, encode};
