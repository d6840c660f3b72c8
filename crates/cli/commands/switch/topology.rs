//! `sluice switch topology`: measures trees of switches.

use serde_json::Value;
use sluicegate_pruning::deployment::topology::TreeError;
use sluicegate_pruning::experiment::tree::{self, Passed};
use sluicegate_pruning::experiment::trial;

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

pub(super) fn run(args: &TopologyArgs) -> Result<()> {
    let algorithm = args.algorithm;
    let given = args.parameters.parameters();
    let LoadedStream { stream, key_words, given, .. } =
        load(algorithm, &given, Variant::Paper, &args.input)?;
    let configured = algorithm.configure(&given)?;
    let mut listing = Listing::new(&header(&HEADER, false));
    for &leaves in &args.leaves {
        let (past_leaves, keep) = if leaves == 0 {
            let mut pruner = configured.pruner();
            (None, trial::through_fast_path(pruner.as_mut(), &stream)?)
        } else {
            let Passed { past_leaves, keep } = tree::send(&configured, &stream, leaves.into())?;
            (Some(past_leaves), keep)
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
