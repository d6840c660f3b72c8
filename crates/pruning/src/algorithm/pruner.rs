//! The seam between an algorithm's fast path and those who send entries through it.

use std::fmt::Debug;

use crate::algorithm::group_sum::Held;
use crate::switch::WrongValues;
use crate::{Entries, Selection};

/// What the switch does with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Send it on.
    Forward,
    /// Drop it: the query's answer cannot depend on it.
    Prune,
}

/// A fast path: decides, entry by entry and in one pass, which to drop, exactly as its program
/// would. See the crate's documentation for the invariant it must keep.
pub trait Pruner: Debug + Send {
    /// How many 32-bit values an entry has.
    fn values(&self) -> usize;

    /// Looks at the next entries and selects those that are forwarded.
    ///
    /// # Errors
    ///
    /// If the entries do not have [`Pruner::values`] columns; nothing was looked at then.
    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), WrongValues>;

    /// Whether its verdicts are right only if it has seen every entry, as those of JOIN and of HAVING
    /// with a sum: then no switch before it may drop any.
    fn needs_every_entry(&self) -> bool {
        false
    }

    /// The groups and sums that the switch holds and hands over at the end: of what it drops, and of nothing
    /// else. None, unless the algorithm adds up.
    fn held(&self) -> Vec<Held> {
        Vec::new()
    }

    /// The state, laid out as the program's register arrays.
    fn registers(&self) -> Vec<Vec<[u32; 2]>>;

    /// Reboots: forgets all entries.
    fn reset(&mut self);
}

/// The columns of a batch, if they are as many as the pruner needs.
pub(crate) fn columns<'a, const N: usize>(
    entries: &Entries<'a>,
) -> Result<[&'a [u32]; N], WrongValues> {
    let columns = entries.columns();
    columns.try_into().map_err(|_| WrongValues { expected: N, actual: columns.len() })
}
