//! `sluice`: SQL over an S3 store, with the work done inside the store.
//!
//! What was typed is in [`args`]; each command is a file of [`commands`]. Only this crate prints,
//! reads arguments and exits.

mod args;
mod commands;
mod connect;
mod failure;
mod output;
mod runtime;
mod session;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use self::args::Args;
use self::failure::Result;
use self::runtime::scratch::Scratch;

/// Stack of a worker: planning recurses with the depth of a statement.
const STACK_BYTES: usize = 8 << 20;
/// How long blocking work, such as a write to disk, may take to end after an interruption.
const GRACE: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let args = Args::parse();
    log_to_stderr();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(args: Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()?;
    let mut scratch = Scratch::default();
    let outcome = runtime.block_on(commands::run(args.command, &mut scratch));
    runtime.shutdown_timeout(GRACE);
    outcome
}

/// `RUST_LOG` says what is logged; without it, errors that nothing else reports. A store's answer
/// to a bad request is for the client to report.
fn log_to_stderr() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error,s3s=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}
