//! Gives each client a session of the engine.

use sluicegate_engine::Engine;
use sluicegate_postgres::{Backend, ClientInfo, SqlError};

use super::client::ClientSession;
use super::rules::Rules;
use super::session::SqlSession;
use crate::runtime::compute::Threads;

/// The engine, for all clients.
#[derive(Debug)]
pub(super) struct SqlBackend {
    engine: Engine,
    threads: Threads,
    rules: Rules,
}

impl SqlBackend {
    pub(super) const fn new(engine: Engine, threads: Threads, rules: Rules) -> Self {
        Self { engine, threads, rules }
    }

    /// Returns a session for a client of any protocol.
    pub(super) fn session(&self) -> ClientSession {
        ClientSession::new(self.engine.clone(), self.threads.clone(), self.rules)
    }
}

impl Backend for SqlBackend {
    type Session = SqlSession;

    fn open(&self, client: &ClientInfo) -> Result<SqlSession, SqlError> {
        Ok(SqlSession::new(self.session(), client))
    }
}
