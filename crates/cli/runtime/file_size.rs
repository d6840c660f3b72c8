//! The limit on the size of files (`ulimit -f`).

use tokio::runtime::Runtime;

/// Lets writes beyond the limit fail with `EFBIG`, as those to a full disk fail. Without a handler of SIGXFSZ they end
/// the process.
#[cfg(unix)]
pub(crate) fn let_writes_fail(runtime: &Runtime) {
    use tokio::signal::unix::{SignalKind, signal};

    let _entered = runtime.enter();
    // The handler stays when nobody listens any more.
    if let Err(error) = signal(SignalKind::from_raw(nix::libc::SIGXFSZ)) {
        tracing::warn!("cannot handle SIGXFSZ: {error}");
    }
}

/// There is no such signal here.
#[cfg(not(unix))]
pub(crate) fn let_writes_fail(_runtime: &Runtime) {}
