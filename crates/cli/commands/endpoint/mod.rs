//! `sluice endpoint`: tests of a store's features.

mod conformance;
mod probe;

use sluicegate_engine::Engine;
use sluicegate_s3select::capabilities::StoreCapabilities;

use crate::args::{EndpointCommand, StoreArgs};
use crate::failure::Result;

pub(crate) async fn run(command: EndpointCommand) -> Result<()> {
    match command {
        EndpointCommand::Conformance(args) => Box::pin(conformance::run(*args)).await,
        EndpointCommand::Probe(args) => Box::pin(probe::run(*args)).await,
    }
}

/// The hint if samples cannot be written.
const HINT: &str = "Name a bucket in which the access key may write and delete; `sluice endpoint \
                    probe` can also look at an object without writing: --object s3://bucket/key.";

/// Builds an engine that assumes nothing about the store.
async fn connect(store: &StoreArgs) -> Result<Engine> {
    let engine = Engine::builder().connect(store.options()?).profile(StoreCapabilities::unknown());
    Ok(engine.build().await?)
}
