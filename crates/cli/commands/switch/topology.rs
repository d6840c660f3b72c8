//! `sluice switch topology`: measures trees of switches.

use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::deployment::topology::{Tree, TreeError};
use sluicegate_pruning::experiment::trial::{self, Run};
use sluicegate_pruning::{Entries, Pruner, Selection, first_id};

use super::run::{LoadedStream, counted, header, load};
use crate::args::switch::Variant;
use crate::args::topology::TopologyArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;

const HEADER: [&str; 4] = ["algorithm", "leaves", "switches", "past_leaves"];
const NOTES: &str = "\
past_leaves: entries that the leaves let through to the switch before the master; forwarded: entries that reach
the master; optimum: those that one pruner without limits would let through. Counted. answer: over what was
forwarded, against that over everything that was sent.
";

/// Entries that a worker sends before the next worker's turn.
const BATCH: usize = 64;

/// Entries that passed the leaves, and the verdicts of the tree.
struct Outcome {
    past_leaves: usize,
    keep: Vec<bool>,
}

pub(super) fn run(args: &TopologyArgs) -> Result<()> {
    let algorithm = args.algorithm;
    let given = args.parameters.parameters();
    let LoadedStream { stream, key_words, given, .. } =
        load(algorithm, &given, Variant::Paper, &args.input)?;
    let configured = algorithm.configure(&given)?;
    let mut listing = Listing::new(&header(&HEADER, false));
    for &leaves in &args.leaves {
        let (past_leaves, keep) = match (leaves, stream.as_slice()) {
            (0, _) => {
                let mut pruner = configured.pruner();
                (None, trial::through_fast_path(pruner.as_mut(), &stream)?)
            }
            (_, [run]) => {
                let Outcome { past_leaves, keep } = through_tree(&configured, run, leaves.into())?;
                (Some(past_leaves), vec![keep])
            }
            // Only joins have two tables.
            _ => return Err(TreeError::NeedsEveryEntry.into()),
        };
        let trial = trial::judge(configured.question().as_ref(), &stream, &keep, key_words);
        let mut line = vec![
            algorithm.name().into(),
            leaves.into(),
            (u32::from(leaves) + 1).into(),
            past_leaves.map_or(Value::Null, Value::from),
        ];
        line.extend(counted(&trial));
        listing.push(line);
    }
    listing.print(args.format, NOTES)
}

/// Sends a stream through a tree. Each leaf has the entries of one part, and the parts are sent at the same time.
fn through_tree(configured: &Configured, run: &Run, leaves: usize) -> Result<Outcome> {
    let pruners = || (0..leaves).map(|_| configured.pruner()).collect::<Vec<Box<dyn Pruner>>>();
    let mut tree = Tree::new(pruners(), configured.pruner())?;
    // The same leaves once more, to count what passes them.
    let mut alone = pruners();
    let part = |leaf: usize| leaf * run.len() / leaves..(leaf + 1) * run.len() / leaves;
    let longest = run.len().div_ceil(leaves);
    let (mut keep, mut past_leaves) = (vec![false; run.len()], 0);
    let mut selection = Selection::new();
    for round in (0..longest).step_by(BATCH) {
        for (leaf, alone) in alone.iter_mut().enumerate() {
            let part = part(leaf);
            let start = part.end.min(part.start + round);
            let end = part.end.min(start + BATCH);
            let columns: Vec<&[u32]> = run.columns.iter().map(|it| &it[start..end]).collect();
            let id = first_id(run.flow).wrapping_add(start as u32);
            let entries = Entries::new(run.flow, id, &columns)
                .map_err(|error| Failure::new(error.to_string()))?;
            alone.prune(&entries, &mut selection).map_err(TreeError::from)?;
            past_leaves += selection.iter().count();
            tree.prune(leaf, &entries, &mut selection)?;
            selection.iter().for_each(|at| keep[start + at] = true);
        }
    }
    Ok(Outcome { past_leaves, keep })
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        let hint = match error {
            TreeError::NeedsEveryEntry => {
                "Take filter, distinct, skyline, top-n, group-by, having-below or having-extreme."
            }
            _ => "This is a bug: please report it with the command.",
        };
        Self::new(error.to_string()).with_hint(hint)
    }
}
