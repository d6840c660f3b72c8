//! Stopping an evaluation from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// Stops evaluations: when told to, or at a deadline.
///
/// Clones are the same one, so that one part of a program can stop what another runs. Evaluations
/// look at it before they evaluate an operator for a batch of rows, which takes milliseconds, and
/// before they read a batch.
///
/// ```
/// use std::time::{Duration, Instant};
/// use sluicegate_evaluator::Cancellation;
///
/// let cancellation = Cancellation::at(Instant::now() + Duration::from_secs(300));
/// // evaluation.with_cancellation(&cancellation).run(…) on some thread, and on another:
/// cancellation.cancel();
/// assert!(cancellation.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    told: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Cancellation {
    /// Stops nothing until it is told to.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also stops when `deadline` has come.
    #[must_use]
    pub fn at(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Stops the evaluations that have it, because nobody wants their answers any more.
    pub fn cancel(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// Whether it was told to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// Fails if it is time to stop.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), SelectError> {
        if self.is_cancelled() {
            return Err(cancelled());
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(too_late()),
            _ => Ok(()),
        }
    }
}

#[cold]
fn cancelled() -> SelectError {
    SelectError::new(SelectErrorCode::InternalError, "The evaluation was cancelled.")
}

#[cold]
fn too_late() -> SelectError {
    SelectError::new(
        SelectErrorCode::MaxOperatorsExceeded,
        "The statement takes longer than the store lets it run: read parts of the object with \
         ScanRange, or use a simpler statement.",
    )
}
