//! The signals that the process receives.
//!
//! Once a handler is installed, a signal no longer ends the process. So all signals are recorded from then on, in
//! their order, and a later waiter also receives those that came before.

use std::sync::OnceLock;

use tokio::sync::watch;

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C (SIGINT).
    Interrupt,
    /// A termination request (SIGTERM).
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no such signal here"))]
    Terminate,
    /// SIGHUP: the terminal was closed.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no such signal here"))]
    HangUp,
}

impl Signal {
    /// Returns the exit code of a process that the signal stops: 128 plus the signal's number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::HangUp => 129,
        }
    }
}

/// The received signals in their order.
#[derive(Debug)]
pub(crate) struct Signals(watch::Sender<Vec<Signal>>);

impl Signals {
    /// Returns the signals of this process. The first call installs the handlers.
    pub(crate) fn of_process() -> &'static Self {
        static ALL: OnceLock<Signals> = OnceLock::new();
        ALL.get_or_init(|| {
            let all = Self::none();
            if let Err(error) = listen(all.0.clone()) {
                tracing::warn!("cannot listen for signals: {error}");
            }
            all
        })
    }

    fn none() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }

    /// Returns the number of signals so far.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Waits for the first signal of some kinds after the first `count` signals; it may have come already. Returns it
    /// with the number of signals up to it.
    pub(crate) async fn after(&self, count: usize, kinds: &[Signal]) -> (Signal, usize) {
        let mut all = self.0.subscribe();
        loop {
            let next = {
                let all = all.borrow_and_update();
                let mut later = all.iter().copied().enumerate().skip(count);
                later.find(|(_, signal)| kinds.contains(signal))
            };
            if let Some((at, signal)) = next {
                return (signal, at + 1);
            }
            if all.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Listens in a thread of its own, so that no signal is lost when another runtime is busy or ends.
#[cfg(unix)]
fn listen(all: watch::Sender<Vec<Signal>>) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut streams = Vec::new();
    {
        let _entered = runtime.enter();
        streams.push((Signal::Interrupt, signal(SignalKind::interrupt())?));
        streams.push((Signal::Terminate, signal(SignalKind::terminate())?));
        // A handler would undo nohup.
        if !ignores_hangup() {
            streams.push((Signal::HangUp, signal(SignalKind::hangup())?));
        }
    }
    let listening = streams.into_iter().map(move |(signal, mut stream)| {
        let all = all.clone();
        async move {
            while stream.recv().await.is_some() {
                all.send_modify(|all| all.push(signal));
            }
        }
    });
    let listening = futures::future::join_all(listening);
    let runtime = Listener(Some(runtime));
    std::thread::Builder::new().name("sluice-signals".to_owned()).spawn(move || {
        if let Some(runtime) = &runtime.0 {
            runtime.block_on(listening);
        }
    })?;
    Ok(())
}

/// A runtime that may be dropped on a thread of another runtime, as when the system refuses the thread for it.
#[cfg(unix)]
struct Listener(Option<tokio::runtime::Runtime>);

#[cfg(unix)]
impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Listens for Ctrl-C, the only signal here.
#[cfg(not(unix))]
fn listen(all: watch::Sender<Vec<Signal>>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut stream = {
        let _entered = runtime.enter();
        tokio::signal::windows::ctrl_c()?
    };
    std::thread::Builder::new().name("sluice-signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            while stream.recv().await.is_some() {
                all.send_modify(|all| all.push(Signal::Interrupt));
            }
        });
    })?;
    Ok(())
}

/// Returns true if SIGHUP was ignored when the process began, as under nohup, or if the system does not report it.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit of the mask is SIGHUP.
    mask.is_none_or(|mask| mask & 1 != 0)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_signal_that_came_before_anybody_listened_is_heard() {
        let all = Signals::none();
        let note = |signal| all.0.send_modify(|all| all.push(signal));
        let heard = |count, kinds: &[Signal]| all.after(count, kinds).now_or_never();
        assert_eq!(heard(0, &[Signal::Interrupt]), None);
        note(Signal::HangUp);
        note(Signal::Terminate);
        assert_eq!(heard(0, &[Signal::Terminate]), Some((Signal::Terminate, 2)));
        assert_eq!(heard(0, &[Signal::Interrupt]), None);
        // A signal stops one piece of work, and not the next one, too.
        assert_eq!(heard(2, &[Signal::Terminate]), None);
        assert_eq!(all.count(), 2);
        let mut waiting = Box::pin(all.after(2, &[Signal::Interrupt, Signal::Terminate]));
        assert_eq!((&mut waiting).now_or_never(), None);
        note(Signal::HangUp);
        note(Signal::Interrupt);
        assert_eq!(waiting.now_or_never(), Some((Signal::Interrupt, 4)));
    }

    /// The handlers are installed as soon as the first call returns.
    #[cfg(unix)]
    #[test]
    fn a_signal_to_the_process_is_noted() {
        let all = Signals::of_process();
        let before = all.count();
        let id = std::process::id().to_string();
        let sent = std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (signal, count) = runtime.block_on(all.after(before, &[Signal::Terminate]));
        assert_eq!((signal, count), (Signal::Terminate, before + 1));
    }
}
