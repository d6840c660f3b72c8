//! The engine's session of a client, for every protocol.

use sluicegate_engine::Engine;
use sluicegate_postgres::SqlError;
use tokio::sync::OnceCell;

use super::errors;
use super::rules::Rules;
use crate::runtime::compute::Threads;

/// The session of a client. The engine's session begins with the first statement.
#[derive(Debug)]
pub(super) struct ClientSession {
    shared: Engine,
    engine: OnceCell<Engine>,
    threads: Threads,
    rules: Rules,
}

impl ClientSession {
    pub(super) fn new(shared: Engine, threads: Threads, rules: Rules) -> Self {
        Self { shared, engine: OnceCell::new(), threads, rules }
    }

    pub(super) const fn rules(&self) -> Rules {
        self.rules
    }

    pub(super) const fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Returns a session that has nothing of this one.
    pub(super) fn renewed(&self) -> Self {
        Self::new(self.shared.clone(), self.threads.clone(), self.rules)
    }

    /// Returns the engine's session. If it does not exist yet, it is created and `begin` prepares it.
    pub(super) async fn engine(&self, begin: impl FnOnce(&Engine)) -> Result<Engine, SqlError> {
        let created = self.engine.get_or_try_init(async || {
            let engine = match self.rules.session_memory {
                Some(limit) => self.shared.limited_session(limit).await,
                None => self.shared.separate_session().await,
            };
            let engine = engine.map_err(|error| errors::of_engine(&error, ""))?;
            begin(&engine);
            Ok(engine)
        });
        created.await.cloned()
    }

    /// Runs work on the threads of queries. Dropping the future stops the work.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, SqlError>> + Send + 'static,
    ) -> Result<T, SqlError> {
        let ran = self.threads.run(async move { Ok(Box::pin(work).await) });
        ran.await.map_err(|failure| errors::of_failure(&failure))?
    }
}
