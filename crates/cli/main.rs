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

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use self::args::Args;
use self::failure::{Failure, Result, report_origins};
use self::runtime::compute::{self, Compute};
use self::runtime::scratch::Scratch;

/// How long blocking work, such as a write to disk, may take to end after an interruption.
const GRACE: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(shown) => return show(&shown),
    };
    log_to_stderr();
    if args.verbose {
        report_origins();
    }
    compute::hide_panics();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints help, or what is wrong with the arguments.
fn show(shown: &clap::Error) -> ExitCode {
    match shown.print().and_then(|()| io::stdout().flush()) {
        Err(error) if !shown.use_stderr() => Failure::from(error).report(),
        _ => u8::try_from(shown.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

fn run(args: Args) -> Result<()> {
    let mut scratch = Scratch::default();
    // Its one thread is for signals and for uploads, both of which must go on while queries keep
    // all threads of `compute` busy.
    let control =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut compute = Compute::start()?;
    let outcome = control.block_on(commands::run(args.command, &mut compute, &mut scratch));
    drop(compute);
    control.shutdown_timeout(GRACE);
    outcome
}

/// `RUST_LOG` says what is logged; without it, errors that nothing else reports. A store's answer
/// to a bad request is for the client to report.
fn log_to_stderr() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error,s3s=off"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    log.with_ansi(io::stderr().is_terminal()).init();
}
