//! Stopping an evaluation from outside.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// Stops evaluations: when told to, when a predicate says so, or at a deadline.
///
/// Clones are the same one, so that one part of a program can stop what another runs. Evaluations
/// look at it before they evaluate an operator for a batch of rows, which takes milliseconds, amid those
/// that may take longer, and before they read a batch.
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
#[derive(Clone, Default)]
pub struct Cancellation {
    told: Arc<AtomicBool>,
    stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    deadline: Option<Instant>,
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation")
            .field("told", &self.told)
            .field("asks", &self.stop.is_some())
            .field("deadline", &self.deadline)
            .finish()
    }
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

    /// Also stops, for good, once `stop` says so. It is asked as often as evaluations look, from all of their
    /// threads, so it should only look, too.
    #[must_use]
    pub fn when(stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { stop: Some(Arc::new(stop)), ..Self::default() }
    }

    /// Stops the evaluations that have it, because nobody wants their answers any more.
    pub fn cancel(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// Whether it was told to stop, or its predicate says so. A deadline is no cancellation.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        if self.told.load(Ordering::Relaxed) {
            return true;
        }
        let stop = self.stop.as_ref().is_some_and(|stop| stop());
        if stop {
            self.cancel();
        }
        stop
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
