//! Stopping an evaluation from outside.

use std::fmt;
use std::sync::Arc;

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// Whether an evaluation should go on. It is asked for every operator of every batch, thus several times in
/// 100 ms whatever the statement is, from all threads of the evaluation.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Interrupt {
    /// Stops the evaluation once `stop` says so.
    #[must_use]
    pub fn new(stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(stop)))
    }

    /// Whether the evaluation is to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|stop| stop())
    }

    /// An error if the evaluation is to stop.
    pub(crate) fn check(&self) -> Result<(), SelectError> {
        if self.is_set() { Err(interrupted()) } else { Ok(()) }
    }
}

#[cold]
fn interrupted() -> SelectError {
    SelectError::new(SelectErrorCode::InternalError, "The evaluation was interrupted.")
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.0.is_some()).finish()
    }
}
