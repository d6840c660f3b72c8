//! Ctrl-C, SIGTERM and SIGHUP.

use std::process;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use datafusion::common::runtime::SpawnedTask;
use sluicegate_engine::Engine;

use crate::failure::{Failure, Result};
use crate::output::progress::say;
use crate::runtime::leftovers;
use crate::runtime::signals::{Signal, Signals};
use crate::runtime::terminal::Terminal;

/// How long aborting uploads may take after the process was asked to stop.
pub(crate) const ABORT_PATIENCE: Duration = Duration::from_secs(2);
/// How long the process may take to end after that, whatever keeps it.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// The exit code of a process that was asked to stop while a [`watch`] was on; 0 before. Whoever was asked
/// between two pieces of interruptible work stops at the second.
static ASKED: AtomicU8 = AtomicU8::new(0);
/// How many signals have stopped something. A later one stops what begins after it, too: it may have come where
/// nothing listened, such as between two pieces of interruptible work.
static HANDLED: AtomicUsize = AtomicUsize::new(0);

/// Does the work, unless the process is asked to stop first: then the work is dropped where it
/// is, and with it its temporary files.
pub(crate) async fn interruptible<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match ASKED.load(Ordering::Relaxed) {
        0 => {}
        code => return Err(Failure::Stopped(code)),
    }
    tokio::select! {
        // Who was asked before does not begin.
        biased;
        code = asked_to_stop() => Err(Failure::Stopped(code)),
        result = work => result,
    }
}

/// The same for work that writes to a store: uploads that it began are aborted. Who stops it is told what
/// became of them.
pub(crate) async fn interruptible_writes<T>(
    engine: &Engine,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let result = interruptible(work).await;
    if matches!(result, Err(Failure::Stopped(_))) {
        say(abort_writes(engine).await);
    }
    result
}

/// Aborts unfinished uploads, for as long as the user should have to wait. Returns how it ended, in words.
pub(crate) async fn abort_writes(engine: &Engine) -> &'static str {
    match tokio::time::timeout(ABORT_PATIENCE, engine.abort_writes()).await {
        Ok(0) => "stopped",
        Ok(_) => "stopped, when everything was written: the new objects are there",
        Err(_) => {
            "stopped, while the store was still busy with what was written: some new objects may be there, \
             uploads unfinished, and old ones that were to be replaced not removed"
        }
    }
}

/// Ends the process at the second request to stop, and some time after the first: the thread that
/// should end it may be busy, for example with writing to a pipe that nobody reads.
pub(crate) fn watch(last_resort: LastResort) -> Watch {
    let kinds = match last_resort {
        LastResort::WhenServerAskedTwice => SERVER,
        LastResort::Soon | LastResort::WhenAskedTwice => ALL,
    };
    // It listens before the work begins.
    let signals = Signals::of_process();
    let handled = HANDLED.load(Ordering::Relaxed);
    Watch(SpawnedTask::spawn(async move {
        let (signal, count) = signals.after(handled, kinds).await;
        let code = signal.code();
        ASKED.store(code, Ordering::Relaxed);
        let patience = async {
            match last_resort {
                LastResort::Soon => tokio::time::sleep(LAST_PATIENCE).await,
                LastResort::WhenAskedTwice | LastResort::WhenServerAskedTwice => {
                    std::future::pending().await
                }
            }
        };
        tokio::select! {
            _ = signals.after(count, kinds) => {}
            () = patience => {}
        }
        if let Some(words) = leftovers::words() {
            say(&words);
        }
        process::exit(i32::from(code));
    }))
}

/// Ends the process at SIGTERM or SIGHUP, which a prompt that reads a line does not notice.
pub(crate) fn watch_prompt(engine: Engine) -> Watch {
    let terminal = Terminal::remember();
    // It listens before the prompt is shown.
    let signals = Signals::of_process();
    let handled = HANDLED.load(Ordering::Relaxed);
    Watch(SpawnedTask::spawn(async move {
        let (signal, _) = signals.after(handled, &[Signal::Terminate, Signal::HangUp]).await;
        let code = signal.code();
        abort_writes(&engine).await;
        terminal.restore();
        process::exit(i32::from(code));
    }))
}

/// When a process that was asked to stop ends without having cleaned up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastResort {
    /// After some seconds, or when it is asked again.
    Soon,
    /// When it is asked again: what it still does takes as long as it takes.
    WhenAskedTwice,
    /// The same for a server, which the end of its terminal does not stop.
    WhenServerAskedTwice,
}

/// A watch that ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Watch(#[expect(dead_code, reason = "held for its Drop")] SpawnedTask<()>);

/// Waits for Ctrl-C, SIGTERM or SIGHUP; returns the exit code that tells which.
pub(crate) async fn asked_to_stop() -> u8 {
    asked_by(ALL).await
}

/// Waits for Ctrl-C or SIGTERM; returns the exit code that tells which.
pub(crate) async fn server_asked_to_stop() -> u8 {
    asked_by(SERVER).await
}

/// What stops a command.
const ALL: &[Signal] = &[Signal::Interrupt, Signal::Terminate, Signal::HangUp];
/// What stops a server, which the end of its terminal does not.
const SERVER: &[Signal] = &[Signal::Interrupt, Signal::Terminate];

async fn asked_by(kinds: &[Signal]) -> u8 {
    let handled = HANDLED.load(Ordering::Relaxed);
    let (signal, count) = Signals::of_process().after(handled, kinds).await;
    HANDLED.fetch_max(count, Ordering::Relaxed);
    signal.code()
}

/// Waits for Ctrl-C from now on.
pub(crate) async fn control_c() {
    let signals = Signals::of_process();
    signals.after(signals.count(), &[Signal::Interrupt]).await;
}
