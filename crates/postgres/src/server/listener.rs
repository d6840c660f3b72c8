//! Accepts connections.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::server::backend::Backend;
use crate::server::cancel::Sessions;
use crate::server::handshake::{self, Welcome};
use crate::server::limits::{Limits, Places};
use crate::server::session;
use crate::server::tls::TlsIdentity;
use crate::wire::scram::Password;

/// The pause after the system has refused a connection, for want of file descriptors for example.
const PAUSE: Duration = Duration::from_millis(100);
/// The time that sessions get to tell their clients that the server stops.
const GRACE: Duration = Duration::from_millis(1500);
/// A client that answers nothing for so long on a silent connection is given up.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Settings of a server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The limits.
    pub limits: Limits,
    /// The places for sessions. Clients without a place get the error 53300.
    pub places: Places,
    /// The password that clients need; none without one.
    pub password: Option<Password>,
    /// The certificate; without one, there is no TLS.
    pub tls: Option<TlsIdentity>,
    /// True if clients without TLS are refused.
    pub requires_tls: bool,
}

/// An error of a server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be used.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
}

/// A server that has its address.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    options: Arc<Options>,
}

impl Bound {
    /// Takes an address. Clients can connect from now on; they wait until [`Bound::serve`].
    ///
    /// # Errors
    ///
    /// If the address cannot be used.
    pub async fn new(address: SocketAddr, options: Options) -> Result<Self, ServerError> {
        let failed = |error| ServerError::Listen(address, error);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, options: Arc::new(options) })
    }

    /// Returns the address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves clients until `stop` is ready. Then sessions are told and end, and running statements are dropped.
    pub async fn serve<B: Backend>(self, backend: Arc<B>, stop: impl Future<Output = ()>) {
        let Self { listener, options, .. } = self;
        let limits = &options.limits;
        let shared = Shared {
            startups: Arc::new(Semaphore::new(limits.startups.max(1))),
            sessions: Sessions::default(),
            options,
        };
        let (stopping, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            // Connections beyond the limit wait in the queue of the system.
            let accepted = async {
                let permit = Arc::clone(&shared.startups).acquire_owned().await;
                (permit, listener.accept().await)
            };
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                (permit, accepted) = accepted => match (permit, accepted) {
                    (Ok(permit), Ok((stream, address))) => {
                        let client = Client { stream, address, permit };
                        let served = client.serve(shared.clone(), Arc::clone(&backend), stopped.clone());
                        connections.spawn(served);
                    }
                    (_, Err(_)) => tokio::time::sleep(PAUSE).await,
                    (Err(_), _) => break,
                },
            }
        }
        drop(listener);
        let _ = stopping.send(true);
        let ended = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(GRACE, ended).await;
        connections.shutdown().await;
    }
}

/// What all connections share.
#[derive(Debug, Clone)]
struct Shared {
    options: Arc<Options>,
    startups: Arc<Semaphore>,
    sessions: Sessions,
}

/// A new connection.
struct Client {
    stream: TcpStream,
    address: SocketAddr,
    permit: OwnedSemaphorePermit,
}

impl Client {
    async fn serve<B: Backend>(
        self,
        shared: Shared,
        backend: Arc<B>,
        mut stopped: watch::Receiver<bool>,
    ) {
        let Self { stream, address, permit } = self;
        let _ = stream.set_nodelay(true);
        // A client whose machine was cut off is noticed, even if its session is silent.
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
        let options = Arc::clone(&shared.options);
        let begun = handshake::begin(stream, address, &options, &shared.sessions);
        let begun = tokio::select! {
            begun = timeout(options.limits.startup_time, Box::pin(begun)) => begun,
            _ = stopped.wait_for(|stopped| *stopped) => return,
        };
        drop(permit);
        let Ok(Some(Welcome { socket, settings })) = begun else { return };
        let _place = match options.places.take() {
            Ok(place) => place,
            Err(error) => return socket.close(Some(&error)).await,
        };
        let key = match shared.sessions.add() {
            Ok(key) => key,
            Err(error) => return socket.close(Some(&error)).await,
        };
        Box::pin(session::serve(socket, &settings, key, &options, backend.as_ref(), stopped)).await;
    }
}
