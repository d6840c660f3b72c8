//! The engine behind Arrow Flight SQL: answers go out in Arrow's format, without a conversion to rows.
//!
//! [`listener`] accepts connections, and each [`connection`] is a session that ends if its [`activity`] does. Calls
//! pass the [`gate`], which checks their [`authentication`], to the [`service`]. The service has [`planned`] queries,
//! whose rows are an [`answer`], and [`prepared`] statements with [`parameters`]; [`bounded`] limits both. [`metadata`]
//! and [`sql_info`] answer questions about tables and about the server, [`cancel`] stops queries, and [`errors`]
//! translates errors.

mod activity;
mod answer;
mod authentication;
mod bounded;
mod cancel;
mod connection;
mod errors;
mod gate;
mod listener;
mod metadata;
mod parameters;
mod planned;
mod prepared;
mod service;
mod sql_info;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use sluicegate_postgres::{Password, Places, TlsIdentity};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::transport::Server;

use self::activity::Times;
use self::authentication::Authentication;
use self::connection::Connection;
use self::gate::Gate;
use self::service::Service;
use super::backend::SqlBackend;
use crate::failure::{Failure, Result};

/// The most bytes of a message that a client sends.
const MESSAGE_BYTES: usize = 16 << 20;
/// The most calls of a connection at a time. Clients wait with further ones.
const STREAMS: u32 = 100;
/// The time between signs of life of a connection, and the time to wait for one.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(20));
/// The time that running calls get when the server stops.
const GRACE: Duration = Duration::from_millis(1500);
/// The name that ALPN has for HTTP/2.
const PROTOCOL: &str = "h2";

/// Settings of the server.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// The places for sessions.
    pub(super) places: Places,
    /// The time from a connection to its first call that is allowed.
    pub(super) startup_time: Duration,
    /// The time that a client may do nothing.
    pub(super) idle_time: Option<Duration>,
    /// The time that a statement may run.
    pub(super) statement_time: Option<Duration>,
    /// Whether clients may write.
    pub(super) allows_writes: bool,
    /// The password that clients need.
    pub(super) password: Option<Password>,
    /// The certificate; without one, there is no TLS.
    pub(super) tls: Option<TlsIdentity>,
}

/// A server that has its address.
#[derive(Debug)]
pub(super) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    gate: Gate,
    options: Options,
}

impl Bound {
    /// Takes an address.
    pub(super) async fn new(
        address: SocketAddr,
        options: Options,
    ) -> Result<Self, (SocketAddr, io::Error)> {
        let failed = |error| (address, error);
        let authentication = Authentication::new(options.password.clone());
        let authentication = authentication
            .map_err(|status| failed(io::Error::other(status.message().to_owned())))?;
        let other = |error: arrow_flight::error::FlightError| failed(io::Error::other(error));
        let service = Service {
            statement_time: options.statement_time,
            idle_time: options.idle_time,
            server: sql_info::server(options.allows_writes).map_err(other)?,
            types: sql_info::types().map_err(other)?,
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, gate: Gate { authentication, service }, options })
    }

    /// Returns the URL at which clients connect.
    pub(super) fn url(&self) -> String {
        let scheme = if self.options.tls.is_some() { "grpc+tls" } else { "grpc" };
        format!("{scheme}://{}", self.address)
    }

    /// Serves clients until `stop` is ready. Then running calls get some time to end.
    pub(super) async fn serve(
        self,
        backend: Arc<SqlBackend>,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let Self { listener, gate, options, .. } = self;
        let times = Times { startup: options.startup_time, idle: options.idle_time };
        let places = options.places.clone();
        let open = move |startup| {
            Arc::new(Connection::new(backend.session(), places.clone(), startup, times))
        };
        let tls = options.tls.as_ref().map(|tls| tls.for_protocol(PROTOCOL));
        let (sockets, accepted) = mpsc::channel(1);
        let accepting = listener::accept(listener, tls, times, open, sockets);
        let accepted = futures::stream::unfold(accepted, |mut accepted| async move {
            let socket = accepted.recv().await?;
            Some((Ok::<_, io::Error>(socket), accepted))
        });
        let calls = FlightServiceServer::new(gate).max_decoding_message_size(MESSAGE_BYTES);
        let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
        let server = Server::builder()
            .max_concurrent_streams(STREAMS)
            .http2_keepalive_interval(Some(KEEPALIVE.0))
            .http2_keepalive_timeout(Some(KEEPALIVE.1))
            .add_service(calls)
            .serve_with_incoming_shutdown(accepted, async {
                let _ = stopped.await;
            });
        let mut serving = Box::pin(async move { tokio::join!(server, accepting).0 });
        let failed = |error: tonic::transport::Error| Failure::new(format!("Flight SQL: {error}"));
        tokio::select! {
            served = &mut serving => served.map_err(failed),
            () = stop => {
                let _ = stopping.send(());
                timeout(GRACE, serving).await.map_or(Ok(()), |served| served.map_err(failed))
            }
        }
    }
}
