//! Reactions to Ctrl-C, SIGTERM and SIGHUP.

use std::process;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use datafusion::common::runtime::SpawnedTask;
use futures::FutureExt;
use sluicegate_engine::Engine;

use crate::failure::{Failure, Result};
use crate::output::progress::print_line;
use crate::runtime::cleanup;
use crate::runtime::signals::{Signal, Signals};
use crate::runtime::terminal::Terminal;

/// Time to abort uploads after the process got a signal.
pub(crate) const ABORT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time after a signal until the process exits, whatever it is doing.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The exit code of the signal that a [`watch`] has received; 0 before. Interruptible work that begins after the
/// signal stops at once.
static STOP_SIGNAL: AtomicU8 = AtomicU8::new(0);
/// Number of signals that have stopped work. A signal that comes while nothing listens, such as between two pieces of
/// interruptible work, stops the next piece.
static HANDLED: AtomicUsize = AtomicUsize::new(0);

/// Runs work until a signal comes. Then the work is dropped, and its temporary files are removed with it.
pub(crate) async fn interruptible<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match STOP_SIGNAL.load(Ordering::Relaxed) {
        0 => {}
        code => return Err(Failure::Stopped(code)),
    }
    tokio::select! {
        // After an earlier signal, the work does not begin.
        biased;
        code = stop_requested() => Err(Failure::Stopped(code)),
        result = work => result,
    }
}

/// Runs work that writes to a store. After a signal, its uploads are aborted, and the outcome is printed.
pub(crate) async fn interruptible_writes<T>(
    engine: &Engine,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let result = interruptible(work).await;
    if matches!(result, Err(Failure::Stopped(_))) {
        print_line(abort_writes(engine).await);
    }
    result
}

/// Aborts unfinished uploads within two seconds. Returns a description of the outcome.
pub(crate) async fn abort_writes(engine: &Engine) -> &'static str {
    match tokio::time::timeout(ABORT_TIMEOUT, engine.abort_writes()).await {
        Ok(0) => "stopped",
        Ok(_) => "stopped, when everything was written: the new objects are there",
        Err(_) => {
            "stopped, while the store was still busy with what was written: some new objects may be there, \
             uploads unfinished, and old ones that were to be replaced not removed"
        }
    }
}

/// Exits the process at the second signal, or some time after the first. The thread that should end the process may
/// be busy, for example with writing to a pipe that nobody reads.
pub(crate) fn watch(last_resort: LastResort) -> InterruptGuard {
    let kinds = match last_resort {
        LastResort::WhenServerAskedTwice => SERVER,
        LastResort::Soon | LastResort::WhenAskedTwice => ALL,
    };
    // Signals are received from here on, before the work begins.
    let signals = Signals::of_process();
    let handled = HANDLED.load(Ordering::Relaxed);
    InterruptGuard(SpawnedTask::spawn(async move {
        let (signal, count) = signals.after(handled, kinds).await;
        let code = signal.code();
        STOP_SIGNAL.store(code, Ordering::Relaxed);
        let patience = async {
            match last_resort {
                LastResort::Soon => tokio::time::sleep(EXIT_TIMEOUT).await,
                LastResort::WhenAskedTwice | LastResort::WhenServerAskedTwice => {
                    std::future::pending().await
                }
            }
        };
        tokio::select! {
            _ = signals.after(count, kinds) => {}
            () = patience => {}
        }
        if let Some(words) = cleanup::words() {
            print_line(&words);
        }
        process::exit(i32::from(code));
    }))
}

/// Exits the process at SIGTERM or SIGHUP, which a prompt that reads a line does not notice.
pub(crate) fn watch_prompt(engine: Engine) -> InterruptGuard {
    let terminal = Terminal::save_mode();
    // Signals are received from here on, before the prompt is shown.
    let signals = Signals::of_process();
    let handled = HANDLED.load(Ordering::Relaxed);
    InterruptGuard(SpawnedTask::spawn(async move {
        let (signal, _) = signals.after(handled, &[Signal::Terminate, Signal::HangUp]).await;
        let code = signal.code();
        abort_writes(&engine).await;
        terminal.restore();
        process::exit(i32::from(code));
    }))
}

/// The condition on which a process exits without cleaning up after a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastResort {
    /// After five seconds, or at a second signal.
    Soon,
    /// At a second signal only: the cleaning up has no time limit.
    WhenAskedTwice,
    /// At a second signal only, for a server, which ignores SIGHUP.
    WhenServerAskedTwice,
}

/// A watch, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct InterruptGuard(
    #[expect(dead_code, reason = "held for its Drop")] SpawnedTask<()>,
);

/// Waits for Ctrl-C, SIGTERM or SIGHUP; returns the exit code of the signal.
pub(crate) async fn stop_requested() -> u8 {
    stop_signal(ALL).await
}

/// Waits for Ctrl-C or SIGTERM; returns the exit code of the signal.
pub(crate) async fn server_stop_requested() -> u8 {
    stop_signal(SERVER).await
}

/// The signals that stop a command.
const ALL: &[Signal] = &[Signal::Interrupt, Signal::Terminate, Signal::HangUp];
/// The signals that stop a server. SIGHUP, sent when its terminal closes, does not.
const SERVER: &[Signal] = &[Signal::Interrupt, Signal::Terminate];

async fn stop_signal(kinds: &[Signal]) -> u8 {
    let handled = HANDLED.load(Ordering::Relaxed);
    let (signal, count) = Signals::of_process().after(handled, kinds).await;
    HANDLED.fetch_max(count, Ordering::Relaxed);
    signal.code()
}

/// Returns the exit code of the first signal to stop, if one has come. The first call installs the handlers.
pub(crate) fn stopped() -> Option<u8> {
    let first = Signals::of_process().after(0, ALL).now_or_never();
    first.map(|(signal, _)| signal.code())
}

/// Waits for the next Ctrl-C.
pub(crate) async fn control_c() {
    let signals = Signals::of_process();
    signals.after(signals.count(), &[Signal::Interrupt]).await;
}
