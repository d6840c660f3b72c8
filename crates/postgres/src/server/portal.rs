//! Prepared statements, and portals: statements with parameters, ready to run or running.

use crate::error::SqlError;
use crate::lex;
use crate::server::backend::{Answer, Column, Description, Parameter, Rows};
use crate::server::local::{Local, recognise};
use crate::types::{Format, PgType};
use crate::wire::frontend::spread;

/// A prepared statement.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) sql: String,
    pub(crate) local: Local,
    /// The types of the parameters that the client has named.
    pub(crate) types: Vec<Option<PgType>>,
    /// The types of all parameters and columns, once they were needed.
    pub(crate) description: Option<Description>,
}

impl Prepared {
    pub(crate) fn new(sql: String, oids: &[u32]) -> Result<Self, SqlError> {
        let local = match lex::statements(&sql).as_slice() {
            [] => Local::Nothing(""),
            [(_, statement)] => recognise(statement)?,
            _ => {
                return Err(SqlError::new(
                    crate::error::state::SYNTAX_ERROR,
                    "a prepared statement is one statement, not several",
                ));
            }
        };
        let count = lex::highest_parameter(&sql).max(oids.len());
        let mut types: Vec<_> = oids
            .iter()
            .map(|oid| PgType::from_oid(*oid).filter(|kind| kind.oid() != UNKNOWN))
            .collect();
        types.resize(count, None);
        Ok(Self { sql, local, types, description: None })
    }

    /// Returns the bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.sql.len() + 8 * self.types.len()
    }
}

/// The number of the type of literals whose type is not known.
const UNKNOWN: u32 = 705;

/// A statement with its parameters.
pub(crate) struct Portal<R: Rows> {
    pub(crate) sql: String,
    pub(crate) local: Local,
    pub(crate) parameters: Vec<Parameter>,
    /// The formats that the client demands: none, one for all columns, or one each.
    pub(crate) formats: Vec<Format>,
    /// The columns that the client knows from the prepared statement.
    pub(crate) described: Option<Vec<Column>>,
    /// True if it outlives its transaction.
    pub(crate) holds: bool,
    pub(crate) state: State<R>,
    /// The bytes of its parameters.
    pub(crate) bytes: usize,
}

/// How far a portal is.
pub(crate) enum State<R: Rows> {
    New,
    /// It returns rows.
    Rows(Running<R>),
    /// It has run, and returned no rows or all of them.
    Done(String),
}

/// Rows that are on their way.
pub(crate) struct Running<R: Rows> {
    pub(crate) columns: Vec<Column>,
    pub(crate) formats: Vec<Format>,
    pub(crate) rows: R,
    /// The batch that is being sent, and its next row.
    pub(crate) batch: Option<(R::Batch, usize)>,
    pub(crate) tag: String,
}

impl<R: Rows> Portal<R> {
    /// Returns the portal of a statement without parameters.
    pub(crate) fn new(sql: String, local: Local) -> Self {
        Self {
            bytes: sql.len(),
            sql,
            local,
            parameters: Vec::new(),
            formats: Vec::new(),
            described: None,
            holds: false,
            state: State::New,
        }
    }

    /// Takes the answer of the engine.
    pub(crate) fn started(&mut self, answer: Answer<R>) -> Result<(), SqlError> {
        self.state = match answer.rows {
            Some((columns, rows)) => {
                // What the client was told about the columns stays true.
                let columns = match self.described.take() {
                    Some(described) if described.len() == columns.len() => described,
                    _ => columns,
                };
                let formats = spread(&self.formats, columns.len())?;
                State::Rows(Running { columns, formats, rows, batch: None, tag: answer.tag })
            }
            None => State::Done(with_count(&answer.tag, answer.written.unwrap_or(0))),
        };
        Ok(())
    }
}

/// Returns a tag with the number of rows, if tags of this kind have one.
pub(crate) fn with_count(tag: &str, rows: u64) -> String {
    match tag {
        "SELECT" | "INSERT 0" | "COPY" | "FETCH" | "MOVE" | "UPDATE" | "DELETE" => {
            format!("{tag} {rows}")
        }
        _ => tag.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prepared_statement_is_one_statement() {
        let prepared = Prepared::new("SELECT $2, $1;".to_owned(), &[23, 705]).unwrap();
        assert_eq!(prepared.types, [PgType::from_oid(23), None]);
        assert_eq!(prepared.local, Local::Engine);
        Prepared::new("SELECT 1; SELECT 2".to_owned(), &[]).unwrap_err();
        assert_eq!(Prepared::new(" -- c".to_owned(), &[]).unwrap().local, Local::Nothing(""));
    }

    #[test]
    fn tags_of_rows_have_a_count() {
        assert_eq!(with_count("SELECT", 3), "SELECT 3");
        assert_eq!(with_count("CREATE TABLE", 3), "CREATE TABLE");
    }
}
