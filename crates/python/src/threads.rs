//! The threads of the engine, and waiting for them.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use sluicegate_engine::STACK_BYTES;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use crate::error::{forked, lost, no_threads};
use crate::process::OfProcess;

/// Name of the threads.
const NAME: &str = "sluice-compute";
/// Time between two checks for Ctrl-C.
pub(crate) const POLL: Duration = Duration::from_millis(50);
/// Time that stopped work gets to end before its threads are given up.
const PATIENCE: Duration = Duration::from_millis(500);

/// The threads of this process, which all connections share. They start with the first connection and end with the
/// process.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Queries and stores run here.
    compute: Mutex<Arc<Compute>>,
    /// One thread for uploads, which go on while queries keep all threads of `compute` busy.
    pub(crate) control: Runtime,
}

/// A runtime, one thread per core. Its threads end when nobody uses it any more, or when they are no longer busy then.
#[derive(Debug)]
pub(crate) struct Compute(Option<Runtime>);

/// The threads, if there are any. The lock is held only while attached to the interpreter, and a fork needs that, too:
/// no child inherits a locked lock.
static THREADS: Mutex<Option<Arc<OfProcess<Threads>>>> = Mutex::new(None);

impl Threads {
    /// Returns the threads of this process, which the first call starts.
    ///
    /// # Errors
    ///
    /// If the system refuses threads, or in a child of a process that has them: the locks of libraries still list the
    /// threads of the parent, which the child does not have, and it would crash.
    pub(crate) fn of_process(_py: Python<'_>) -> PyResult<Arc<OfProcess<Self>>> {
        let mut current = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(threads) = current.as_ref() {
            return if threads.is_here() { Ok(Arc::clone(threads)) } else { Err(forked()) };
        }
        let threads = Self::start().map_err(|error| no_threads(&error))?;
        let threads = Arc::new(OfProcess::new(threads));
        *current = Some(Arc::clone(&threads));
        Ok(threads)
    }

    fn start() -> std::io::Result<Self> {
        let mut control = Builder::new_multi_thread();
        Ok(Self {
            compute: Mutex::new(Arc::new(Compute::start()?)),
            control: control.enable_all().thread_name(NAME).worker_threads(1).build()?,
        })
    }

    /// Returns the runtime for new work, which keeps it as long as it runs.
    pub(crate) fn compute(&self) -> Arc<Compute> {
        Arc::clone(&self.compute.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits a moment for a task that was stopped. If it still keeps a thread busy, such as a join of millions of rows
    /// in one step, later work gets other threads.
    pub(crate) fn leave(&self, py: Python<'_>, used: &Arc<Compute>, task: &AbortHandle) {
        let begun = Instant::now();
        while !task.is_finished() {
            if begun.elapsed() > PATIENCE {
                let mut compute = self.compute.lock().unwrap_or_else(PoisonError::into_inner);
                // If the system refuses more threads, later work waits.
                if Arc::ptr_eq(&compute, used)
                    && let Ok(fresh) = Compute::start()
                {
                    *compute = Arc::new(fresh);
                }
                return;
            }
            py.detach(|| thread::sleep(POLL / 10));
        }
    }

    /// Runs work on the compute threads and waits for its result. Ctrl-C stops the work.
    ///
    /// # Errors
    ///
    /// The exception of a signal's handler, mostly `KeyboardInterrupt`, and a panic of the work.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> PyResult<T> {
        let compute = self.compute();
        let mut stopped = None;
        let result = wait_on(compute.runtime()?, py, work, |task| stopped = Some(task));
        if let Some(task) = stopped {
            self.leave(py, &compute, &task);
        }
        result
    }
}

impl Compute {
    fn start() -> std::io::Result<Self> {
        let mut threads = Builder::new_multi_thread();
        let threads = threads.enable_all().thread_name(NAME).thread_stack_size(STACK_BYTES);
        Ok(Self(Some(threads.build()?)))
    }

    /// Returns the runtime.
    pub(crate) fn runtime(&self) -> PyResult<&Runtime> {
        self.0.as_ref().ok_or_else(|| lost("the runtime"))
    }
}

impl Drop for Compute {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Dropping it would wait for busy threads.
            runtime.shutdown_background();
        }
    }
}

/// Runs work on one of the runtimes; see [`Threads::wait`]. `stopped` gets the task of work that was stopped.
pub(crate) fn wait_on<T: Send + 'static>(
    runtime: &Runtime,
    py: Python<'_>,
    work: impl Future<Output = T> + Send + 'static,
    stopped: impl FnOnce(AbortHandle),
) -> PyResult<T> {
    let (send, mut receive) = sync_channel(1);
    let task = runtime.spawn(async move {
        // Nobody receives the result of work that was stopped.
        let _ = send.send(work.await);
    });
    loop {
        let (back, received) = py.detach(move || {
            let received = receive.recv_timeout(POLL);
            (receive, received)
        });
        receive = back;
        match received {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals() {
                    task.abort();
                    stopped(task.abort_handle());
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(lost("the work")),
        }
    }
}

/// Stops a task when it is dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(pub(crate) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Hides panics on the engine's threads, because they are raised as exceptions. Only the first call has an effect.
pub(crate) fn hide_panics() {
    static HIDDEN: std::sync::Once = std::sync::Once::new();
    HIDDEN.call_once(|| {
        let show: Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync> =
            std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(NAME) {
                show(panic);
            }
        }));
    });
}
