//! `sluice endpoint`: what a store is.

mod probe;
mod samples;

use crate::args::EndpointCommand;
use crate::failure::Result;

pub(crate) async fn run(command: EndpointCommand) -> Result<()> {
    match command {
        EndpointCommand::Probe(args) => Box::pin(probe::run(*args)).await,
    }
}
