//! The machine: a programmable switch pipeline as data, and four uses of a program.
//!
//! | use | where |
//! |---|---|
//! | run it packet by packet, with a trace | [`Interpreter`] |
//! | fit it to a target, or list the reasons why it does not fit | [`fit`](fit()) |
//! | print it as P4_16 with its table entries | [`crate::p4`] |
//! | check a fast path against it, verdict for verdict and register for register | [`crate::experiment::check`] |
//!
//! Every algorithm of this crate is one [`Program`], written once by its module. Read `program.rs` first, then
//! `stateful.rs` for the stateful ALU and `target.rs` for the limits of a switch.

mod builder;
mod decoded;
pub(crate) mod fit;
pub(crate) mod graft;
mod hash;
mod interpreter;
mod matcher;
mod packet;
mod program;
mod stateful;
mod target;
mod validate;

pub use builder::Builder;
pub use fit::{Misfit, Placement, StageUse, fit};
pub use graft::chain;
pub use hash::{Hash, HashTable, MIXING_POLYNOMIALS, POLYNOMIALS, crc32, crc32_from, input_bytes};
pub use interpreter::{Access, Interpreter, Outcome, RejectedPacket, Step, Trace};
pub use packet::{HEADER_BYTES, Packet, PacketError};
pub use program::{
    Action, Call, Cell, Comparand, Entry, Field, FieldId, Gateway, Key, MatchKind, Op, Operand,
    Operation, Pattern, Program, Register, RegisterId, Stage, Table, Test, mask,
};
pub use stateful::{
    AluOperand, Compare, ComparePredicate, Half, Index, Output, Relation, Sign, Source, Stateful,
    Update,
};
pub use target::{Target, TargetError};
pub use validate::ProgramError;

#[cfg(test)]
mod tests;
