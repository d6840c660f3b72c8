//! The threads on which queries run.

use std::any::Any;
use std::cell::Cell;
use std::time::Duration;

use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use futures::StreamExt;
pub(crate) use sluicegate_engine::STACK_BYTES;
use sluicegate_engine::{Engine, Query};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::failure::{Failure, Result, without_codes};

/// Name of the threads.
const THREADS: &str = "sluice-compute";
/// Time that stopped work gets to end.
const GRACE: Duration = Duration::from_millis(500);
/// Batches of an answer that may wait for the output.
const PREFETCH_BATCHES: usize = 2;

/// A runtime for queries, separate from the thread that handles signals and writes answers: an operator that keeps
/// all compute threads busy for minutes does not delay Ctrl-C.
#[derive(Debug)]
pub(crate) struct Compute {
    /// `None` only while it is replaced or dropped.
    runtime: Option<Runtime>,
}

impl Compute {
    /// Starts the threads, one per core.
    pub(crate) fn start() -> Result<Self> {
        Ok(Self { runtime: Some(start()?) })
    }

    /// Runs work on these threads. Dropping the future stops the work at its next await.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.threads()?.run(work).await
    }

    /// Plans and starts a statement on these threads. Dropping the answer stops it.
    pub(crate) async fn query(
        &self,
        engine: &Engine,
        statement: &str,
    ) -> Result<SendableRecordBatchStream> {
        let asked = RunOptions { kept: RecordLevel::Counts, first: None };
        Ok(self.plan(engine, statement, asked).await?.answer)
    }

    /// Plans and starts a statement. Also returns the query, which counts its requests and collects its warnings.
    pub(crate) async fn plan(
        &self,
        engine: &Engine,
        statement: &str,
        asked: RunOptions,
    ) -> Result<RunningStatement> {
        let (engine, statement) = (engine.clone(), statement.to_owned());
        let planned = async move {
            let query = match asked.kept {
                RecordLevel::Counts => Box::pin(engine.plan(&statement)).await?,
                RecordLevel::Everything => Box::pin(engine.query_recorded(&statement)).await?,
            };
            let first = asked.first.map(|rows| query.first(rows)).transpose()?.flatten();
            let limited = first.is_some();
            Ok((first.unwrap_or(query), limited))
        };
        let (query, limited) = self.run(planned).await?;
        let answer = self.threads()?.start(query.clone());
        Ok(RunningStatement { answer, query, limited })
    }

    /// Returns a handle for sessions that run their statements on these threads at the same time.
    pub(crate) fn threads(&self) -> Result<Threads> {
        Ok(Threads(self.runtime()?.handle().clone()))
    }

    /// Replaces the threads. Stopped work keeps the old ones until it ends.
    pub(crate) fn renew(&mut self) -> Result<()> {
        if let Some(old) = self.runtime.replace(start()?) {
            old.shutdown_background();
        }
        Ok(())
    }

    fn runtime(&self) -> Result<&Runtime> {
        self.runtime.as_ref().ok_or_else(stopped)
    }
}

impl Drop for Compute {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

/// A handle of the threads on which queries run.
#[derive(Debug, Clone)]
pub(crate) struct Threads(Handle);

impl Threads {
    /// Runs work on the threads. Dropping the future stops the work at its next await.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let mut task = AbortOnDrop(self.0.spawn(work));
        (&mut task.0).await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => Err(panicked(panic.as_ref())),
            Err(_) => Err(stopped()),
        })
    }

    /// Starts a planned query. Dropping the answer stops it.
    pub(crate) fn start(&self, query: Query) -> SendableRecordBatchStream {
        let mut answer = RecordBatchReceiverStreamBuilder::new(query.schema(), PREFETCH_BATCHES);
        let batches = answer.tx();
        let work = async move {
            // The engine turns panics of the stream into errors.
            let mut stream = Box::pin(query.start()).await?;
            while let Some(batch) = stream.next().await {
                if batches.send(batch).await.is_err() {
                    break;
                }
            }
            Ok(())
        };
        answer.spawn_on(work, &self.0);
        answer.build()
    }
}

/// Options of a query in addition to its statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOptions {
    /// The records that the query keeps.
    pub(crate) kept: RecordLevel,
    /// The number of rows that the caller needs; no more are computed if that is possible.
    pub(crate) first: Option<usize>,
}

/// A running statement.
pub(crate) struct RunningStatement {
    /// The rows; dropping the stream stops the statement.
    pub(crate) answer: SendableRecordBatchStream,
    /// The query, with its counts and warnings.
    pub(crate) query: Query,
    /// True if the answer was limited to fewer rows than it may have.
    pub(crate) limited: bool,
}

/// The records that a query keeps of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordLevel {
    /// Only counts.
    Counts,
    /// Counts, the plan, the decisions and each request.
    Everything,
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn start() -> Result<Runtime> {
    let mut threads = Builder::new_multi_thread();
    build(threads.enable_all().thread_name(THREADS).thread_stack_size(STACK_BYTES))
}

thread_local! {
    /// True while this thread builds a runtime.
    static STARTING: Cell<bool> = const { Cell::new(false) };
}

/// Builds a runtime. If the system refuses a thread, the process ends at once: Tokio panics then, and its unwinding
/// waits for the threads that have started.
///
/// # Errors
///
/// If the system refuses anything else.
pub(crate) fn build(threads: &mut Builder) -> Result<Runtime> {
    STARTING.set(true);
    let built = threads.build();
    STARTING.set(false);
    built.map_err(|error| refused_threads(&error.to_string()))
}

/// Builds the error for a system that has no memory or threads for this process.
pub(crate) fn refused_threads(why: &str) -> Failure {
    Failure::new(format!(
        "the system refuses this process memory or threads: {}",
        without_codes(why)
    ))
    .with_hint("Give it more: ulimit -v shows the limit of memory, ulimit -u that of threads.")
}

/// Hides panics on the compute threads, because commands report them as errors. A panic while a runtime is built ends
/// the process with an error.
pub(crate) fn hide_panics() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match std::thread::current().name() {
        Some(THREADS) => tracing::debug!(%panic, "a thread of queries"),
        _ if STARTING.get() => {
            let why = panic.payload_as_str().unwrap_or("it does not say why");
            refused_threads(why.strip_prefix("OS can't spawn worker thread: ").unwrap_or(why))
                .report();
            std::process::exit(1);
        }
        _ => show(panic),
    }));
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    sluicegate_engine::Error::panicked("the command", panic).into()
}

fn stopped() -> Failure {
    Failure::new("the work was stopped")
}
