//! The store of `sluicegate.serve`.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use sluicegate::embed::{self, Options, Server};

use crate::error::of_setting;
use crate::process::OfProcess;
use crate::threads::{Compute, Threads};

/// An S3 store in a folder, which runs in this process.
#[pyclass(frozen, module = "sluicegate._native")]
#[derive(Debug)]
pub(crate) struct Store {
    #[pyo3(get)]
    endpoint: String,
    #[pyo3(get)]
    access_key: String,
    #[pyo3(get)]
    secret_key: String,
    threads: Arc<OfProcess<Threads>>,
    /// Its threads, which later work may no longer use.
    _compute: OfProcess<Arc<Compute>>,
    /// `None` after the store was stopped. The lock is held for moments, and never while detached.
    server: Mutex<Option<OfProcess<Server>>>,
}

#[pymethods]
impl Store {
    /// Starts a store with the options of `sluice serve`, by their names on the command line.
    #[new]
    fn new(py: Python<'_>, options: Options, key_pair: Option<(String, String)>) -> PyResult<Self> {
        let threads = Threads::of_process(py)?;
        let compute = OfProcess::new(threads.get()?.compute());
        let starting = async move { embed::serve(&options, key_pair).await };
        let server = threads.get()?.wait(py, starting)?.map_err(|error| of_setting(&error))?;
        Ok(Self {
            endpoint: server.endpoint(),
            access_key: server.access_key().to_owned(),
            secret_key: server.secret_key().to_owned(),
            threads,
            _compute: compute,
            server: Mutex::new(Some(OfProcess::new(server))),
        })
    }

    #[getter]
    fn running(&self) -> bool {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().is_some_and(OfProcess::is_here)
    }

    /// Stops the store; requests that are running get some seconds to end. Stopping it twice does nothing, and so does
    /// stopping it in a child process.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(server) = server.filter(OfProcess::is_here) else { return Ok(()) };
        let server = server.into_inner()?;
        self.threads.get()?.wait(py, server.shutdown())
    }
}
