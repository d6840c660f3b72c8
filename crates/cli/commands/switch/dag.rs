//! `sluice switch dag`: places the programs of a graph of workers on one switch.

use serde_json::Value;
use sluicegate_pruning::deployment::topology::{Dag, DagError};
use sluicegate_pruning::switch::{Program, Target, fit};

use super::target;
use crate::args::topology::{DagArgs, EdgeArg};
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;

const HEADER: [&str; 9] =
    ["port", "from", "to", "program", "stages", "stateful ALUs", "register KiB", "rules", "fits"];
const NOTES: &str = "\
Each edge alone, then all of them packed into one program, which recognizes an edge by its port. Modelled.
";

/// The port of the first edge; each further one has the next.
const FIRST_PORT: u16 = 1;

pub(super) fn run(args: &DagArgs) -> Result<()> {
    let target = target(&args.target)?;
    let (mut dag, mut listing) = (Dag::new(), Listing::new(&HEADER));
    for (port, edge) in (FIRST_PORT..).zip(&args.edges) {
        let EdgeArg { from, to, ref query } = *edge;
        let configured = query.algorithm.configure(&query.parameters)?;
        let program = configured.program();
        let mut line = vec![port.into(), from.into(), to.into(), configured.to_string().into()];
        line.extend(resources(&program, &target));
        listing.push(line);
        dag.edge(from, to, port, program)?;
    }
    let packed = dag.program("edges")?;
    let mut line = vec![Value::Null, Value::Null, Value::Null, "all".into()];
    line.extend(resources(&packed, &target));
    listing.push(line);
    listing.print(args.format, NOTES)
}

/// Returns the stages, stateful ALUs, memory and rules of a program on a target, and whether it fits.
fn resources(program: &Program, target: &Target) -> [Value; 5] {
    match fit(program, target) {
        Ok(placement) => [
            placement.stages.len().into(),
            placement.stateful_alus().into(),
            placement.register_bits.div_ceil(8 * 1024).into(),
            (placement.exact_entries + placement.ternary_entries).into(),
            "yes".into(),
        ],
        Err(misfits) => {
            let reason = misfits.first().map(ToString::to_string).unwrap_or_default();
            [Value::Null, Value::Null, Value::Null, Value::Null, format!("no: {reason}").into()]
        }
    }
}

impl From<DagError> for Failure {
    fn from(error: DagError) -> Self {
        let failure = Self::new(error.to_string());
        match error {
            DagError::Circle { .. } => failure.with_hint("Data flow from worker to worker once."),
            _ => failure,
        }
    }
}
