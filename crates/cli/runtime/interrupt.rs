//! Ctrl-C, SIGTERM and SIGHUP.

use std::process;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use datafusion::common::runtime::SpawnedTask;
use sluicegate_engine::Engine;

use crate::failure::{Failure, Result};
use crate::output::progress::say;
use crate::runtime::leftovers;
use crate::runtime::terminal::Terminal;

/// Exit code of a process that Ctrl-C stopped: 128 + SIGINT.
const INTERRUPTED: u8 = 130;
/// Exit code of a process that SIGTERM stopped: 128 + SIGTERM.
#[cfg(unix)]
const TERMINATED: u8 = 143;
/// Exit code of a process whose terminal went away: 128 + SIGHUP.
#[cfg(unix)]
const HUNG_UP: u8 = 129;
/// How long aborting uploads may take after the process was asked to stop.
pub(crate) const ABORT_PATIENCE: Duration = Duration::from_secs(2);
/// How long the process may take to end after that, whatever keeps it.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// The exit code of a process that was asked to stop while a [`watch`] was on; 0 before. Whoever was asked
/// between two pieces of interruptible work stops at the second.
static ASKED: AtomicU8 = AtomicU8::new(0);

/// Does the work, unless the process is asked to stop first: then the work is dropped where it
/// is, and with it its temporary files.
pub(crate) async fn interruptible<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match ASKED.load(Ordering::Relaxed) {
        0 => {}
        code => return Err(Failure::Stopped(code)),
    }
    tokio::select! {
        // Listening begins before the work does.
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
    let asked = move || async move {
        match last_resort {
            LastResort::WhenServerAskedTwice => server_asked_to_stop().await,
            LastResort::Soon | LastResort::WhenAskedTwice => asked_to_stop().await,
        }
    };
    Watch(SpawnedTask::spawn(async move {
        let code = asked().await;
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
            _ = asked() => {}
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
    let terminated = terminated();
    Watch(SpawnedTask::spawn(async move {
        let code = terminated.await;
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
    tokio::select! {
        () = control_c() => INTERRUPTED,
        code = terminated() => code,
    }
}

/// Waits for Ctrl-C or SIGTERM; returns the exit code that tells which.
pub(crate) async fn server_asked_to_stop() -> u8 {
    tokio::select! {
        () = control_c() => INTERRUPTED,
        code = ended() => code,
    }
}

/// Waits for Ctrl-C.
pub(crate) async fn control_c() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!("cannot listen for Ctrl-C: {error}");
        std::future::pending::<()>().await;
    }
}

/// Listens for SIGTERM and SIGHUP from now on, and waits for one; returns its exit code.
#[cfg(unix)]
pub(crate) fn terminated() -> impl Future<Output = u8> {
    let terminated = ended();
    // Listening would take away what nohup is for.
    let hung_up =
        (!ignores_hangup()).then(|| listen(tokio::signal::unix::SignalKind::hangup(), HUNG_UP));
    async move {
        let hung_up = async {
            match hung_up {
                Some(hung_up) => hung_up.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            code = terminated => code,
            code = hung_up => code,
        }
    }
}

/// Listens for SIGTERM from now on, and waits for it; returns its exit code.
#[cfg(unix)]
fn ended() -> impl Future<Output = u8> {
    listen(tokio::signal::unix::SignalKind::terminate(), TERMINATED)
}

/// Listens for a signal from now on, and waits for it; returns the code.
#[cfg(unix)]
fn listen(kind: tokio::signal::unix::SignalKind, code: u8) -> impl Future<Output = u8> {
    let signals = tokio::signal::unix::signal(kind);
    async move {
        if let Ok(mut signals) = signals
            && signals.recv().await.is_some()
        {
            return code;
        }
        std::future::pending().await
    }
}

/// Whether SIGHUP was ignored when the process began, as nohup has it, or that cannot be told.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is the first signal.
    mask.is_none_or(|mask| mask & 1 != 0)
}

/// There is no such signal here.
#[cfg(not(unix))]
fn ended() -> impl Future<Output = u8> {
    std::future::pending()
}

/// There is no such signal here.
#[cfg(not(unix))]
pub(crate) fn terminated() -> impl Future<Output = u8> {
    std::future::pending()
}
