//! `sluice endpoint`: what a store is.

mod conformance;
mod probe;
mod samples;

use crate::args::EndpointCommand;
use crate::failure::Result;

pub(crate) async fn run(command: EndpointCommand) -> Result<()> {
    match command {
        EndpointCommand::Conformance(args) => Box::pin(conformance::run(*args)).await,
        EndpointCommand::Probe(args) => Box::pin(probe::run(*args)).await,
    }
}
