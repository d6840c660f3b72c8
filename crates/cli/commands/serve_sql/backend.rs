//! Gives each client a session of the engine.

use sluicegate_costmodel::Dollars;
use sluicegate_engine::Engine;
use sluicegate_postgres::{Backend, ClientInfo, SqlError};

use super::session::SqlSession;
use crate::runtime::compute::Threads;

/// What clients may do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether they may write.
    pub(super) allows_writes: bool,
    /// The predicted cost above which statements do not run.
    pub(super) max_cost: Option<Dollars>,
}

/// The engine, for all clients.
#[derive(Debug)]
pub(super) struct SqlBackend {
    engine: Engine,
    threads: Threads,
    rules: Rules,
}

impl SqlBackend {
    pub(super) fn new(engine: Engine, threads: Threads, rules: Rules) -> Self {
        Self { engine, threads, rules }
    }
}

impl Backend for SqlBackend {
    type Session = SqlSession;

    fn open(&self, client: &ClientInfo) -> Result<SqlSession, SqlError> {
        Ok(SqlSession::new(self.engine.clone(), self.threads.clone(), self.rules, client))
    }
}
