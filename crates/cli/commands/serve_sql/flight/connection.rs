//! A connection, which is the session of its client.
//!
//! It has the engine's session, the prepared statements and the planned queries. All end with the connection, so
//! there are no ids of sessions, and no client can use those of another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sluicegate_postgres::{Place, Places};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tonic::{Request, Status};

use super::activity::{Activity, Times};
use super::authentication::Failures;
use super::bounded::Bounded;
use super::errors;
use super::planned::Planned;
use super::prepared::Prepared;
use crate::commands::serve_sql::client::ClientSession;

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) activity: Activity,
    pub(super) failures: Failures,
    client: Mutex<Arc<ClientSession>>,
    admission: Mutex<Admission>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Admission {
    places: Places,
    /// The place among the connections that have sent no request that is allowed.
    startup: Option<OwnedSemaphorePermit>,
    session: Option<Place>,
}

/// What a connection holds for its client.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) prepared: Bounded<Prepared>,
    pub(super) planned: Bounded<Planned>,
    /// The running queries. A message stops one.
    pub(super) running: HashMap<String, oneshot::Sender<()>>,
}

impl Connection {
    pub(super) fn new(
        client: ClientSession,
        places: Places,
        startup: OwnedSemaphorePermit,
        times: Times,
    ) -> Self {
        Self {
            activity: Activity::new(times),
            failures: Failures::default(),
            client: Mutex::new(Arc::new(client)),
            admission: Mutex::new(Admission { places, startup: Some(startup), session: None }),
            held: Mutex::default(),
        }
    }

    /// Returns the connection of a request.
    pub(super) fn of<T>(request: &Request<T>) -> Result<Arc<Self>, Status> {
        let connection = request.extensions().get::<Arc<Self>>();
        connection.cloned().ok_or_else(|| Status::internal("the request has no connection"))
    }

    /// Takes the place of a session, unless the connection has one. The client may send requests then.
    pub(super) fn admit(&self) -> Result<(), Status> {
        let mut admission = lock(&self.admission);
        if admission.session.is_none() {
            let place = admission.places.take().map_err(|error| errors::status(&error))?;
            admission.session = Some(place);
            admission.startup = None;
            self.activity.admit();
        }
        self.activity.touch();
        Ok(())
    }

    /// Returns the client's session.
    pub(super) fn client(&self) -> Arc<ClientSession> {
        Arc::clone(&lock(&self.client))
    }

    /// Forgets all that the client defined, set and prepared.
    pub(super) fn reset(&self) {
        let mut client = lock(&self.client);
        *client = Arc::new(client.renewed());
        *self.held() = Held::default();
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }

    /// Notes that the client waits for the server until the guard is dropped.
    pub(super) fn waiting(self: &Arc<Self>) -> Waiting {
        self.activity.wait(true);
        Waiting(Arc::clone(self))
    }
}

/// A client waits for the server.
#[derive(Debug)]
pub(super) struct Waiting(Arc<Connection>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.activity.wait(false);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
