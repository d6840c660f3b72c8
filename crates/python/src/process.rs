//! Values that belong to one process.

use std::process;

use pyo3::PyResult;

use crate::error::forked;

/// A value with threads or connections behind it. After a fork, the child has a copy of the value, and no threads:
/// using it would wait forever, and so could dropping it. The child therefore gets an error, and leaks its copy.
#[derive(Debug)]
pub(crate) struct OfProcess<T> {
    process: u32,
    /// `None` only while it is dropped.
    value: Option<T>,
}

impl<T> OfProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { process: process::id(), value: Some(value) }
    }

    /// Returns true in the process that created the value.
    pub(crate) fn is_here(&self) -> bool {
        self.process == process::id()
    }

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// In a child of the process that created it.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.value.as_ref().filter(|_| self.is_here()).ok_or_else(forked)
    }

    /// Returns the value for changes.
    ///
    /// # Errors
    ///
    /// Those of [`Self::get`].
    pub(crate) fn get_mut(&mut self) -> PyResult<&mut T> {
        let is_here = self.is_here();
        self.value.as_mut().filter(|_| is_here).ok_or_else(forked)
    }

    /// Takes the value out.
    ///
    /// # Errors
    ///
    /// Those of [`Self::get`].
    pub(crate) fn into_inner(mut self) -> PyResult<T> {
        match self.is_here() {
            true => self.value.take().ok_or_else(forked),
            false => Err(forked()),
        }
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            std::mem::forget(self.value.take());
        }
    }
}
