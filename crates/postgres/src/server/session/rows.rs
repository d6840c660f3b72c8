//! Runs portals and sends their rows.

use bytes::BufMut;

use crate::error::SqlError;
use crate::server::backend::{Batch, Rows, Session};
use crate::server::copy::CopyOptions;
use crate::server::local::Local;
use crate::server::portal::{Portal, Running, State, with_count};
use crate::server::session::{Active, guarded};
use crate::server::socket::End;
use crate::types::encode;
use crate::wire::backend;

/// Where rows go.
enum Sink<'a> {
    /// To the client.
    Client,
    /// To the client, as those of COPY.
    Copy(&'a CopyOptions),
    /// Nowhere.
    Nowhere,
}

impl<S: Session> Active<'_, S> {
    /// Starts the statement of a portal, unless it runs already.
    pub(super) async fn start(&mut self, portal: &mut Portal<S::Rows>) -> Result<(), End> {
        if !matches!(portal.state, State::New) {
            return Ok(());
        }
        if let Local::Deallocate(Some(name)) = &portal.local
            && !self.statements.contains_key(name)
        {
            // The engine has the statements of PREPARE.
            portal.local = Local::Engine;
        }
        match portal.local.clone() {
            Local::Engine => self.start_as(portal, None).await,
            Local::CopyOut(query, _) => self.start_as(portal, Some(&query)).await,
            Local::Fetch(name, ..) => {
                if let Some(mut cursor) = self.portals.remove(&name) {
                    self.start_as_cursor(&mut cursor).await?;
                    self.portals.insert(name, cursor);
                }
                Ok(())
            }
            // These do their work when they are executed.
            _ => Ok(()),
        }
    }

    /// Starts the query of a cursor, unless it runs already.
    async fn start_as_cursor(&mut self, cursor: &mut Portal<S::Rows>) -> Result<(), End> {
        match cursor.state {
            State::New => self.start_as(cursor, None).await,
            State::Rows(_) | State::Done(_) => Ok(()),
        }
    }

    async fn start_as(
        &mut self,
        portal: &mut Portal<S::Rows>,
        query: Option<&str>,
    ) -> Result<(), End> {
        let in_transaction = self.before.is_some();
        let sql = query.unwrap_or(&portal.sql);
        let work = self.engine.run(sql, &portal.parameters, in_transaction);
        let work = guarded(work, &self.socket, &self.key, self.deadline, &mut self.stopped);
        let mut answer = work.await?;
        self.notices(std::mem::take(&mut answer.notices));
        portal.started(answer)?;
        Ok(())
    }

    /// Sends the columns of a portal. The simple protocol has no message for none.
    pub(super) fn describe_portal(
        &mut self,
        portal: &mut Portal<S::Rows>,
        is_simple: bool,
    ) -> Result<(), SqlError> {
        let from_cursor = match &portal.local {
            Local::Fetch(name, _, true) => self.portals.get(name),
            _ => None,
        };
        let described = match (&portal.local, &portal.state, from_cursor) {
            (Local::Engine, State::Rows(rows), _) => {
                Some((rows.columns.clone(), rows.formats.clone()))
            }
            (_, _, Some(Portal { state: State::Rows(rows), .. })) => {
                let formats = crate::wire::frontend::spread(&portal.formats, rows.columns.len())?;
                Some((rows.columns.clone(), formats))
            }
            (local, ..) => match self.columns_of(local) {
                Some(columns) => {
                    let formats = crate::wire::frontend::spread(&portal.formats, columns.len())?;
                    Some((columns, formats))
                }
                None => None,
            },
        };
        match described {
            Some((columns, formats)) => {
                backend::row_description(&mut self.socket.output, &columns, &formats);
            }
            None if !is_simple => backend::empty(&mut self.socket.output, b'n'),
            None => {}
        }
        Ok(())
    }

    /// Runs a portal, at most for so many rows.
    pub(super) async fn execute(
        &mut self,
        portal: &mut Portal<S::Rows>,
        most: Option<usize>,
    ) -> Result<(), End> {
        let local = portal.local.clone();
        match &local {
            Local::Engine => {}
            Local::CopyOut(_, options) => return self.copy_out(portal, options).await,
            Local::Fetch(name, count, sends) => {
                let formats = portal.formats.clone();
                return self.fetch(name, *count, *sends, &formats).await;
            }
            other => {
                let parameters = std::mem::take(&mut portal.parameters);
                return self.perform(other, parameters, &portal.formats);
            }
        }
        let tag = match &mut portal.state {
            State::Rows(rows) => {
                let (sent, is_complete) = self.send(rows, most, &Sink::Client).await?;
                if !is_complete {
                    backend::empty(&mut self.socket.output, b's');
                    return Ok(());
                }
                with_count(&rows.tag, sent)
            }
            State::Done(tag) => tag.clone(),
            State::New => String::new(),
        };
        backend::command_complete(&mut self.socket.output, &tag);
        portal.state = match std::mem::replace(&mut portal.state, State::New) {
            State::Rows(rows) => State::Done(with_count(&rows.tag, 0)),
            other => other,
        };
        Ok(())
    }

    async fn copy_out(
        &mut self,
        portal: &mut Portal<S::Rows>,
        options: &CopyOptions,
    ) -> Result<(), End> {
        let State::Rows(rows) = &mut portal.state else {
            let message = "COPY TO STDOUT takes a query that returns rows";
            return Err(SqlError::new(crate::error::state::SYNTAX_ERROR, message).into());
        };
        backend::copy_out(&mut self.socket.output, options.format(), rows.columns.len());
        options.begin(&mut self.socket.output, &rows.columns);
        let (sent, _) = self.send(rows, None, &Sink::Copy(options)).await?;
        options.end(&mut self.socket.output, sent == 0);
        backend::empty(&mut self.socket.output, b'c');
        backend::command_complete(&mut self.socket.output, &with_count("COPY", sent));
        Ok(())
    }

    async fn fetch(
        &mut self,
        name: &str,
        count: Option<usize>,
        sends: bool,
        formats: &[crate::types::Format],
    ) -> Result<(), End> {
        let Some(mut cursor) = self.portals.remove(name) else {
            let message = format!("there is no cursor `{name}`");
            return Err(SqlError::new(crate::error::state::UNDEFINED_CURSOR, message).into());
        };
        let sink = if sends { Sink::Client } else { Sink::Nowhere };
        let mut sent = 0;
        if let State::Rows(rows) = &mut cursor.state {
            rows.formats = crate::wire::frontend::spread(formats, rows.columns.len())?;
            if count != Some(0) {
                (sent, _) = self.send(rows, count, &sink).await?;
            }
        }
        self.portals.insert(name.to_owned(), cursor);
        let tag = with_count(if sends { "FETCH" } else { "MOVE" }, sent);
        backend::command_complete(&mut self.socket.output, &tag);
        Ok(())
    }

    /// Sends rows. Returns their number, and whether there are no more.
    async fn send(
        &mut self,
        running: &mut Running<S::Rows>,
        most: Option<usize>,
        sink: &Sink<'_>,
    ) -> Result<(u64, bool), End> {
        let most = most.map_or(u64::MAX, |most| u64::try_from(most).unwrap_or(u64::MAX));
        let mut sent = 0;
        loop {
            if running.batch.is_none() {
                let next = running.rows.next();
                let next = guarded(next, &self.socket, &self.key, self.deadline, &mut self.stopped);
                let next = next.await?;
                let notices = running.rows.notices();
                self.notices(notices);
                running.batch = match next {
                    Some(batch) => Some((batch, 0)),
                    None => return Ok((sent, true)),
                };
            }
            let Running { columns, formats, batch, .. } = running;
            let Some((rows, at)) = batch else { continue };
            while *at < rows.rows() {
                let out = &mut self.socket.output;
                match sink {
                    Sink::Nowhere => {}
                    Sink::Copy(options) => options.row(out, rows, *at, columns, sent == 0)?,
                    Sink::Client => {
                        let start = out.len();
                        out.put_u8(b'D');
                        out.put_i32(0);
                        out.put_u16(u16::try_from(columns.len()).unwrap_or(u16::MAX));
                        for (index, column) in columns.iter().enumerate() {
                            let written = rows.value(*at, index).and_then(|value| {
                                encode::field(out, &value, column.kind, formats[index])
                            });
                            if let Err(error) = written {
                                // Half a row must not be sent.
                                out.truncate(start);
                                return Err(error.into());
                            }
                        }
                        backend::finish(out, start);
                    }
                }
                *at += 1;
                sent += 1;
                self.socket.flush_if_full().await?;
                if sent == most {
                    if *at == rows.rows() {
                        *batch = None;
                    }
                    return Ok((sent, false));
                }
            }
            *batch = None;
        }
    }
}
