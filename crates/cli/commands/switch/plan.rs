//! `sluice switch plan`: the best configuration that fits.

use serde_json::Value;
use sluicegate_pruning::deployment::plan_on;
use sluicegate_pruning::theory::{Configuration, Goal, JoinFilter, Projection};

use super::target;
use crate::args::switch::{PlanArgs, QueryArg};
use crate::failure::Result;
use crate::output::listing::{Listing, fraction};

const NOTES: &str = "\
wrong: the probability of a wrong answer, at most; empty where it cannot happen. pruned: expected, of
all rows (top-n, group-by), of the duplicates (distinct), of the probing rows (join) or of the groups
that do not qualify (having); empty where only the data can tell. Modelled.
";

pub(super) fn run(args: &PlanArgs) -> Result<()> {
    let target = target(&args.target)?;
    let (plan, placement) = plan_on(&goal(args), &target)?;
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
        describe(&plan.configuration).into(),
        if plan.failure > 0.0 { fraction(plan.failure) } else { Value::Null },
        plan.pruned.map_or(Value::Null, fraction),
        placement.stages.len().into(),
        placement.stateful_alus().into(),
        placement.register_bits.div_ceil(8 * 1024).into(),
        target.name.into(),
    ]);
    listing.print(args.format, NOTES)
}

fn goal(args: &PlanArgs) -> Goal {
    match args.query {
        QueryArg::Filter => Goal::Filter { predicates: args.predicates },
        QueryArg::Distinct => {
            Goal::Distinct { distinct: args.keys, key_bits: args.key_bits, delta: args.delta }
        }
        QueryArg::TopN => Goal::TopN {
            n: args.n,
            entries: args.entries,
            value_bits: args.value_bits,
            delta: args.delta,
        },
        QueryArg::GroupBy => Goal::GroupBy {
            entries: args.entries,
            keys: args.keys,
            pair_bits: args.key_bits.saturating_add(args.value_bits),
        },
        QueryArg::Join => Goal::Join { keys: args.keys, matching: args.matching },
        QueryArg::Having => Goal::Having { keys: args.keys, counter_bits: args.value_bits },
        QueryArg::Skyline => {
            Goal::Skyline { dimensions: args.dimensions, value_bits: args.value_bits }
        }
    }
}

fn describe(configuration: &Configuration) -> String {
    match *configuration {
        Configuration::Filter { predicates } => format!("filter, {predicates} comparisons"),
        Configuration::Distinct { rows, columns, cell_bits, lru } => {
            let policy = if lru { "LRU" } else { "FIFO" };
            format!("distinct {policy}, d = {rows}, w = {columns}, cells of {cell_bits} bits")
        }
        Configuration::TopNDeterministic { thresholds, .. } => {
            format!("top-n-deterministic, w = {thresholds}")
        }
        Configuration::TopNRandomized { rows, columns, .. } => {
            format!("top-n-randomized, d = {rows}, w = {columns}")
        }
        Configuration::GroupBy { rows, tables, .. } => {
            format!("group-by, d = {rows}, w = {tables}")
        }
        Configuration::Join { filter, bits, hashes } => {
            let filter = match filter {
                JoinFilter::Bloom => "join-bloom",
                JoinFilter::RegisterBloom => "join-register-bloom",
            };
            format!("{filter}, M = {} KiB, H = {hashes}", bits / 8 / 1024)
        }
        Configuration::Having { counters, rows, .. } => {
            format!("having, w = {counters}, d = {rows}")
        }
        Configuration::Skyline { dimensions, points, projection, .. } => {
            let score = match projection {
                Projection::Sum => "skyline-sum",
                Projection::ApproximateProduct => "skyline-aph",
            };
            format!("{score}, D = {dimensions}, w = {points}")
        }
    }
}
