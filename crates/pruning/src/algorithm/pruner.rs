//! The interface between an algorithm's fast path and the code that sends entries through it.

use std::fmt::Debug;

use crate::algorithm::group_sum::GroupSums;
use crate::switch::RejectedPacket;
use crate::{Entries, Selection};

/// The switch's decision about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Send the entry on.
    Forward,
    /// Drop the entry: the query's answer cannot depend on it.
    Prune,
}

/// A fast path: decides in one pass which entries to drop, exactly as its program would. The crate's documentation
/// states the invariant that it must keep.
pub trait Pruner: Debug + Send {
    /// Returns the number of 32-bit values of an entry.
    fn values(&self) -> usize;

    /// Processes the next entries and selects those that are forwarded.
    ///
    /// # Errors
    ///
    /// If the entries do not have [`Pruner::values`] columns; no entry is processed then.
    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket>;

    /// Returns true if the verdicts are right only after every entry was processed, as for JOIN and for HAVING with a
    /// sum. No switch in front may then drop entries.
    fn needs_every_entry(&self) -> bool {
        false
    }

    /// Returns the groups and sums of dropped entries that the switch returns at the end of the query. They are empty
    /// unless the algorithm computes sums.
    fn group_sums(&self) -> Vec<GroupSums> {
        Vec::new()
    }

    /// Returns the state, laid out as the program's register arrays.
    fn registers(&self) -> Vec<Vec<[u32; 2]>>;

    /// Reboots: returns to the initial state.
    fn reset(&mut self);
}

/// Returns the columns of a batch, if there are as many as the pruner needs.
pub(crate) fn columns<'a, const N: usize>(
    entries: &Entries<'a>,
) -> Result<[&'a [u32]; N], RejectedPacket> {
    let columns = entries.columns();
    columns.try_into().map_err(|_| RejectedPacket { expected: N, actual: columns.len() })
}
