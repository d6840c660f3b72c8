//! What an algorithm with its parameters can do.

use std::fmt;

use crate::Pruner;
use crate::algorithm::catalog::Entry;
use crate::algorithm::group_sum::Held;
use crate::experiment::trial::Question;
use crate::switch::Program;
use crate::theory::{Expected, Known};

/// An algorithm with its parameters, whichever it is: what everything outside of its folder asks of
/// it. Each `Config` is one; what does not depend on parameters is in its [`Entry`].
pub trait Pruning: fmt::Debug + fmt::Display {
    /// What the catalog knows of it.
    fn entry(&self) -> &'static Entry;

    /// The program, which defines it.
    fn program(&self) -> Program;

    /// The fast path, in the state of a switch that just started.
    fn pruner(&self) -> Box<dyn Pruner>;

    /// The question that it prunes for, with its answer and its optimum.
    fn question(&self) -> Box<dyn Question>;

    /// How many rows it is expected to let through.
    fn expected(&self, rows: &mut dyn Known) -> Expected;

    /// Whether what it drops is in the switch, which hands it over at the end: see
    /// [`Pruner::held`](crate::Pruner::held).
    fn holds(&self) -> bool {
        self.cells_held() > 0
    }

    /// How many cells of the switch are read at the end for what it holds.
    fn cells_held(&self) -> usize {
        0
    }

    /// What the registers of its program hold of what was dropped.
    fn held_in(&self, registers: &[Vec<[u32; 2]>]) -> Vec<Held> {
        let _ = registers;
        Vec::new()
    }

    /// Whether the rows of its candidates cross the switch again, once these are known.
    fn rereads(&self) -> bool {
        false
    }

    /// The part of the probing rows without a match that a join lets through, if `keys` are in its
    /// filters.
    fn false_positives(&self, keys: u64) -> f64 {
        let _ = keys;
        1.0
    }
}
