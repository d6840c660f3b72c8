//! The switch between the workers and the final stage of a query.
//!
//! `SET sluice.switch = 'tofino1'` puts a programmable switch between the partitions of a plan (the workers) and its
//! final stage (the master). Each entry crosses the switch as a packet that holds the query's columns as
//! [`words`](Field) of 32 bits. The switch drops entries that the final stage does not need. The switch is a
//! bit-exact model of the crate `pruning`.
//!
//! | part | module |
//! |---|---|
//! | operators that are served, and changes of plans | `optimizer::SwitchPruning` |
//! | configuration that fits the target | `planner`, `plan` |
//! | columns → words | `key` (equality), `order` (order), `addend` (sums), `flags` (bits per row), `lanes` (Arrow types), `words` (packets) |
//! | columns that are fetched for the rows that passed | `late_columns` |
//! | a plan as bytes, and back | `plan_encoding`, `float_bits`; each field checks its own |
//! | expected number of rows let through, for predictions | `demand` |
//! | bypass of a switch that prunes nothing | `bypass` |
//! | packets that a switch without limits would forward | `recording` |
//! | rows that workers would ship without a switch | `baseline` |
//! | the query's programs as one, packet by packet | `packed` |
//! | contents of the switch at the end, as states of aggregates | `sums` |
//! | rows through the switch | [`crate::operators::switch_prune`] |
//! | one switch per execution | [`crate::operators::switch_exec`] |
//!
//! All programs of a query share the switch and are chosen to fit together. A program that does not fit even at its
//! smallest is left out. Each program runs through its fast path, which gives the same verdicts as the packed
//! program; with `sluice.switch_packed`, the packed program runs instead. The packets of each worker and program are
//! a flow of their own, so flow and identifier name one row. A row without a code (a NULL in a 64-bit key, a NaN in
//! WHERE) bypasses the switch. The answer stays right, because the switch may always forward too much.

mod addend;
mod baseline;
mod bypass;
pub(crate) mod demand;
mod flags;
mod float_bits;
mod key;
mod lanes;
mod late_columns;
mod order;
mod packed;
mod plan;
mod plan_encoding;
pub(crate) mod planner;
mod recording;
mod sums;
mod words;

pub use crate::context::switch_target::{Delta, SwitchTarget};
pub use addend::Amount;
pub(crate) use baseline::NoSwitchBaseline;
pub(crate) use bypass::BypassPolicy;
pub use demand::SwitchEstimate;
pub use flags::Flags;
pub use key::Key;
pub use late_columns::LateColumns;
pub use order::Order;
pub(crate) use packed::Packed;
pub use plan::{Resources, SwitchPlan};
pub(crate) use recording::Recording;
pub use words::Field;
pub(crate) use words::{Words, encode};
