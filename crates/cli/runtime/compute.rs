//! The threads that queries run on.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use futures::StreamExt;
pub(crate) use sluicegate_engine::STACK_BYTES;
use sluicegate_engine::{Engine, Query};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::failure::{Failure, Result, without_codes};

/// The name of each of them.
const THREADS: &str = "sluice-compute";
/// How long work that was stopped may take to notice.
const GRACE: Duration = Duration::from_millis(500);
/// Batches of an answer that are computed ahead of the output.
const BATCHES_AHEAD: usize = 2;

/// Threads apart from the one that listens to signals and writes answers: an operator that keeps
/// all of these busy for minutes does not keep Ctrl-C from being heard.
#[derive(Debug)]
pub(crate) struct Compute {
    /// `None` only while it is being replaced or dropped.
    runtime: Option<Runtime>,
}

impl Compute {
    /// Starts the threads, one per core.
    pub(crate) fn start() -> Result<Self> {
        Ok(Self { runtime: Some(start()?) })
    }

    /// Does the work there; dropping the future stops the work where it next waits.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let mut task = AbortOnDrop(self.runtime()?.spawn(work));
        (&mut task.0).await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => Err(panicked(panic.as_ref())),
            Err(_) => Err(stopped()),
        })
    }

    /// Plans and starts a statement there; dropping the answer stops it.
    pub(crate) async fn query(
        &self,
        engine: &Engine,
        statement: &str,
    ) -> Result<SendableRecordBatchStream> {
        let asked = Asked { kept: Kept::Counts, first: None };
        Ok(self.plan(engine, statement, asked).await?.answer)
    }

    /// The same, with the query itself, which counts its requests and collects its warnings.
    pub(crate) async fn plan(
        &self,
        engine: &Engine,
        statement: &str,
        asked: Asked,
    ) -> Result<Started> {
        let (engine, statement) = (engine.clone(), statement.to_owned());
        let planned = async move {
            let query = match asked.kept {
                Kept::Counts => Box::pin(engine.plan(&statement)).await?,
                Kept::Everything => Box::pin(engine.profile(&statement)).await?,
            };
            let first = asked.first.map(|rows| query.first(rows)).transpose()?.flatten();
            let limited = first.is_some();
            Ok((first.unwrap_or(query), limited))
        };
        let (query, limited) = self.run(planned).await?;
        let started = query.clone();
        let schema = Arc::new(query.frame().schema().as_arrow().clone());
        let mut answer = RecordBatchReceiverStreamBuilder::new(schema, BATCHES_AHEAD);
        let batches = answer.tx();
        let work = async move {
            // Its panics are errors already.
            let mut stream = Box::pin(started.start()).await?;
            while let Some(batch) = stream.next().await {
                if batches.send(batch).await.is_err() {
                    break;
                }
            }
            Ok(())
        };
        answer.spawn_on(work, self.runtime()?.handle());
        Ok(Started { answer: answer.build(), query, limited })
    }

    /// Goes on with new threads. Work that was stopped keeps the old ones until it notices.
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

/// What is asked of a query beside its statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// What it keeps.
    pub(crate) kept: Kept,
    /// How many rows of it are looked at; where that is possible, no more are computed.
    pub(crate) first: Option<usize>,
}

/// A statement that runs.
pub(crate) struct Started {
    /// Its rows; dropping them stops it.
    pub(crate) answer: SendableRecordBatchStream,
    /// What counts its requests and collects its warnings.
    pub(crate) query: Query,
    /// Whether it was asked for fewer rows than it might have.
    pub(crate) limited: bool,
}

/// What a query keeps of what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// What it counted.
    Counts,
    /// Its plan, its decisions and each of its requests, too.
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
    /// Whether this thread starts others.
    static STARTING: Cell<bool> = const { Cell::new(false) };
}

/// Starts the threads of a runtime. If the system refuses one, the process ends: Tokio panics then, and waits, while it
/// unwinds, for the threads that it has.
///
/// # Errors
///
/// If the system refuses something else.
pub(crate) fn build(threads: &mut Builder) -> Result<Runtime> {
    STARTING.set(true);
    let built = threads.build();
    STARTING.set(false);
    built.map_err(|error| refused_threads(&error.to_string()))
}

/// What is said if the system has no room for this process.
pub(crate) fn refused_threads(why: &str) -> Failure {
    Failure::new(format!(
        "the system refuses this process memory or threads: {}",
        without_codes(why)
    ))
    .with_hint("Give it more: ulimit -v shows the limit of memory, ulimit -u that of threads.")
}

/// Panics on these threads become errors of commands, beside which they are not shown.
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
