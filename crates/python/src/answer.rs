//! Answers: planned statements whose rows Python may read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sluicegate::embed;
use sluicegate_engine::Query;

use crate::batches::{Batches, Failure};
use crate::connection::Session;
use crate::error::of_arrow;
use crate::interpreter::{SCHEMA, STREAM};
use crate::process::OfProcess;
use crate::rows::Rows;

/// A statement and its runs.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) session: Arc<OfProcess<Session>>,
    pub(crate) text: String,
    pub(crate) schema: SchemaRef,
    /// The rows of a statement that has run, because it writes.
    pub(crate) written: Option<Vec<RecordBatch>>,
    pub(crate) runs: Mutex<Runs>,
}

/// The last run of a statement.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) query: Query,
    /// True once the planned query has begun. Each later run is planned anew.
    pub(crate) has_begun: bool,
    /// The time of planning and of the last run.
    pub(crate) wall: Duration,
    /// The rows that the last run has returned.
    pub(crate) rows: usize,
    /// The reason why the last run failed.
    pub(crate) failure: Option<Failure>,
}

impl Statement {
    /// Changes the record of the last run.
    pub(crate) fn runs<T>(&self, change: impl FnOnce(&mut Runs) -> T) -> T {
        change(&mut self.runs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The result of a statement. Its query runs when its rows are read, and again each time they are.
#[pyclass(frozen, module = "sluicegate._native")]
#[derive(Debug)]
pub(crate) struct Answer {
    statement: Arc<OfProcess<Statement>>,
    notes: Mutex<Vec<String>>,
}

impl Answer {
    pub(crate) fn new(
        session: Arc<OfProcess<Session>>,
        text: String,
        query: Query,
        written: Option<Vec<RecordBatch>>,
        wall: Duration,
        notes: Vec<String>,
    ) -> Self {
        let schema = query.schema();
        let rows = written.iter().flatten().map(RecordBatch::num_rows).sum();
        let runs = Mutex::new(Runs { query, has_begun: false, wall, rows, failure: None });
        let statement = Statement { session, text, schema, written, runs };
        Self { statement: Arc::new(OfProcess::new(statement)), notes: Mutex::new(notes) }
    }

    fn batches(&self) -> PyResult<Batches> {
        Batches::new(Arc::clone(&self.statement))
    }
}

#[pymethods]
impl Answer {
    /// The text of the statement.
    #[getter]
    fn text(&self) -> PyResult<&str> {
        Ok(&self.statement.get()?.text)
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        let fields = self.statement.get()?.schema.fields();
        Ok(fields.iter().map(|field| field.name().clone()).collect())
    }

    /// The Arrow types of the columns.
    #[getter]
    fn types(&self) -> PyResult<Vec<String>> {
        let fields = self.statement.get()?.schema.fields();
        Ok(fields.iter().map(|field| field.data_type().to_string()).collect())
    }

    /// True for a statement that wrote when it was passed to `sql`.
    #[getter]
    fn has_written(&self) -> PyResult<bool> {
        Ok(self.statement.get()?.written.is_some())
    }

    /// Returns a capsule with the rows as a stream of Arrow's C interface. The query runs when the stream is read.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let stream = FFI_ArrowArrayStream::new(Box::new(self.batches()?));
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    /// Returns a capsule with the columns.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.statement.get()?.schema.as_ref());
        PyCapsule::new_with_value(py, schema.map_err(|error| of_arrow(&error))?, SCHEMA)
    }

    /// Returns a cursor over the rows as tuples.
    fn rows(&self) -> PyResult<Rows> {
        Ok(Rows::new(self.batches()?))
    }

    /// Returns the exception that ended the last run, if one did. Other packages raise their own exception when they
    /// read a stream.
    fn failure(&self, py: Python<'_>) -> PyResult<Option<PyErr>> {
        let failure = self.statement.get()?.runs(|runs| runs.failure.clone());
        Ok(failure.map(|failure| failure.to_exception(py)))
    }

    /// The notes on the statement, and the settings that its last run did not follow.
    #[getter]
    fn notes(&self) -> PyResult<Vec<String>> {
        let statement = self.statement.get()?;
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = &statement.session.get()?.engine;
        let warnings = statement.runs(|runs| runs.query.warnings());
        for note in engine.take_notes().into_iter().chain(warnings) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        Ok(notes.clone())
    }

    /// Returns the counts of the planning and of the last run as JSON, and the number of its rows.
    fn stats(&self) -> PyResult<(String, usize)> {
        let statement = self.statement.get()?;
        let (counted, wall, rows) =
            statement.runs(|runs| (runs.query.counted(), runs.wall, runs.rows));
        let engine = &statement.session.get()?.engine;
        Ok((embed::counted_json(engine, &counted, wall), rows))
    }
}
