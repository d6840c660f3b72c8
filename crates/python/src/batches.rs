//! Running queries, read batch by batch.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow::array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::compute::cast;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use futures::StreamExt;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use sluicegate_engine::{Error, Query, Result};
use tokio::sync::Semaphore;

use crate::answer::Statement;
use crate::error::{of_engine, other_columns};
use crate::interpreter::{interrupt_again, is_python_thread};
use crate::process::OfProcess;
use crate::threads::{AbortOnDrop, Compute, POLL, Threads};

/// Batches that may wait for their reader.
const PREFETCH_BATCHES: usize = 2;

/// The reason why a query failed.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// An error of the engine.
    Engine(Arc<Error>),
    /// An exception, such as `KeyboardInterrupt`.
    Exception(Arc<PyErr>),
}

impl Failure {
    /// Returns the exception to raise.
    pub(crate) fn to_exception(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Engine(error) => of_engine(error),
            Self::Exception(error) => error.clone_ref(py),
        }
    }

    fn exception(error: PyErr) -> Self {
        Self::Exception(Arc::new(error))
    }

    /// Raises a `KeyboardInterrupt` once more, after the package that reads the stream has raised its own exception.
    fn interrupt_again(&self) {
        if let Self::Exception(error) = self {
            Python::try_attach(|py| {
                if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    interrupt_again(py);
                }
            });
        }
    }

    /// Returns the text for other packages, which raise it as an exception of their own.
    fn text(&self) -> String {
        let text = match self {
            Self::Engine(error) => match error.hint() {
                Some(hint) => format!("{error}\nhint: {hint}"),
                None => error.to_string(),
            },
            Self::Exception(_) => "the query was stopped".to_owned(),
        };
        // The text goes over C.
        text.replace('\0', "")
    }
}

/// The rows of a statement. The query starts with the first call of `next`, and stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Batches {
    statement: Arc<OfProcess<Statement>>,
    schema: SchemaRef,
    state: State,
}

#[derive(Debug)]
enum State {
    Planned,
    Running(OfProcess<Run>),
    /// The rest of rows that are in memory, the last first.
    InMemory(Vec<RecordBatch>),
    Ended,
}

/// A query that runs.
#[derive(Debug)]
struct Run {
    /// Never locked; `Sync` needs it.
    batches: Mutex<Receiver<Result<RecordBatch>>>,
    /// Has a permit for each batch that may wait.
    room: Arc<Semaphore>,
    begun: Instant,
    planning: Duration,
    compute: Arc<Compute>,
    stops: AbortOnDrop,
}

impl Batches {
    pub(crate) fn new(statement: Arc<OfProcess<Statement>>) -> PyResult<Self> {
        let schema = Arc::clone(&statement.get()?.schema);
        Ok(Self { statement, schema, state: State::Planned })
    }

    /// Waits for the next batch. If the thread belongs to Python, other threads of Python go on, and Ctrl-C stops the
    /// query.
    pub(crate) fn wait(&mut self) -> Option<Result<RecordBatch, Failure>> {
        let batch = self.received().transpose();
        if !matches!(batch, Some(Ok(_))) {
            // The query is stopped.
            self.state = State::Ended;
        }
        if let (Ok(statement), Some(batch)) = (self.statement.get(), &batch) {
            statement.runs(|runs| match batch {
                Ok(batch) => runs.rows += batch.num_rows(),
                Err(failure) => runs.failure = Some(failure.clone()),
            });
        }
        batch
    }

    fn received(&mut self) -> Result<Option<RecordBatch>, Failure> {
        let statement = self.statement.get().map_err(Failure::exception)?;
        if matches!(self.state, State::Planned) {
            self.state = begin(&self.statement, statement).map_err(Failure::exception)?;
        }
        let batch = match &mut self.state {
            State::Planned | State::Ended => None,
            State::InMemory(batches) => batches.pop(),
            State::Running(run) => {
                let run = run.get_mut().map_err(Failure::exception)?;
                let threads = statement.session.get().and_then(|session| session.threads.get());
                let threads = threads.map_err(Failure::exception)?;
                let received = run.receive(threads).map_err(Failure::exception)?;
                run.room.add_permits(1);
                let wall = run.planning + run.begun.elapsed();
                statement.runs(|runs| runs.wall = wall);
                received.transpose().map_err(|error| Failure::Engine(Arc::new(error)))?
            }
        };
        batch.map(|batch| fitted(batch, &self.schema)).transpose()
    }
}

/// Starts a statement.
fn begin(shared: &Arc<OfProcess<Statement>>, statement: &Statement) -> PyResult<State> {
    if let Some(written) = &statement.written {
        return Ok(State::InMemory(written.iter().rev().cloned().collect()));
    }
    let session = statement.session.get()?;
    let threads = session.threads.get()?;
    let (query, planning) = statement.runs(|runs| {
        runs.rows = 0;
        runs.failure = None;
        // The planning of a later run is a part of it.
        match std::mem::replace(&mut runs.has_begun, true) {
            false => (Some(runs.query.clone()), runs.wall),
            true => (None, Duration::ZERO),
        }
    });
    let (send, batches) = channel();
    let room = Arc::new(Semaphore::new(PREFETCH_BATCHES));
    let free = Arc::clone(&room);
    let (engine, shared) = (session.engine.clone(), Arc::clone(shared));
    let running = async move {
        let work = async {
            let query = match query {
                Some(query) => query,
                None => {
                    let statement = shared.get().map_err(external)?;
                    let query = Box::pin(engine.plan(&statement.text)).await?;
                    statement.runs(|runs| runs.query = query.clone());
                    query
                }
            };
            forward(query, &free, |batch| send.send(batch).is_ok()).await
        };
        if let Err(error) = work.await {
            // Nobody may listen any more.
            let _ = send.send(Err(error));
        }
    };
    let compute = threads.compute();
    let task = compute.runtime()?.spawn(running);
    let stops = AbortOnDrop(task.abort_handle());
    let run =
        Run { batches: Mutex::new(batches), room, begun: Instant::now(), planning, compute, stops };
    Ok(State::Running(OfProcess::new(run)))
}

/// Runs a query and passes on its batches while there is room and someone takes them.
async fn forward(
    query: Query,
    free: &Semaphore,
    send: impl Fn(Result<RecordBatch>) -> bool,
) -> Result<()> {
    let mut rows = Box::pin(query.start()).await?;
    while let Some(batch) = rows.next().await {
        match free.acquire().await {
            Ok(permit) => permit.forget(),
            // The semaphore is never closed.
            Err(_) => break,
        }
        if !send(batch.map_err(Error::from)) {
            break;
        }
    }
    Ok(())
}

/// Returns an exception as an error of the engine.
fn external(error: PyErr) -> Error {
    DataFusionError::External(error.to_string().into()).into()
}

impl Run {
    fn receiver(&mut self) -> &mut Receiver<Result<RecordBatch>> {
        self.batches.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives the next batch.
    fn receive(&mut self, threads: &Threads) -> PyResult<Option<Result<RecordBatch>>> {
        if is_python_thread()
            && let Some(received) = Python::try_attach(|py| self.receive_attached(py, threads))
        {
            return received;
        }
        // The query has ended if its channel has.
        Ok(self.receiver().recv().ok())
    }

    fn receive_attached(
        &mut self,
        py: Python<'_>,
        threads: &Threads,
    ) -> PyResult<Option<Result<RecordBatch>>> {
        loop {
            let batches = self.receiver();
            match py.detach(move || batches.recv_timeout(POLL)) {
                Ok(batch) => return Ok(Some(batch)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = py.check_signals() {
                        self.stops.0.abort();
                        threads.leave(py, &self.compute, &self.stops.0);
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// Returns a batch with exactly the announced types: readers over C trust them.
fn fitted(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    if batch.schema_ref() == schema {
        return Ok(batch);
    }
    if batch.num_columns() != schema.fields().len() {
        return Err(Failure::exception(other_columns()));
    }
    let engine = |error: ArrowError| Failure::Engine(Arc::new(DataFusionError::from(error).into()));
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| match column.data_type() == field.data_type() {
        true => Ok(Arc::clone(column)),
        false => cast(column, field.data_type()),
    });
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(engine)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(engine)
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.wait()?;
        if let Err(failure) = &batch {
            failure.interrupt_again();
        }
        Some(batch.map_err(|failure| ArrowError::ExternalError(failure.text().into())))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
