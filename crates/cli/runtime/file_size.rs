//! The limit on the size of files (`ulimit -f`).

use tokio::runtime::Runtime;

/// Makes writes beyond the limit fail with `EFBIG`, like writes to a full disk. Without a handler, SIGXFSZ ends the
/// process.
#[cfg(unix)]
pub(crate) fn let_writes_fail(runtime: &Runtime) {
    use tokio::signal::unix::{SignalKind, signal};

    let _entered = runtime.enter();
    // The handler stays installed when the receiver is dropped.
    if let Err(error) = signal(SignalKind::from_raw(nix::libc::SIGXFSZ)) {
        tracing::warn!("cannot handle SIGXFSZ: {error}");
    }
}

/// Does nothing on systems without this signal.
#[cfg(not(unix))]
pub(crate) fn let_writes_fail(_runtime: &Runtime) {}
