//! Cancels an evaluation from outside.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// Stops evaluations on request, when a predicate returns true, or at a deadline.
///
/// Clones share their state, so one part of a program can stop what another runs. An evaluation checks the
/// cancellation before it reads a batch and before it evaluates an operator for a batch, which takes milliseconds.
/// Operators that may take longer check it as they run.
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
    /// Creates a cancellation that takes effect only through [`Self::cancel`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a cancellation that also takes effect at `deadline`.
    #[must_use]
    pub fn at(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Creates a cancellation that also takes effect, permanently, once `stop` returns true. All threads of the
    /// evaluations call `stop` at every check, so it must be fast.
    #[must_use]
    pub fn when(stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { stop: Some(Arc::new(stop)), ..Self::default() }
    }

    /// Stops the evaluations that share this cancellation.
    pub fn cancel(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`Self::cancel`] was called or the predicate has returned true. A deadline does not count.
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

    /// Fails if the evaluation must stop.
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
