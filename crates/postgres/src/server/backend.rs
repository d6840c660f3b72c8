//! The traits that an engine implements.

use std::future::Future;
use std::net::SocketAddr;

use crate::error::SqlError;
use crate::types::{PgType, Value};
pub use crate::wire::backend::Column;

/// Opens sessions for clients.
pub trait Backend: Send + Sync + 'static {
    /// A session of a client.
    type Session: Session;

    /// Opens a session.
    ///
    /// # Errors
    ///
    /// If the client may not have one.
    fn open(&self, client: &ClientInfo) -> Result<Self::Session, SqlError>;
}

/// What a client told about itself.
#[derive(Debug, Clone)]
pub struct ClientInfo {
    /// The name of the user. Only a password proves anything about the client, and it does not prove the name.
    pub user: String,
    /// The name of the database.
    pub database: String,
    /// The number of the session.
    pub session: i32,
    /// The address.
    pub address: SocketAddr,
}

/// A session of a client. Statements run one after another.
pub trait Session: Send + 'static {
    /// The rows of an answer.
    type Rows: Rows;

    /// Finds the types of a statement's parameters and columns. Nothing runs. The parameters of `types` are known;
    /// the others are to be inferred.
    fn describe(
        &mut self,
        sql: &str,
        types: &[Option<PgType>],
    ) -> impl Future<Output = Result<Description, SqlError>> + Send;

    /// Starts a statement. Dropping the answer stops it.
    fn run(
        &mut self,
        sql: &str,
        parameters: &[Parameter],
        in_transaction: bool,
    ) -> impl Future<Output = Result<Answer<Self::Rows>, SqlError>> + Send;

    /// Forgets all that clients changed in the session, as `DISCARD ALL` demands.
    fn reset(&mut self);
}

/// A parameter of a statement.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its type.
    pub kind: PgType,
    /// Its value.
    pub value: Value<'static>,
}

/// The types of a statement.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// The types of its parameters.
    pub parameters: Vec<PgType>,
    /// Its columns; `None` for a statement that returns no rows.
    pub columns: Option<Vec<Column>>,
}

/// The answer to a statement.
#[derive(Debug)]
pub struct Answer<R> {
    /// The columns and the rows; `None` for a statement that returns no rows.
    pub rows: Option<(Vec<Column>, R)>,
    /// The tag of the answer, such as `SELECT` or `INSERT 0`. The number of rows is appended if the statement returns
    /// or writes rows.
    pub tag: String,
    /// The number of rows that the statement has written.
    pub written: Option<u64>,
    /// Notices for the client.
    pub notices: Vec<String>,
}

/// Rows that arrive in batches.
pub trait Rows: Send + 'static {
    /// Some rows.
    type Batch: Batch;

    /// Returns the next rows; `None` at the end. The future can be dropped and the call be repeated.
    fn next(&mut self) -> impl Future<Output = Result<Option<Self::Batch>, SqlError>> + Send;

    /// Returns notices that came up while the statement ran.
    fn notices(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Some rows.
pub trait Batch: Send + 'static {
    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns a value.
    ///
    /// # Errors
    ///
    /// If the value cannot be represented.
    fn value(&self, row: usize, column: usize) -> Result<Value<'_>, SqlError>;
}
