//! Errors in the form in which clients receive them.

use std::fmt;

/// The five-character codes of PostgreSQL (SQLSTATE) that this crate and its callers use.
pub mod state {
    /// A syntax error.
    pub const SYNTAX_ERROR: &str = "42601";
    /// A syntax error or a violation of an access rule, without a more exact code.
    pub const SYNTAX_OR_ACCESS: &str = "42000";
    /// A table that does not exist.
    pub const UNDEFINED_TABLE: &str = "42P01";
    /// A column that does not exist.
    pub const UNDEFINED_COLUMN: &str = "42703";
    /// A function that does not exist.
    pub const UNDEFINED_FUNCTION: &str = "42883";
    /// A column that is neither grouped nor aggregated.
    pub const GROUPING_ERROR: &str = "42803";
    /// A name, such as that of a setting, that does not exist.
    pub const UNDEFINED_OBJECT: &str = "42704";
    /// A parameter whose type cannot be found.
    pub const INDETERMINATE_TYPE: &str = "42P18";
    /// A parameter without a value.
    pub const UNDEFINED_PARAMETER: &str = "42P02";
    /// A number that its type cannot hold.
    pub const NUMERIC_OUT_OF_RANGE: &str = "22003";
    /// A file or an object that does not exist.
    pub const UNDEFINED_FILE: &str = "58P01";
    /// A store or a disk that does not answer.
    pub const IO_ERROR: &str = "58030";
    /// Data that changed while they were read; the statement can be run again.
    pub const SERIALIZATION_FAILURE: &str = "40001";
    /// A name that is in use.
    pub const DUPLICATE_CURSOR: &str = "42P03";
    /// A prepared statement whose name is in use.
    pub const DUPLICATE_STATEMENT: &str = "42P05";
    /// A prepared statement that does not exist.
    pub const UNDEFINED_STATEMENT: &str = "26000";
    /// A cursor or portal that does not exist.
    pub const UNDEFINED_CURSOR: &str = "34000";
    /// The client may not do this.
    pub const INSUFFICIENT_PRIVILEGE: &str = "42501";
    /// A statement that this server does not support.
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// A write while only reads are allowed.
    pub const READ_ONLY: &str = "25006";
    /// A statement that cannot be in a transaction block.
    pub const ACTIVE_TRANSACTION: &str = "25001";
    /// A statement that must be in a transaction block.
    pub const NO_ACTIVE_TRANSACTION: &str = "25P01";
    /// A statement in a transaction that has failed.
    pub const FAILED_TRANSACTION: &str = "25P02";
    /// A savepoint that does not exist.
    pub const UNDEFINED_SAVEPOINT: &str = "3B001";
    /// A value that is none of its type.
    pub const INVALID_TEXT: &str = "22P02";
    /// Binary data that are none of their type.
    pub const INVALID_BINARY: &str = "22P03";
    /// Bad data, without a more exact code.
    pub const DATA_EXCEPTION: &str = "22000";
    /// A setting with a value that it cannot have.
    pub const INVALID_PARAMETER: &str = "22023";
    /// Text with a character that the encoding lacks.
    pub const INVALID_ENCODING: &str = "22021";
    /// A setting that cannot be changed.
    pub const CANNOT_CHANGE: &str = "55P02";
    /// A message that breaks the protocol.
    pub const PROTOCOL_VIOLATION: &str = "08P01";
    /// A wrong password.
    pub const INVALID_PASSWORD: &str = "28P01";
    /// A client that is not allowed to connect this way.
    pub const INVALID_AUTHORIZATION: &str = "28000";
    /// The limit of sessions is reached.
    pub const TOO_MANY_CONNECTIONS: &str = "53300";
    /// The memory or the disk does not suffice.
    pub const INSUFFICIENT_RESOURCES: &str = "53000";
    /// Not enough memory.
    pub const OUT_OF_MEMORY: &str = "53200";
    /// A limit that the administrator set, such as a maximum of cost.
    pub const LIMIT_EXCEEDED: &str = "53400";
    /// A limit of the program.
    pub const PROGRAM_LIMIT: &str = "54000";
    /// A statement that was cancelled.
    pub const QUERY_CANCELED: &str = "57014";
    /// The server stops.
    pub const ADMIN_SHUTDOWN: &str = "57P01";
    /// A session that was idle for too long.
    pub const IDLE_SESSION: &str = "57P05";
    /// A failure of the system, such as of a file or a store.
    pub const SYSTEM_ERROR: &str = "58000";
    /// A bug.
    pub const INTERNAL_ERROR: &str = "XX000";
}

/// How severe an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The statement failed; the session goes on.
    Error,
    /// The session ends.
    Fatal,
}

/// An error for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// How severe it is.
    pub severity: Severity,
    /// The SQLSTATE, one of [`state`].
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
    /// The place in the statement: the number of its first character, from 1.
    pub position: Option<usize>,
}

impl SqlError {
    /// Returns the error of a statement.
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { severity: Severity::Error, code, message, hint: None, position: None }
    }

    /// Returns an error that ends the session.
    #[must_use]
    pub fn fatal(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Fatal, ..Self::new(code, message) }
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the place in the statement, in characters from 1.
    #[must_use]
    pub fn at(self, position: usize) -> Self {
        Self { position: Some(position), ..self }
    }

    /// Returns the error of a message that breaks the protocol; it ends the session.
    #[must_use]
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::fatal(state::PROTOCOL_VIOLATION, message)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SqlError {}
