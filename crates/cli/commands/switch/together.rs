//! `sluice switch fit --together`: places several queries on one switch, with stateful ALUs of their own and with
//! shared ones.

use std::fmt::Write as _;

use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::deployment::Flow;
use sluicegate_pruning::deployment::pack::{PackError, Query, SharedAlu, Sharing, pack, share};
use sluicegate_pruning::switch::{Misfit, Placement, Program, Target, fit};

use super::fit::reasons;
use crate::args::switch::FitArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::{ListFormat, Listing};

const HEADER: [&str; 11] = [
    "query",
    "sharing",
    "fits",
    "stages",
    "stateful ALUs",
    "shared ALUs",
    "register KiB",
    "SRAM blocks",
    "TCAM blocks",
    "rules",
    "shared arrays",
];
const NOTES: &str = "\
Each query alone, then all of them. none: each query has stateful ALUs of its own; divided: queries share ALUs, and
each has a part of an array's cells; alternatives: queries share ALUs and cells, and one query runs at a time, for
which the control plane installs the rules and the initial values. Queries share an ALU if no packet needs it twice and
it stores the instructions, inputs and constants of all. Modelled.
";

pub(super) fn run(args: &FitArgs, target: &Target) -> Result<()> {
    let configured = args.together.iter().map(|it| it.algorithm.configure(&it.parameters));
    let configured = configured.collect::<std::result::Result<Vec<Configured>, _>>()?;
    let programs: Vec<Program> = configured.iter().map(|it| it.program()).collect();
    let mut all_flows: Vec<Vec<Flow>> = Vec::new();
    for query in &args.together {
        let first = all_flows.iter().map(Vec::len).sum::<usize>() as u16;
        let flows = Flow::of_workers(query.algorithm.entry().carries, 1);
        all_flows.push((first..).zip(flows).map(|(fid, flow)| Flow { fid, ..flow }).collect());
    }
    let queries: Vec<Query<'_>> =
        programs.iter().zip(&all_flows).map(|(program, flows)| Query { program, flows }).collect();
    let packed = pack("together", &queries)?;
    let mut rows = Vec::new();
    for (configured, program) in configured.iter().zip(&programs) {
        rows.push(row(&configured.to_string(), None, &fit(program, target), &[]));
    }
    rows.push(row("all", Some("none"), &fit(&packed, target), &[]));
    let mut notes = NOTES.to_owned();
    let all = [(Sharing::Divided, "divided"), (Sharing::Alternatives, "alternatives")];
    for (sharing, name) in all {
        let shared = share("together", &queries, sharing, target)?;
        rows.push(row("all", Some(name), &fit(shared.program(), target), shared.alus()));
        if !shared.alus().is_empty() {
            let _ = writeln!(notes, "\nShared arrays, {name}:");
        }
        for alu in shared.alus() {
            let _ = writeln!(notes, "  {}", array(alu));
        }
    }
    // In a table, the shared arrays follow the numbers as notes.
    let columns = HEADER.len() - usize::from(args.format == ListFormat::Table);
    let mut listing = Listing::new(&HEADER[..columns]);
    for mut row in rows {
        row.truncate(columns);
        listing.push(row);
    }
    listing.print(args.format, &notes)
}

fn row(
    query: &str,
    sharing: Option<&str>,
    placed: &std::result::Result<Placement, Vec<Misfit>>,
    alus: &[SharedAlu],
) -> Vec<Value> {
    let number = |of: &dyn Fn(&Placement) -> u64| {
        placed.as_ref().map_or(Value::Null, |placement| of(placement).into())
    };
    let arrays: Vec<String> = alus.iter().map(array).collect();
    vec![
        query.into(),
        sharing.map_or(Value::Null, Value::from),
        match placed {
            Ok(_) => "yes".into(),
            Err(misfits) => format!("no: {}", reasons(misfits.get(..1).unwrap_or_default())).into(),
        },
        number(&|it| it.stages.len() as u64),
        number(&|it| it.stateful_alus() as u64),
        alus.len().into(),
        number(&|it| it.register_bits.div_ceil(8 * 1024)),
        number(&|it| it.sram_blocks()),
        number(&|it| it.tcam_blocks()),
        number(&|it| (it.exact_entries + it.ternary_entries) as u64),
        arrays.join("; ").into(),
    ]
}

/// Describes a shared array: each query's part, with its first and last cell.
fn array(alu: &SharedAlu) -> String {
    let parts = alu.parts.iter().map(|part| {
        let last = part.first.saturating_add(part.cells.saturating_sub(1));
        format!("{} in {} to {last}", part.register, part.first)
    });
    format!("{}: {}", alu.register, parts.collect::<Vec<_>>().join(", "))
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Self {
        Self::new(error.to_string()).with_hint("Take fewer queries.")
    }
}
