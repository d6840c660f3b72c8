//! Statements that the protocol itself answers: transactions, settings and cursors.

use bytes::BufMut;

use crate::error::{SqlError, state};
use crate::server::backend::{Column, Parameter, Session};
use crate::server::local::Local;
use crate::server::portal::Portal;
use crate::server::session::Active;
use crate::server::socket::End;
use crate::types::{Format, Scalar, Value, encode};
use crate::wire::backend::{self, Transaction};
use crate::wire::frontend::spread;

impl<S: Session> Active<'_, S> {
    /// Refuses statements in a transaction that has failed, except for those that end it.
    pub(super) fn check_transaction(&self, local: &Local) -> Result<(), SqlError> {
        let ends = matches!(local, Local::Commit | Local::Rollback | Local::RollbackTo(_));
        match self.transaction == Transaction::Failed && !ends {
            true => Err(SqlError::new(
                state::FAILED_TRANSACTION,
                "the transaction has failed; statements are ignored until it ends",
            )
            .with_hint("End it with ROLLBACK.")),
            false => Ok(()),
        }
    }

    /// Returns the columns of a statement that the protocol answers.
    pub(super) fn columns_of(&self, local: &Local) -> Option<Vec<Column>> {
        let column =
            |name: &str| Column { name: name.to_owned(), kind: Scalar::Text.into(), modifier: -1 };
        match local {
            Local::Show(name) => {
                let (name, _) = self.settings.get(name)?;
                Some(vec![column(name)])
            }
            Local::ShowAll => Some(["name", "setting"].map(column).to_vec()),
            _ => None,
        }
    }

    /// Does the work of a statement that returns no rows of the engine.
    pub(super) fn perform(
        &mut self,
        local: &Local,
        parameters: Vec<Parameter>,
        formats: &[Format],
    ) -> Result<(), End> {
        let tag = match local {
            Local::Nothing("") => {
                backend::empty(&mut self.socket.output, b'I');
                return Ok(());
            }
            Local::Nothing(tag) => *tag,
            Local::Begin => self.begin_transaction(),
            Local::Commit => self.end_transaction(self.transaction != Transaction::Failed),
            Local::Rollback => self.end_transaction(false),
            Local::Savepoint(name) => {
                self.in_block("SAVEPOINT")?;
                if self.savepoints.len() >= self.limits.names {
                    let message = "the transaction has too many savepoints";
                    return Err(SqlError::new(state::PROGRAM_LIMIT, message).into());
                }
                self.savepoints.push(name.clone());
                "SAVEPOINT"
            }
            Local::Release(name) => {
                let at = self.savepoint(name)?;
                self.savepoints.truncate(at);
                "RELEASE"
            }
            Local::RollbackTo(name) => {
                let at = self.savepoint(name)?;
                self.savepoints.truncate(at + 1);
                self.transaction = Transaction::Open;
                "ROLLBACK"
            }
            Local::Set(name, value, is_local) => {
                self.set(name, value.as_deref(), *is_local)?;
                if value.is_some() { "SET" } else { "RESET" }
            }
            Local::ResetAll => {
                self.settings.reset();
                self.report_all();
                "RESET"
            }
            Local::Discard => {
                self.statements.clear();
                self.portals.clear();
                self.settings.reset();
                self.report_all();
                self.engine.reset();
                "DISCARD ALL"
            }
            Local::Deallocate(None) => {
                self.statements.clear();
                "DEALLOCATE ALL"
            }
            Local::Deallocate(Some(name)) => {
                if self.statements.remove(name).is_none() {
                    let message = format!("there is no prepared statement `{name}`");
                    return Err(SqlError::new(state::UNDEFINED_STATEMENT, message).into());
                }
                "DEALLOCATE"
            }
            Local::Declare(name, query, holds) => {
                self.declare(name, query, *holds, parameters)?;
                "DECLARE CURSOR"
            }
            Local::Close(None) => {
                self.portals.clear();
                "CLOSE CURSOR ALL"
            }
            Local::Close(Some(name)) => {
                if self.portals.remove(name).is_none() {
                    let message = format!("there is no cursor `{name}`");
                    return Err(SqlError::new(state::UNDEFINED_CURSOR, message).into());
                }
                "CLOSE CURSOR"
            }
            Local::Show(_) | Local::ShowAll => return Ok(self.show(local, formats)?),
            // These have rows of the engine.
            Local::Engine | Local::Fetch(..) | Local::CopyOut(..) => return Ok(()),
        };
        backend::command_complete(&mut self.socket.output, tag);
        Ok(())
    }

    fn begin_transaction(&mut self) -> &'static str {
        match self.before {
            Some(_) => self.warn("25001", "there is a transaction already"),
            None => {
                self.before = Some(self.settings.clone());
                self.transaction = Transaction::Open;
            }
        }
        "BEGIN"
    }

    fn end_transaction(&mut self, commits: bool) -> &'static str {
        match self.before.take() {
            None => self.warn("25P01", "there is no transaction"),
            Some(before) if !commits => {
                self.settings = before;
                self.report_all();
            }
            Some(_) => {
                let local = std::mem::take(&mut self.local_settings);
                for (name, value) in local.into_iter().rev() {
                    // It was a valid value before.
                    let _ = self.settings.set(&name, Some(&value));
                }
                self.report_all();
            }
        }
        self.local_settings.clear();
        self.savepoints.clear();
        self.transaction = Transaction::Idle;
        // Cursors end with their transaction.
        self.portals.retain(|_, portal| portal.holds);
        if commits { "COMMIT" } else { "ROLLBACK" }
    }

    fn warn(&mut self, code: &str, words: &str) {
        backend::notice(&mut self.socket.output, "WARNING", code, words);
    }

    fn in_block(&self, what: &str) -> Result<(), SqlError> {
        match self.before {
            Some(_) => Ok(()),
            None => {
                let message = format!("{what} needs a transaction");
                Err(SqlError::new(state::NO_ACTIVE_TRANSACTION, message)
                    .with_hint("Begin one with BEGIN."))
            }
        }
    }

    fn savepoint(&self, name: &str) -> Result<usize, SqlError> {
        self.in_block("a savepoint")?;
        self.savepoints.iter().rposition(|savepoint| savepoint == name).ok_or_else(|| {
            SqlError::new(state::UNDEFINED_SAVEPOINT, format!("there is no savepoint `{name}`"))
        })
    }

    fn set(&mut self, name: &str, value: Option<&str>, is_local: bool) -> Result<(), SqlError> {
        let old = self.settings.get(name).map(|(_, value)| value.to_owned());
        let reported = self.settings.set(name, value)?;
        if let Some(old) = old.filter(|_| is_local && self.before.is_some())
            && self.local_settings.len() < self.limits.names
        {
            self.local_settings.push((name.to_owned(), old));
        }
        if let Some((name, value)) = reported.and_then(|name| self.settings.get(name)) {
            backend::parameter_status(&mut self.socket.output, name, value);
        }
        Ok(())
    }

    fn report_all(&mut self) {
        for (name, value) in self.settings.reported() {
            backend::parameter_status(&mut self.socket.output, name, value);
        }
    }

    fn declare(
        &mut self,
        name: &str,
        query: &str,
        holds: bool,
        parameters: Vec<Parameter>,
    ) -> Result<(), SqlError> {
        if !holds {
            self.in_block("DECLARE CURSOR without WITH HOLD")?;
        }
        if self.portals.contains_key(name) {
            let message = format!("there is a portal or cursor `{name}` already");
            return Err(SqlError::new(state::DUPLICATE_CURSOR, message));
        }
        self.check_held(query.len() + name.len() + 32 * parameters.len(), self.portals.len())?;
        let mut cursor = Portal::new(query.to_owned(), Local::Engine);
        cursor.parameters = parameters;
        cursor.holds = holds;
        self.portals.insert(name.to_owned(), cursor);
        Ok(())
    }

    fn show(&mut self, local: &Local, formats: &[Format]) -> Result<(), SqlError> {
        let rows: Vec<Vec<String>> = match local {
            Local::Show(name) => {
                let value = self.settings.get(name).map(|(_, value)| value.to_owned());
                value.into_iter().map(|value| vec![value]).collect()
            }
            _ => self
                .settings
                .all()
                .map(|(name, value)| vec![name.to_owned(), value.to_owned()])
                .collect(),
        };
        let columns = rows.first().map_or(0, Vec::len);
        let formats = spread(formats, columns)?;
        for row in rows {
            let out = &mut self.socket.output;
            let start = out.len();
            out.put_u8(b'D');
            out.put_i32(0);
            out.put_u16(u16::try_from(columns).unwrap_or(0));
            for (value, format) in row.into_iter().zip(&formats) {
                encode::field(out, &Value::Text(value.into()), Scalar::Text.into(), *format)?;
            }
            backend::finish(out, start);
        }
        backend::command_complete(&mut self.socket.output, "SHOW");
        Ok(())
    }
}
