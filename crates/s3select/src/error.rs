//! The service's error codes.

/// An S3 Select error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the service's")]
pub enum SelectErrorCode {
    InternalError,
}

/// Why a statement was refused or stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code:?}: {message}")]
pub struct SelectError {
    /// The service's code.
    pub code: SelectErrorCode,
    /// One sentence for people.
    pub message: String,
}

impl SelectError {
    /// An error with its code and message.
    pub fn new(code: SelectErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}
