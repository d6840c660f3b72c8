//! Rows as tuples.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use arrow::array::RecordBatch;

use crate::batches::Batches;
use crate::values::column;

/// Rows that are converted at a time.
const CHUNK: usize = 4096;

/// A cursor over the rows of an answer.
#[pyclass(module = "sluicegate._native")]
#[derive(Debug)]
pub(crate) struct Rows {
    batches: Batches,
    /// The batch that is being read, and the number of its rows that were returned.
    batch: Option<(RecordBatch, usize)>,
}

impl Rows {
    pub(crate) fn new(batches: Batches) -> Self {
        Self { batches, batch: None }
    }

    /// Returns the next rows of one batch, at most this many; `None` at the end.
    fn chunk(&mut self, py: Python<'_>, most: usize) -> PyResult<Option<RecordBatch>> {
        loop {
            if let Some((batch, read)) = &mut self.batch
                && *read < batch.num_rows()
            {
                let rows = most.min(CHUNK).min(batch.num_rows() - *read);
                let chunk = batch.slice(*read, rows);
                *read += rows;
                return Ok(Some(chunk));
            }
            match self.batches.wait() {
                None => return Ok(None),
                Some(Ok(batch)) => self.batch = Some((batch, 0)),
                Some(Err(failure)) => return Err(failure.to_exception(py)),
            }
        }
    }
}

#[pymethods]
impl Rows {
    /// Returns the next rows, at most this many; fewer at the end.
    fn fetch<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        while rows.len() < most {
            let Some(chunk) = self.chunk(py, most - rows.len())? else { break };
            let columns = chunk.columns().iter().map(|array| column(py, array));
            let columns = columns.collect::<PyResult<Vec<_>>>()?;
            for row in 0..chunk.num_rows() {
                let values = columns.iter().map(|column| &column[row]);
                rows.append(PyTuple::new(py, values.collect::<Vec<_>>())?)?;
            }
        }
        Ok(rows)
    }
}
