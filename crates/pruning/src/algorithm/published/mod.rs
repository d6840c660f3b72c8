//! The authors' published programs, unchanged, for comparison.
//!
//! Cheetah's release has six P4-14 programs for Tofino. They are modelled here bit for bit, quirks included:
//!
//! | program | behaviour |
//! |---|---|
//! | [`filter()`] | correct: keeps `value < c` |
//! | [`distinct()`] | prunes values never seen, in three ways; its fourth column is dead |
//! | [`group_by()`] | correct: MAX, ties forwarded; twelve stages for five rows |
//! | [`top_n()`] | prunes the *largest* values |
//! | [`join()`] | prunes the matches, and sets one of six bits for a build packet |
//! | [`skyline()`] | correct as intended, with one point; as today's open compiler folds it, it prunes nothing |
//!
//! The semantics of the stateful ALUs are those of p4c's open Tofino backend. Nothing is released for the other
//! algorithms. The rules that the release installs for JOIN's third and sixth block are for the wrong flow. That is a
//! fault of the rules, not of the program, and is not modelled.

mod cache;
mod cutoff;
mod filter;
mod groups;
mod membership;
mod point;

pub use cache::{Repairs, distinct};
pub use cutoff::top_n;
pub use filter::filter;
pub use groups::group_by;
pub use membership::join;
pub use point::{Compiler, skyline};

use crate::switch::{Action, FieldId, Op, Operand, Table};

/// Creates the table that sets the prune bit.
fn drop_table(prune: FieldId) -> Table {
    Table::always("prune_packet", Action::compute("drop", [Op::set(prune, Operand::Const(1))]))
}

#[cfg(test)]
mod tests;
