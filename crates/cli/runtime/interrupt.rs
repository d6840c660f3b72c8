//! Ctrl-C and its like.

use crate::failure::{Failure, Result};

/// Exit code of a process that Ctrl-C stopped: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// Does the work, unless the process is asked to stop first: then the work is dropped where it
/// is, and with it its temporary files.
pub(crate) async fn interruptible<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::select! {
        // Listening begins before the work does.
        biased;
        code = asked_to_stop() => Err(Failure::Stopped(code)),
        result = work => result,
    }
}

/// Waits for Ctrl-C, or for a polite kill; returns the exit code that tells which.
pub(crate) async fn asked_to_stop() -> u8 {
    tokio::select! {
        () = control_c() => INTERRUPTED,
        code = terminated() => code,
    }
}

/// Waits for Ctrl-C.
pub(crate) async fn control_c() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!("cannot listen for Ctrl-C: {error}");
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn terminated() -> u8 {
    use tokio::signal::unix::{SignalKind, signal};

    /// 128 + SIGTERM
    const TERMINATED: u8 = 143;
    if let Ok(mut signals) = signal(SignalKind::terminate())
        && signals.recv().await.is_some()
    {
        return TERMINATED;
    }
    std::future::pending().await
}

#[cfg(not(unix))]
async fn terminated() -> u8 {
    std::future::pending().await
}
