//! `sluice switch plan`: finds the best configuration that fits.

use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::{Algorithm, QuerySize};

use super::target;
use crate::args::switch::PlanArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::{Listing, fraction};

const NOTES: &str = "\
wrong: the probability of a wrong answer, at most; empty where it cannot happen. pruned: expected, of
all rows (top-n, group-by), of the duplicates (distinct), of the probing rows (join) or of the groups
that do not qualify (having); empty where only the data can tell. Modelled.
";

pub(super) fn run(args: &PlanArgs) -> Result<()> {
    let target = target(&args.target)?;
    let wanted = QuerySize {
        n: args.n,
        entries: args.entries,
        keys: args.keys,
        key_bits: args.key_bits,
        value_bits: args.value_bits,
        delta: args.delta,
        matching: args.matching,
        predicates: args.predicates,
        dimensions: args.dimensions,
    };
    let served = Algorithm::ALL.iter().find(|algorithm| algorithm.entry().query == args.query);
    let Some(algorithm) = served else {
        return Err(Failure::Usage(format!("no algorithm serves `{}`", args.query)));
    };
    let placed = (algorithm.entry().goal)(&wanted).placed(&target)?;
    let mut listing = Listing::new(&[
        "configuration",
        "wrong",
        "pruned",
        "stages",
        "stateful ALUs",
        "register KiB",
        "target",
    ]);
    listing.push(vec![
        placed.size.into(),
        if placed.failure > 0.0 { fraction(placed.failure) } else { Value::Null },
        placed.pruned.map_or(Value::Null, fraction),
        placed.placement.stages.len().into(),
        placed.placement.stateful_alus().into(),
        placed.placement.register_bits.div_ceil(8 * 1024).into(),
        target.name.into(),
    ]);
    listing.print(args.format, NOTES)
}
