//! The common interface of configured algorithms.

use std::fmt;

use crate::Pruner;
use crate::algorithm::catalog::Entry;
use crate::algorithm::group_sum::GroupSums;
use crate::experiment::trial::Question;
use crate::switch::Program;
use crate::theory::{PruningEstimate, RowStatistics};

/// An algorithm with its parameters, as code outside its folder uses it. Each `Config` implements it; everything that
/// does not depend on parameters is in its [`Entry`].
pub trait Pruning: fmt::Debug + fmt::Display {
    /// Returns the algorithm's entry in the catalog.
    fn entry(&self) -> &'static Entry;

    /// Returns the program, which defines the algorithm.
    fn program(&self) -> Program;

    /// Returns the fast path, in the state of a switch that just started.
    fn pruner(&self) -> Box<dyn Pruner>;

    /// Returns the question that the algorithm prunes for, with its answer and its optimum.
    fn question(&self) -> Box<dyn Question>;

    /// Returns the number of rows that the algorithm is expected to forward.
    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate;

    /// Returns true if dropped entries are summed in the switch, which is read at the end: see
    /// [`Pruner::group_sums`].
    fn holds(&self) -> bool {
        self.cells_held() > 0
    }

    /// Returns the number of the switch's cells that are read at the end, 0 if it computes no sums.
    fn cells_held(&self) -> usize {
        0
    }

    /// Returns the groups and sums in the registers of the program.
    fn group_sums_in(&self, registers: &[Vec<[u32; 2]>]) -> Vec<GroupSums> {
        let _ = registers;
        Vec::new()
    }

    /// Returns true if the rows of candidate keys cross the switch a second time.
    fn rereads(&self) -> bool {
        false
    }

    /// Returns the fraction of probing rows without a match that a join forwards, if its filters contain `keys` keys.
    fn false_positives(&self, keys: u64) -> f64 {
        let _ = keys;
        1.0
    }
}
