//! `sluice`: SQL over an S3 store, with the work done inside the store.
//!
//! Reading order:
//!
//! 1. `args` parses the command line, and `commands` has a file or folder for each command.
//! 2. `connect` builds an engine from the arguments. `session` runs statements on it, also from a prompt.
//! 3. `output` prints answers, and `failure` prints errors. `suggestions` has hints for mistyped commands.
//! 4. `runtime` handles threads, signals, temporary files and the terminal.
//!
//! The program `sluice` calls [`run`]. The Python package calls [`run_as`], and builds its engines and stores with
//! [`embed`] from the same arguments. Other programs use the crate `sluicegate-engine`.
//!
//! Only this crate prints, reads arguments and exits.

mod args;
mod commands;
mod connect;
pub mod embed;
mod failure;
mod output;
mod runtime;
mod session;
mod suggestions;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches};
use tracing_subscriber::EnvFilter;

use self::args::{Args, help};
use self::failure::{Failure, Result, report_origins};
use self::runtime::compute::{self, Compute};
use self::runtime::file_size;
use self::runtime::program;
use self::runtime::scratch::Scratch;
use self::runtime::terminal;

/// Time that blocking work, such as a write to disk, gets to end after an interruption.
const GRACE: Duration = Duration::from_millis(500);

/// The error for a location with a password. It does not repeat the location.
const PASSWORD: &str = "a location has no user name, no password and no port, as in s3://bucket/key: give keys by \
                        AWS_ACCESS_KEY_ID or a profile, and the store by --endpoint";

/// Columns of help that is not shown on a terminal; clap's default.
const WIDTH: usize = 100;

/// Runs the command in the arguments of this process.
#[must_use]
pub fn run() -> ExitCode {
    ExitCode::from(start(std::env::args_os().collect()))
}

/// Runs a command inside a process of another program, once. `arguments` are those after the program's name. `program`
/// is the executable that runs the command `sluice` in a process of its own, for commands that start further processes.
/// The command handles signals from now on, and may end the process. Returns its exit code.
#[must_use]
pub fn run_as(program: PathBuf, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let typed = std::iter::once(OsString::from("sluice")).chain(arguments).collect();
    program::set(program);
    start(typed)
}

/// Runs the command in a thread with a large stack: column titles are parsed from statements, which may nest deeply.
fn start(typed: Vec<OsString>) -> u8 {
    let thread = std::thread::Builder::new().stack_size(compute::STACK_BYTES);
    match thread.spawn(|| command(typed)).map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => 1,
        Err(error) => compute::refused_threads(&error.to_string()).report(),
    }
}

fn command(typed: Vec<OsString>) -> u8 {
    let width = terminal::width().unwrap_or(WIDTH);
    let command = help::with_whole_examples(Args::command(), width);
    let typed: Vec<_> = typed.into_iter().map(suggestions::with_space_before_comment).collect();
    if suggestions::has_password(&typed) {
        // The parser's error would repeat the password.
        return Failure::Usage(PASSWORD.to_owned()).report();
    }
    let parsed = command.clone().try_get_matches_from(typed).and_then(|typed| {
        Args::from_arg_matches(&typed).map_err(|error| error.format(&mut command.clone()))
    });
    let args = match parsed {
        Ok(args) => args,
        Err(shown) => return show(&shown),
    };
    log_to_stderr();
    if args.verbose {
        report_origins();
    }
    compute::hide_panics();
    match execute(args) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// Prints help to stdout, or an error of the arguments to stderr.
fn show(shown: &clap::Error) -> u8 {
    let is_help = !shown.use_stderr();
    let is_terminal = if is_help { io::stdout().is_terminal() } else { io::stderr().is_terminal() };
    let text = shown.render();
    let text = match terminal::wants_colour() && is_terminal {
        true => text.ansi().to_string(),
        false => text.to_string(),
    };
    let text = help::shown(&text);
    if is_help {
        let mut out = io::stdout();
        return match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => 0,
            Err(error) => Failure::from(error).report(),
        };
    }
    let hint = suggestions::hint(shown);
    let text = match &hint {
        // Our hint is better than clap's tip.
        Some(_) => without_tip(&text),
        None => text,
    };
    let hint = hint.map_or_else(String::new, |hint| format!("hint: {hint}\n"));
    // If stderr is closed, only the exit code reports the error.
    drop(io::stderr().write_all((about_numbers(text) + &hint).as_bytes()));
    u8::try_from(shown.exit_code()).unwrap_or(1)
}

/// Removes clap's tip from an error of the arguments, because the tip may be far off.
fn without_tip(text: &str) -> String {
    let kept = text.split("\n\n").filter(|part| !part.trim_start().starts_with("tip: "));
    kept.collect::<Vec<_>>().join("\n\n")
}

/// Replaces the standard library's messages about numbers with words for users.
fn about_numbers(text: String) -> String {
    const WORDS: [(&str, &str); 7] = [
        ("invalid digit found in string", "it is no whole number"),
        ("cannot parse integer from empty string", "it is no whole number"),
        ("number too large to fit in target type", "it is too large"),
        ("number too small to fit in target type", "it is too small"),
        ("number would be zero for non-zero type", "it must be 1 or more"),
        ("invalid float literal", "it is no number"),
        ("cannot parse float from empty string", "it is no number"),
    ];
    WORDS.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}

fn execute(args: Args) -> Result<()> {
    let mut scratch = Scratch::default();
    // The one thread of this runtime handles signals and uploads, both of which must go on while queries keep all
    // threads of `compute` busy.
    let control =
        compute::build(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all())?;
    file_size::let_writes_fail(&control);
    let mut compute = Compute::start()?;
    let outcome = control.block_on(commands::run(args.command, &mut compute, &mut scratch));
    drop(compute);
    control.shutdown_timeout(GRACE);
    outcome
}

/// Logs to stderr with the filter in `RUST_LOG`. The default filter logs only errors that nothing else reports: a
/// store's answer to a bad request is left to the client.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("error,s3s=off,delta_kernel=off"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    log.with_ansi(io::stderr().is_terminal()).init();
}
