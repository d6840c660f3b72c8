//! Connections: engines that Python holds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use datafusion::logical_expr::LogicalPlan;
use futures::TryStreamExt;
use pyo3::prelude::*;
use sluicegate::embed::{self, Options};
use sluicegate_engine::{Credentials, Engine, Query, Result};

use crate::answer::Answer;
use crate::error::{closed, no_statement, of_engine, of_setting, several_statements};
use crate::import::register;
use crate::process::OfProcess;
use crate::threads::{Threads, wait_on};

/// An engine with its threads.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) engine: Engine,
    pub(crate) threads: Arc<OfProcess<Threads>>,
    begun: Instant,
}

/// A connection to a store.
#[pyclass(frozen, module = "sluicegate._native")]
#[derive(Debug)]
pub(crate) struct Connection {
    /// `None` after the connection was closed. The lock is held for moments, and never while detached.
    session: Mutex<Option<Arc<OfProcess<Session>>>>,
    /// Messages about the connection, which are taken with the notes of the first statement.
    messages: Mutex<Vec<String>>,
}

impl Connection {
    fn session(&self) -> PyResult<Arc<OfProcess<Session>>> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.as_ref().map(Arc::clone).ok_or_else(|| closed("connection"))
    }

    /// Runs some work with the engine, and waits for it.
    fn run<T, W>(&self, py: Python<'_>, work: impl FnOnce(Engine) -> W) -> PyResult<T>
    where
        T: Send + 'static,
        W: Future<Output = Result<T>> + Send + 'static,
    {
        let session = self.session()?;
        let session = session.get()?;
        let work = work(session.engine.clone());
        session.threads.get()?.wait(py, work)?.map_err(|error| of_engine(&error))
    }
}

#[pymethods]
impl Connection {
    /// Connects with the options of `sluice sql`, by their names on the command line.
    #[new]
    fn new(
        py: Python<'_>,
        options: Options,
        credentials: Option<(String, String, Option<String>)>,
    ) -> PyResult<Self> {
        let threads = Threads::of_process(py)?;
        let credentials = credentials.map(|(id, secret, token)| {
            let mut credentials = Credentials::new(id, secret);
            credentials.session_token = token;
            credentials
        });
        // The engine writes objects on the runtime that connects it.
        let connecting = async move { embed::connect(&options, credentials).await };
        let connected = wait_on(&threads.get()?.control, py, connecting, drop)?;
        let (engine, messages) = connected.map_err(|error| of_setting(&error))?;
        let session = Session { engine, threads, begun: Instant::now() };
        Ok(Self {
            session: Mutex::new(Some(Arc::new(OfProcess::new(session)))),
            messages: Mutex::new(messages),
        })
    }

    /// The store's URL, or `None` for AWS.
    #[getter]
    fn endpoint(&self) -> PyResult<Option<String>> {
        let session = self.session()?;
        Ok(session.get()?.engine.endpoint().client.endpoint().map(str::to_owned))
    }

    /// The kind of store.
    #[getter]
    fn store(&self) -> PyResult<String> {
        let session = self.session()?;
        Ok(session.get()?.engine.endpoint().profile().name.to_string())
    }

    #[getter]
    fn closed(&self) -> bool {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Runs all statements of a text but the last, and plans the last one. A statement that writes runs, too.
    fn sql(&self, py: Python<'_>, text: &str) -> PyResult<Answer> {
        let mut statements: Vec<String> =
            embed::statements(text).into_iter().map(str::to_owned).collect();
        let last = statements.pop().ok_or_else(no_statement)?;
        let session = self.session()?;
        let statement = last.clone();
        let begun = Instant::now();
        let planned = self.run(py, |engine| async move {
            for statement in statements {
                let mut rows = Box::pin(engine.stream(&statement)).await?;
                while rows.try_next().await?.is_some() {}
            }
            let query = Box::pin(engine.plan(&statement)).await?;
            let written = match writes(&query) {
                true => Some(Box::pin(query.collect()).await?),
                false => None,
            };
            Ok((query, written))
        });
        let mut notes =
            std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner));
        notes.extend(session.get()?.engine.take_notes());
        let (query, written) = planned?;
        Ok(Answer::new(session, last, query, written, begun.elapsed(), notes))
    }

    /// Returns the plan of a query as text, and its prediction as JSON; `None` for a statement that only defines a
    /// name or sets an option, which takes effect.
    fn explain(&self, py: Python<'_>, text: &str) -> PyResult<Option<(String, String)>> {
        let statements = embed::statements(text);
        let statement = match statements.as_slice() {
            [] => return Err(no_statement()),
            [statement] => (*statement).to_owned(),
            _ => return Err(several_statements()),
        };
        self.run(py, |engine| async move {
            let explained = Box::pin(embed::explain(&engine, &statement)).await?;
            Ok(explained.map(|explanation| {
                let text = embed::explanation_text(&engine, &explanation);
                (text, embed::explanation_json(&engine, &explanation))
            }))
        })
    }

    /// Makes a table of an object with `__arrow_c_stream__`. Its rows are read now.
    fn register(&self, py: Python<'_>, name: &str, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let session = self.session()?;
        register(py, &session.get()?.engine, name, data)
    }

    /// Removes a table; returns whether there was one.
    fn unregister(&self, name: &str) -> PyResult<bool> {
        let session = self.session()?;
        let removed = session.get()?.engine.context().deregister_table(name);
        Ok(removed.map_err(|error| of_engine(&error.into()))?.is_some())
    }

    /// Returns the counts of all statements so far as JSON.
    fn stats(&self) -> PyResult<String> {
        let session = self.session()?;
        let Session { engine, begun, .. } = session.get()?;
        Ok(embed::counted_json(engine, &engine.counted(), begun.elapsed()))
    }

    /// Closes the connection. Answers that are being read stay open.
    fn close(&self) {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(session);
    }
}

/// Returns true if a statement writes objects or rows, and so runs at once.
fn writes(query: &Query) -> bool {
    matches!(query.frame().logical_plan(), LogicalPlan::Copy(_) | LogicalPlan::Dml(_))
}
