//! The workloads of `sluice switch run`: generated tables, and the queries over them whose entries cross the switch.

mod bigdata;
mod tpch;

use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Configured, Parameters};
use sluicegate_pruning::deployment::Flow;
use sluicegate_pruning::deployment::pack::{Query, pack};
use sluicegate_pruning::encoding::{fingerprint, nonzero_bits};
use sluicegate_pruning::experiment::route::Route;
use sluicegate_pruning::experiment::trial::{self, Effect, Run, Trial};
use sluicegate_pruning::switch::{Program, Target, fit};

use super::run::{counted, header, notes};
use crate::args::switch::{RunArgs, Workload};
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;

const HEADER: [&str; 3] = ["query", "algorithm", "parameters"];
/// The columns of a query's program.
const RESOURCES: [&str; 5] = ["stages", "stateful ALUs", "register KiB", "register bits", "rules"];
const RESOURCES_NOTE: &str = "\
stages, stateful ALUs, registers, rules: of the program on a Tofino with as many stages as it takes; empty if a
register array is too large for a stage. Modelled.
";
/// The largest scale factor whose streams fit in memory.
const MOST_SCALE: f64 = 2.0;

/// Runs the workload that the arguments name.
pub(super) fn run(args: &RunArgs) -> Result<()> {
    let Some(workload) = args.workload else {
        return Err(Failure::Usage("give an --algorithm or a --workload".to_owned()));
    };
    if args.parameters.parameters() != Parameters::default() {
        return Err(Failure::Usage("a workload's parameters are the paper's".to_owned()));
    }
    match workload {
        Workload::Bigdata => bigdata::run(args),
        Workload::TpchQ3 => tpch::run(args),
    }
}

/// Checks that the scale factor is in the range of a workload.
fn check_scale(scale: f64, least: f64) -> Result<()> {
    if (least..=MOST_SCALE).contains(&scale) {
        return Ok(());
    }
    let error = format!("scale factor {scale} is not between {least} and {MOST_SCALE}");
    Err(Failure::new(error).with_hint("Scale 1 is the paper's data and takes 2 GB of memory."))
}

/// The listing of a workload.
struct Results {
    listing: Listing,
    check: Option<usize>,
}

/// A query whose entries cross the switch.
struct Case {
    query: &'static str,
    algorithm: Algorithm,
    given: Parameters,
    route: Route,
    sizes: String,
    /// The paper's number, or what is to be known about ours.
    paper: String,
}

impl Case {
    fn new(query: &'static str, algorithm: Algorithm, given: Parameters, sizes: &str) -> Self {
        let (route, sizes, paper) = (Route::default(), sizes.to_owned(), String::new());
        Self { query, algorithm, given, route, sizes, paper }
    }

    fn paper(self, paper: impl Into<String>) -> Self {
        Self { paper: paper.into(), ..self }
    }
}

/// The counts of a query, and the verdicts on its entries.
struct Measured {
    trial: Trial,
    keep: Vec<Vec<bool>>,
}

/// A query that shares a program with others.
struct PackedQuery<'a> {
    configured: &'a Configured,
    stream: &'a [Run],
    measured: &'a Measured,
}

impl Results {
    fn new(check: Option<usize>) -> Self {
        let mut header = header(&HEADER, check.is_some());
        header.extend(RESOURCES);
        header.push("the paper says");
        Self { listing: Listing::new(&header), check }
    }

    /// Sends a query's stream through its program, and adds a row.
    fn add(&mut self, case: &Case, stream: &[Run], key_words: usize) -> Result<Measured> {
        let Case { algorithm, ref given, route, .. } = *case;
        let configured = algorithm.configure(given)?;
        let sent = route.send(algorithm, given, stream)?;
        let verdicts = (sent.keep.as_slice(), sent.held.as_slice());
        let trial = trial::judge_with(configured.question().as_ref(), stream, verdicts, key_words);
        let checked = self.check.map(|n| match route == Route::default() {
            // This also compares the registers.
            true => Ok(trial::check_first(&configured, stream, n)?),
            false => route.check_first(algorithm, given, stream, n),
        });
        let program = route.program(algorithm, given)?;
        self.push(case, algorithm.name(), &trial, checked.transpose()?, &program);
        Ok(Measured { trial, keep: sent.keep })
    }

    /// Adds a row for queries that were measured one by one and share one program; with --check, the program must
    /// decide as theirs did.
    fn packed(&mut self, case: &Case, queries: &[PackedQuery<'_>]) -> Result<()> {
        let configured: Vec<&Configured> = queries.iter().map(|query| query.configured).collect();
        let program = packed(&configured)?;
        let checked = self.check.map(|n| check_packed(&program, queries, n / queries.len().max(1)));
        let trials: Vec<Trial> = queries.iter().map(|query| query.measured.trial).collect();
        self.together(case, &trials, &program, checked.transpose()?);
        Ok(())
    }

    /// Adds a row with the sums of trials.
    fn together(
        &mut self,
        case: &Case,
        trials: &[Trial],
        program: &Program,
        checked: Option<usize>,
    ) {
        let sum = |of: fn(&Trial) -> usize| trials.iter().map(of).sum();
        let changed = trials.iter().find(|trial| trial.effect != Effect::Unchanged);
        let trial = Trial {
            entries: sum(|trial| trial.entries),
            forwarded: sum(|trial| trial.forwarded),
            optimum: sum(|trial| trial.optimum),
            effect: changed.map_or(Effect::Unchanged, |trial| trial.effect),
        };
        self.push(case, case.algorithm.name(), &trial, checked, program);
    }

    fn push(
        &mut self,
        case: &Case,
        algorithm: &str,
        trial: &Trial,
        checked: Option<usize>,
        program: &Program,
    ) {
        let mut line: Vec<Value> =
            vec![case.query.into(), algorithm.into(), case.sizes.clone().into()];
        line.extend(counted(trial));
        line.extend(checked.map(Value::from));
        line.extend(resources(program));
        line.push(case.paper.clone().into());
        self.listing.push(line);
    }

    fn print(&self, args: &RunArgs, text: &str) -> Result<()> {
        let text = notes(text, self.check.is_some());
        self.listing.print(args.format, &format!("{text}{RESOURCES_NOTE}"))
    }
}

/// Returns the stages, stateful ALUs, memory and rules of a program.
fn resources(program: &Program) -> [Value; RESOURCES.len()] {
    let long = Target { stages: 64, ..Target::tofino1() };
    fit(program, &long).map_or_else(
        |_| std::array::from_fn(|_| Value::Null),
        |placement| {
            [
                placement.stages.len().into(),
                placement.stateful_alus().into(),
                placement.register_bits.div_ceil(8 * 1024).into(),
                placement.register_bits.into(),
                (placement.exact_entries + placement.ternary_entries).into(),
            ]
        },
    )
}

/// Packs queries into one program, each with a flow of its own: a switch that serves whichever comes.
fn packed(queries: &[&Configured]) -> Result<Program> {
    let programs: Vec<Program> = queries.iter().map(|query| query.program()).collect();
    let flows: Vec<[Flow; 1]> = (0..).zip(&programs).map(|(n, _)| [Flow::from(n)]).collect();
    let parts: Vec<Query<'_>> =
        programs.iter().zip(&flows).map(|(program, flows)| Query { program, flows }).collect();
    pack("packed", &parts).map_err(|error| Failure::new(error.to_string()))
}

/// Checks that a packed program decides on the first `entries` entries of each query as the query's own program did,
/// and returns their number.
fn check_packed(program: &Program, queries: &[PackedQuery<'_>], entries: usize) -> Result<usize> {
    let first = |(flow, query): (u16, &PackedQuery<'_>)| -> Option<Run> {
        let run = query.stream.first()?;
        let length = run.len().min(entries);
        let columns = run.columns.iter().map(|column| column[..length].to_vec()).collect();
        Some(Run { flow, columns })
    };
    let stream: Vec<Run> = (0..).zip(queries).filter_map(first).collect();
    let found = trial::through_program(program.clone(), &stream)?;
    let same = found.iter().zip(queries).all(|(found, query)| {
        query.measured.keep.first().is_some_and(|keep| keep.starts_with(found))
    });
    if same {
        return Ok(stream.iter().map(Run::len).sum());
    }
    Err(Failure::new("the packed program decides differently from its queries' own")
        .with_hint("This is a bug: please report it with the command."))
}

/// Returns a fingerprint of 32 bits, not 0.
fn narrow(text: &str) -> u32 {
    nonzero_bits(fingerprint(text.as_bytes(), 0), 32) as u32
}
