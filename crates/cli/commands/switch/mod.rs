//! `sluice switch`: runs, places, prints and checks the programs of the pruning switch.
//!
//! Each command has a file of its name, but `master` is `sluice switch time 9 --measure`, and `together` is
//! `sluice switch fit --together`. `input` and `decimals` read the entries for several commands, and `workload` has the
//! workloads of `sluice switch run`.

mod dag;
mod decimals;
mod examples;
mod fit;
pub(crate) mod input;
mod master;
mod p4;
mod plan;
mod protocol;
mod run;
mod sweep;
mod theory;
mod time;
mod together;
mod topology;
mod trace;
mod udp;
mod workload;

use std::path::Path;

use sluicegate_pruning::ConfigError;
use sluicegate_pruning::algorithm::catalog::{Algorithm, CatalogError, Parameters};
use sluicegate_pruning::deployment::PlacementError;
use sluicegate_pruning::experiment::route::{Route, RouteError};
use sluicegate_pruning::experiment::trial::TrialError;
use sluicegate_pruning::p4::P4Error;
use sluicegate_pruning::protocol::{Copies, Flow, reliable};
use sluicegate_pruning::switch::{Program, Target};

use crate::args::parameters::ParameterArgs;
use crate::args::switch::{SwitchArgs, SwitchCommand, Variant};
use crate::failure::{Failure, Result};
use crate::runtime::input::text_of;

/// Runs a command of `sluice switch`. No command waits for anything, so a signal ends the process at once.
pub(crate) fn run(args: SwitchArgs) -> Result<()> {
    match args.command {
        SwitchCommand::Run(args) => run::run(&args),
        SwitchCommand::Examples(args) => examples::run(&args),
        SwitchCommand::Fit(args) => fit::run(&args),
        SwitchCommand::P4(args) => p4::run(&args),
        SwitchCommand::Plan(args) => plan::run(&args),
        SwitchCommand::Trace(args) => trace::run(&args),
        SwitchCommand::Theory(args) => theory::run(&args),
        SwitchCommand::Protocol(args) => protocol::run(&args),
        SwitchCommand::Sweep(args) => sweep::run(&args),
        SwitchCommand::Topology(args) => topology::run(&args),
        SwitchCommand::Dag(args) => dag::run(&args),
        SwitchCommand::Time(args) => time::run(&args),
        SwitchCommand::Udp(args) => udp::run(&args),
        SwitchCommand::UdpNode => udp::node::run(),
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        Self::new(error.to_string()).with_hint(
            "`sluice switch fit` lists the algorithms; --help of a command the parameters.",
        )
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        CatalogError::from(error).into()
    }
}

impl From<P4Error> for Failure {
    fn from(error: P4Error) -> Self {
        Self::new(error.to_string())
            .with_hint("Print it for Tofino 2 with --arch t2na, or for BMv2 with --arch v1model.")
    }
}

impl From<TrialError> for Failure {
    fn from(error: TrialError) -> Self {
        let hint = match &error {
            TrialError::Values(_) => {
                "Name as many columns with --column as a packet carries values."
            }
            _ => "This is a bug: please report it with the command.",
        };
        Self::new(error.to_string()).with_hint(hint)
    }
}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        match error {
            RouteError::Catalog(error) => error.into(),
            RouteError::Trial(error) => error.into(),
            RouteError::Tree(error) => error.into(),
            RouteError::NeedsEveryEntry(_) => Self::new(error.to_string()).with_hint(
                "Leave --per-packet out, or take filter, distinct, top-n, group-by or skyline.",
            ),
            other => Self::new(other.to_string()),
        }
    }
}

impl From<PlacementError> for Failure {
    fn from(error: PlacementError) -> Self {
        Self::new(format!("there is no plan: {error}"))
            .with_hint("Ask for less, or for a larger switch with --target.")
    }
}

/// Returns the program of an algorithm on its route, in the paper's or the released variant.
fn program(
    algorithm: Algorithm,
    parameters: &ParameterArgs,
    variant: Variant,
    route: Route,
) -> Result<Program> {
    let given = parameters.parameters();
    match variant {
        Variant::Paper => Ok(route.program(algorithm, &given)?),
        Variant::Released if route != Route::default() => {
            Err(Failure::Usage("packets of the released programs carry one entry".to_owned()))
        }
        Variant::Released => Ok(algorithm.released(&given)?),
    }
}

/// Puts the reliability protocol for `workers` in front of a program; returns the program itself for `None`.
fn with_protocol(program: Program, algorithm: Algorithm, workers: Option<u16>) -> Result<Program> {
    let Some(workers) = workers else { return Ok(program) };
    let flows = Flow::of_workers(algorithm.entry().carries, workers);
    let copies = Copies::before(&*algorithm.configure(&Parameters::default())?);
    Ok(reliable(&program, &flows, copies)?)
}

/// Returns the built-in target of this name, or reads one from a file.
fn target(name: &str) -> Result<Target> {
    if let Some(target) = Target::named(name) {
        return Ok(target);
    }
    let path = Path::new(name);
    let text = text_of(path).map_err(|failure| {
        failure.with_hint("Targets are tofino1, tofino2, paper, or a TOML file of limits.")
    })?;
    Target::from_toml(&text).map_err(|error| {
        let error = error.to_string();
        let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
        Failure::new(format!("`{name}`: {error}")).with_hint(
            "Such a file has `base = 'tofino1'` and the limits that differ: `stages = 10`.",
        )
    })
}
