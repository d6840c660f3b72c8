//! A server for version 3 of PostgreSQL's wire protocol.
//!
//! The crate depends on no SQL engine. An engine implements [`Backend`], whose [`Session`]s run statements and return
//! rows as [`Value`]s. The crate does the rest:
//!
//! 1. [`lex`] splits SQL text into tokens and statements, and finds parameters such as `$1`.
//! 2. [`types`]: PostgreSQL's types, and values in text and binary form.
//! 3. [`wire`]: packets and messages, with a limit for every size, and SCRAM-SHA-256.
//! 4. [`server`]: connections, sessions, cursors, client settings, cancellation and COPY.
//!
//! Transactions are accepted, but they isolate nothing: every statement sees the data as they are when it runs.

pub mod error;
pub mod lex;
pub mod server;
pub mod types;
pub mod wire;

pub use self::error::{Severity, SqlError, state};
pub use self::server::backend::{
    Answer, Backend, Batch, ClientInfo, Column, Description, Parameter, Rows, Session,
};
pub use self::server::limits::{Limits, Place, Places};
pub use self::server::listener::{Bound, Options, ServerError};
pub use self::server::tls::{TlsError, TlsIdentity, TlsStream};
pub use self::types::{Format, PgType, Scalar, Value};
pub use self::wire::scram::{Password, PasswordError};
