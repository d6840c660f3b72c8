//! Runs a statement over one object.
//!
//! [`Evaluation::prepare`] does everything that can fail before the first byte of an answer:
//! it parses and checks the statement, resolves its columns against the object and reads the
//! first block. [`Evaluation::run`] then streams the answer into a [`Sink`], in bounded memory.

mod sink;
mod source;

use std::sync::Arc;

pub use sink::{MAX_RECORDS_BYTES, Sink, Stats};
pub use source::ObjectSource;

use crate::error::SelectError;
use crate::request::SelectRequest;

/// A statement that was found to be answerable.
pub struct Evaluation {
    scan: Box<dyn Scan>,
}

impl std::fmt::Debug for Evaluation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluation").finish_non_exhaustive()
    }
}

/// One format's reader, ready to run.
trait Scan: Send {
    fn run(self: Box<Self>, sink: &mut dyn Sink) -> Result<Stats, SelectError>;
}

impl Evaluation {
    /// Parses and checks the request and reads as much of the object as that takes.
    ///
    /// # Errors
    /// Everything that a server can answer with an HTTP status: syntax, unknown columns, bad
    /// options, an object that is not what the request says.
    pub fn prepare(
        request: &SelectRequest,
        source: Arc<dyn ObjectSource>,
    ) -> Result<Self, SelectError> {
        let _ = source;
        Err(SelectError::new(
            crate::error::SelectErrorCode::InternalError,
            format!("cannot read {:?} yet", request.input.format),
        ))
    }

    /// Runs the statement; blocking. Ends early, with success, when the sink says so.
    ///
    /// # Errors
    /// What the object's rows bring up, and what reading the object fails with.
    pub fn run(self, sink: &mut dyn Sink) -> Result<Stats, SelectError> {
        self.scan.run(sink)
    }
}
