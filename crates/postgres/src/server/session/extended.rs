//! The extended protocol: prepared statements, parameters and portals.

use crate::error::{SqlError, state};
use crate::server::backend::{Description, Parameter, Session};
use crate::server::local::Local;
use crate::server::portal::{Portal, Prepared};
use crate::server::session::{Active, guarded};
use crate::server::socket::End;
use crate::types::{Format, PgType, Scalar, Value, decode};
use crate::wire::backend;
use crate::wire::frontend::{Bind, Message, Target, spread};

impl<S: Session> Active<'_, S> {
    /// Answers a message of the extended protocol.
    pub(super) async fn extended(&mut self, message: Message) -> Result<(), End> {
        match message {
            Message::Parse { name, sql, types } => self.prepare(name, sql, &types)?,
            Message::Bind(bind) => self.bind(bind).await?,
            Message::Describe(Target::Statement(name)) => self.describe_statement(&name).await?,
            Message::Describe(Target::Portal(name)) => {
                let mut portal = self.portal(&name)?;
                self.begin();
                self.check_transaction(&portal.local)?;
                // What a statement does, it does when it is executed.
                if returns_rows(&portal.local) {
                    self.start(&mut portal).await?;
                }
                let described = self.describe_portal(&mut portal, false);
                self.portals.insert(name, portal);
                described?;
            }
            Message::Execute { portal: name, most_rows } => {
                let mut portal = self.portal(&name)?;
                self.begin();
                self.check_transaction(&portal.local)?;
                self.start(&mut portal).await?;
                self.execute(&mut portal, (most_rows > 0).then_some(most_rows)).await?;
                self.portals.insert(name, portal);
            }
            Message::Close(target) => {
                match target {
                    Target::Statement(name) => drop(self.statements.remove(&name)),
                    Target::Portal(name) => drop(self.portals.remove(&name)),
                }
                backend::empty(&mut self.socket.output, b'3');
            }
            // These are answered before.
            Message::Query(_)
            | Message::Sync
            | Message::Flush
            | Message::Terminate
            | Message::CopyData
            | Message::CopyEnd
            | Message::Authentication(_) => {}
        }
        Ok(())
    }

    /// Takes a portal. It is put back unless its statement fails.
    fn portal(&mut self, name: &str) -> Result<Portal<S::Rows>, SqlError> {
        self.portals.remove(name).ok_or_else(|| {
            SqlError::new(state::UNDEFINED_CURSOR, format!("there is no portal `{name}`"))
        })
    }

    fn prepare(&mut self, name: String, sql: String, types: &[u32]) -> Result<(), SqlError> {
        let prepared = Prepared::new(sql, types)?;
        self.check_transaction(&prepared.local)?;
        if !name.is_empty() && self.statements.contains_key(&name) {
            let message = format!("there is a prepared statement `{name}` already");
            return Err(SqlError::new(state::DUPLICATE_STATEMENT, message));
        }
        self.statements.remove(&name);
        self.check_held(prepared.bytes() + name.len(), self.statements.len())?;
        self.statements.insert(name, prepared);
        backend::empty(&mut self.socket.output, b'1');
        Ok(())
    }

    async fn bind(&mut self, bind: Bind) -> Result<(), End> {
        let Bind { portal: name, statement, formats, parameters, result_formats } = bind;
        let unknown = || {
            let message = format!("there is no prepared statement `{statement}`");
            SqlError::new(state::UNDEFINED_STATEMENT, message)
        };
        let prepared = self.statements.get(&statement).ok_or_else(unknown)?;
        self.check_transaction(&prepared.local)?;
        if parameters.len() != prepared.types.len() {
            let message = format!(
                "the statement has {} parameters, and {} were sent",
                prepared.types.len(),
                parameters.len()
            );
            return Err(SqlError::new(state::PROTOCOL_VIOLATION, message).into());
        }
        if prepared.types.iter().any(Option::is_none) {
            self.begin();
            self.describe(&statement).await?;
        }
        let prepared = self.statements.get(&statement).ok_or_else(unknown)?;
        let formats = spread(&formats, parameters.len())?;
        let bytes = parameters.iter().flatten().map(|it| it.len() + 32).sum::<usize>();
        let bytes = bytes + prepared.sql.len() + name.len();
        let mut read = Vec::with_capacity(parameters.len());
        for (index, bytes) in parameters.iter().enumerate() {
            let kind = kind_of(prepared, index);
            let value = match bytes {
                Some(bytes) => decode::parameter(bytes, kind, formats[index])?,
                None => Value::Null,
            };
            read.push(Parameter { kind, value });
        }
        let mut portal = Portal::new(prepared.sql.clone(), prepared.local.clone());
        portal.parameters = read;
        portal.formats = result_formats;
        portal.bytes = bytes;
        portal.described = prepared.description.as_ref().and_then(|it| it.columns.clone());
        if !name.is_empty() && self.portals.contains_key(&name) {
            let message = format!("there is a portal or cursor `{name}` already");
            return Err(SqlError::new(state::DUPLICATE_CURSOR, message).into());
        }
        self.portals.remove(&name);
        self.check_held(bytes, self.portals.len())?;
        self.portals.insert(name, portal);
        backend::empty(&mut self.socket.output, b'2');
        Ok(())
    }

    /// Checks the limits before a statement or portal of so many bytes is added to `names` others.
    pub(super) fn check_held(&self, bytes: usize, names: usize) -> Result<(), SqlError> {
        let held = self.statements.values().map(Prepared::bytes).sum::<usize>();
        let held = held + self.portals.values().map(|portal| portal.bytes).sum::<usize>();
        if names >= self.limits.names || held + bytes > self.limits.held_bytes {
            return Err(SqlError::new(
                state::LIMIT_EXCEEDED,
                format!(
                    "the session holds too much: at most {} prepared statements and as many portals, with {} bytes \
                     in all",
                    self.limits.names, self.limits.held_bytes
                ),
            )
            .with_hint("Close those that are not needed, with DEALLOCATE or CLOSE."));
        }
        Ok(())
    }

    /// Finds the types of a prepared statement, once.
    async fn describe(&mut self, name: &str) -> Result<Description, End> {
        let prepared = self.statements.get(name).ok_or_else(|| {
            let message = format!("there is no prepared statement `{name}`");
            SqlError::new(state::UNDEFINED_STATEMENT, message)
        })?;
        if let Some(description) = &prepared.description {
            return Ok(description.clone());
        }
        let (sql, types) = match &prepared.local {
            Local::Engine => (prepared.sql.clone(), prepared.types.clone()),
            Local::Declare(_, query, _) | Local::CopyOut(query, _) => {
                (query.clone(), prepared.types.clone())
            }
            local => {
                let columns = self.columns_of(local);
                return Ok(Description { parameters: Vec::new(), columns });
            }
        };
        let is_query = prepared.local == Local::Engine;
        let work = self.engine.describe(&sql, &types);
        let work = guarded(work, &self.socket, &self.key, self.deadline, &mut self.stopped);
        let mut description = work.await?;
        description.parameters.resize(types.len(), Scalar::Text.into());
        for (kind, named) in description.parameters.iter_mut().zip(types) {
            *kind = named.unwrap_or(*kind);
        }
        if !is_query {
            description.columns = None;
        }
        if let Some(prepared) = self.statements.get_mut(name) {
            prepared.description = Some(description.clone());
        }
        Ok(description)
    }

    async fn describe_statement(&mut self, name: &str) -> Result<(), End> {
        self.begin();
        let Description { parameters, columns } = self.describe(name).await?;
        let out = &mut self.socket.output;
        backend::parameter_description(out, &parameters);
        match columns {
            Some(columns) => {
                let formats = vec![Format::Text; columns.len()];
                backend::row_description(out, &columns, &formats);
            }
            None => backend::empty(out, b'n'),
        }
        Ok(())
    }
}

/// Returns true if a portal must run to know its columns.
fn returns_rows(local: &Local) -> bool {
    matches!(local, Local::Engine | Local::Fetch(..))
}

/// Returns the type of a parameter: the one that the client has named, or the inferred one.
fn kind_of(prepared: &Prepared, index: usize) -> PgType {
    let inferred = || prepared.description.as_ref()?.parameters.get(index).copied();
    let named = prepared.types.get(index).copied().flatten();
    named.or_else(inferred).unwrap_or_else(|| Scalar::Text.into())
}
