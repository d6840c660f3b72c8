//! A session: messages of a client and the answers to them.
//!
//! [`simple`] and [`extended`] are the two protocols, [`statements`] runs what the protocol itself answers, and
//! [`rows`] sends rows.

mod extended;
mod rows;
mod simple;
mod statements;

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::{Severity, SqlError, state};
use crate::server::backend::{Backend, ClientInfo, Session};
use crate::server::cancel::Key;
use crate::server::limits::Limits;
use crate::server::listener::Options;
use crate::server::portal::{Portal, Prepared};
use crate::server::settings::Settings;
use crate::server::socket::{End, Socket, idle, stopping};
use crate::wire::backend::{self, Transaction};
use crate::wire::frontend::{self, Message};

/// A session with its state.
struct Active<'a, S: Session> {
    socket: Socket,
    engine: S,
    settings: Settings,
    /// The settings at the start of the transaction, to which ROLLBACK returns.
    before: Option<Settings>,
    /// The settings that end with the transaction, with the values to which they return.
    local_settings: Vec<(String, String)>,
    savepoints: Vec<String>,
    transaction: Transaction,
    statements: HashMap<String, Prepared>,
    portals: HashMap<String, Portal<S::Rows>>,
    /// True after an error, until the client synchronises.
    skips: bool,
    /// The time at which the running statement is stopped.
    deadline: Option<Instant>,
    key: Key,
    limits: &'a Limits,
    stopped: watch::Receiver<bool>,
}

/// Serves a session until it ends.
pub(crate) async fn serve<B: Backend>(
    mut socket: Socket,
    startup: &[(String, String)],
    key: Key,
    options: &Options,
    backend: &B,
    stopped: watch::Receiver<bool>,
) {
    let named = |name: &str| startup.iter().find(|it| it.0 == name).map(|it| it.1.clone());
    let user = named("user").unwrap_or_default();
    let database = named("database").filter(|name| !name.is_empty());
    let client = ClientInfo {
        database: database.unwrap_or_else(|| user.clone()),
        user,
        session: key.number,
        address: socket.address,
    };
    let engine = match backend.open(&client) {
        Ok(engine) => engine,
        Err(error) => {
            let error = SqlError { severity: Severity::Fatal, ..error };
            return socket.close(Some(&error)).await;
        }
    };
    let settings = Settings::new(&client.user, startup);
    for (name, value) in settings.reported() {
        backend::parameter_status(&mut socket.output, name, value);
    }
    backend::key_data(&mut socket.output, key.number, key.secret());
    backend::ready(&mut socket.output, Transaction::Idle);
    let mut active = Active {
        socket,
        engine,
        settings,
        before: None,
        local_settings: Vec::new(),
        savepoints: Vec::new(),
        transaction: Transaction::Idle,
        statements: HashMap::new(),
        portals: HashMap::new(),
        skips: false,
        deadline: None,
        key,
        limits: &options.limits,
        stopped,
    };
    let end = active.run().await;
    let Active { socket, engine, portals, .. } = active;
    // Statements stop before the client is told.
    drop((portals, engine));
    if let End::Error(error) = end {
        socket.close(Some(&error)).await;
    }
}

impl<S: Session> Active<'_, S> {
    /// Answers messages until the session ends.
    async fn run(&mut self) -> End {
        if let Err(end) = self.socket.flush().await {
            return end;
        }
        loop {
            let message = match self.message().await {
                Ok(Message::Terminate) => return End::Gone,
                Ok(message) => message,
                Err(end) => return end,
            };
            match self.answer(message).await {
                Ok(()) => {}
                Err(End::Error(error)) if error.severity == Severity::Error => {
                    self.failed(&error);
                    self.skips = true;
                }
                Err(end) => return end,
            }
            if let Err(end) = self.socket.flush_if_full().await {
                return end;
            }
        }
    }

    /// Reads the next message. While a client waits, nothing else needs the session.
    async fn message(&mut self) -> Result<Message, End> {
        let Self { socket, stopped, limits, .. } = self;
        let patience = limits.idle_time.unwrap_or(Duration::MAX);
        let (kind, body) = tokio::select! {
            biased;
            message = timeout(patience, socket.message(limits.message_bytes)) => match message {
                Ok(message) => message?,
                Err(_) => return Err(idle().into()),
            },
            _ = stopped.wait_for(|stopped| *stopped) => return Err(stopping().into()),
        };
        Ok(frontend::parse(kind, body)?)
    }

    async fn answer(&mut self, message: Message) -> Result<(), End> {
        match message {
            Message::Query(sql) => {
                self.skips = false;
                self.simple(&sql).await?;
                self.synchronise().await
            }
            Message::Sync => {
                self.skips = false;
                self.synchronise().await
            }
            Message::Flush => self.socket.flush().await,
            // What a client sends of a COPY that was refused.
            Message::CopyData | Message::CopyEnd => Ok(()),
            Message::Authentication(_) => {
                Err(SqlError::protocol("the client is authenticated already").into())
            }
            _ if self.skips => Ok(()),
            message => self.extended(message).await,
        }
    }

    /// Ends a series of messages.
    async fn synchronise(&mut self) -> Result<(), End> {
        if self.transaction == Transaction::Idle {
            self.portals.retain(|_, portal| portal.holds);
        }
        backend::ready(&mut self.socket.output, self.transaction);
        self.socket.flush().await
    }

    /// Sends an error. A transaction has failed with it.
    fn failed(&mut self, error: &SqlError) {
        if self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
        backend::error(&mut self.socket.output, error);
    }

    fn notices(&mut self, notices: Vec<String>) {
        let least = self.settings.get("client_min_messages").map_or("", |(_, value)| value);
        if ["warning", "error", "fatal", "panic"].contains(&least.to_lowercase().as_str()) {
            return;
        }
        for notice in notices {
            backend::notice(&mut self.socket.output, "NOTICE", "00000", &notice);
        }
    }

    /// Begins to measure the time of a statement. Requests to stop that came before do not count.
    fn begin(&mut self) {
        self.key.stop.forget();
        let limits = [self.settings.statement_timeout(), self.limits.statement_time];
        let least = limits.into_iter().flatten().min();
        self.deadline = least.and_then(|time| Instant::now().checked_add(time));
    }
}

/// Runs work of the engine until it is done, or the client stops it or leaves, or its time is over, or the server
/// stops. Then the work is dropped.
async fn guarded<T>(
    work: impl Future<Output = Result<T, SqlError>>,
    socket: &Socket,
    key: &Key,
    deadline: Option<Instant>,
    stopped: &mut watch::Receiver<bool>,
) -> Result<T, End> {
    let late = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let cancelled = |why: &str| Err(SqlError::new(state::QUERY_CANCELED, why).into());
    tokio::select! {
        biased;
        () = key.stop.requested() => cancelled("the client has stopped the statement"),
        result = work => Ok(result?),
        () = socket.closed() => Err(End::Gone),
        () = late => cancelled("the statement has run for longer than its time allows"),
        _ = stopped.wait_for(|stopped| *stopped) => Err(stopping().into()),
    }
}
