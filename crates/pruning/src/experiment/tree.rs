//! A stream through a tree of switches (paper §9): see [`topology`](crate::deployment::topology).

use super::route::RouteError;
use super::trial::Run;
use crate::algorithm::catalog::Configured;
use crate::deployment::topology::{Tree, TreeError};
use crate::{Entries, Pruner, Selection, first_id};

/// Entries that a worker sends before the next worker's turn.
const BATCH: usize = 64;

/// The verdicts of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The number of entries that passed the leaves.
    pub past_leaves: usize,
    /// For each run and entry, true if it reached the master.
    pub keep: Vec<Vec<bool>>,
}

/// Sends a stream through a tree of `leaves` switches, at least 1, and one before the master. Each switch has the whole
/// configuration. The stream is divided among the leaves, which process their parts at the same time.
///
/// # Errors
///
/// If the algorithm must process every entry in one place, as joins with their two runs must, or packets carry another
/// number of values.
pub fn send(configured: &Configured, stream: &[Run], leaves: usize) -> Result<Passed, RouteError> {
    let pruners = || (0..leaves).map(|_| configured.pruner()).collect::<Vec<Box<dyn Pruner>>>();
    let mut tree = Tree::new(pruners(), configured.pruner()).map_err(RouteError::Tree)?;
    let [run] = stream else { return Err(TreeError::NeedsEveryEntry.into()) };
    // The same leaves once more, to count what passes them.
    let mut alone = pruners();
    let part = |leaf: usize| leaf * run.len() / leaves..(leaf + 1) * run.len() / leaves;
    let longest = run.len().div_ceil(leaves.max(1));
    let (mut keep, mut past_leaves) = (vec![false; run.len()], 0);
    let mut selection = Selection::new();
    for round in (0..longest).step_by(BATCH) {
        for (leaf, alone) in alone.iter_mut().enumerate() {
            let part = part(leaf);
            let start = part.end.min(part.start + round);
            let end = part.end.min(start + BATCH);
            let columns: Vec<&[u32]> = run.columns.iter().map(|it| &it[start..end]).collect();
            let id = first_id(run.flow).wrapping_add(start as u32);
            // Columns of one run have the same length.
            let Ok(entries) = Entries::new(run.flow, id, &columns) else { continue };
            alone.prune(&entries, &mut selection).map_err(TreeError::from)?;
            past_leaves += selection.iter().count();
            tree.prune(leaf, &entries, &mut selection)?;
            selection.iter().for_each(|at| keep[start + at] = true);
        }
    }
    Ok(Passed { past_leaves, keep: vec![keep] })
}
