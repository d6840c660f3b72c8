//! Accepts connections, begins TLS, and ends connections whose clients do nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use sluicegate_postgres::TlsIdentity;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tonic::transport::server::Connected;

use super::activity::Times;
use super::connection::Connection;

/// The pause after the system has refused a connection, for want of file descriptors for example.
const PAUSE: Duration = Duration::from_millis(100);
/// A client that answers nothing for so long on a silent connection is given up.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// Most connections that have sent no request that is allowed. Further ones wait.
const STARTUPS: usize = 256;
/// Stands for no deadline.
const DAY: Duration = Duration::from_secs(86_400);

/// Accepts connections until the receiver is dropped. `open` creates the session of a connection.
pub(super) async fn accept(
    listener: TcpListener,
    tls: Option<TlsIdentity>,
    times: Times,
    open: impl Fn(OwnedSemaphorePermit) -> Arc<Connection>,
    sockets: mpsc::Sender<Socket>,
) {
    let startups = Arc::new(Semaphore::new(STARTUPS));
    let mut handshakes = JoinSet::new();
    loop {
        // Connections beyond the limit wait in the queue of the system.
        let accepted = async {
            let permit = Arc::clone(&startups).acquire_owned().await;
            (permit, listener.accept().await)
        };
        tokio::select! {
            () = sockets.closed() => return,
            Some(_) = handshakes.join_next() => {}
            (permit, accepted) = accepted => match (permit, accepted) {
                (Ok(permit), Ok((stream, _))) => {
                    let begun = begin(stream, tls.clone(), open(permit));
                    let sockets = sockets.clone();
                    handshakes.spawn(async move {
                        if let Ok(Ok(socket)) = timeout(times.startup, begun).await {
                            let _ = sockets.send(socket).await;
                        }
                    });
                }
                (_, Err(_)) => tokio::time::sleep(PAUSE).await,
                (Err(_), _) => return,
            },
        }
    }
}

async fn begin(
    stream: TcpStream,
    tls: Option<TlsIdentity>,
    connection: Arc<Connection>,
) -> io::Result<Socket> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    let stream: Box<dyn Stream> = match tls {
        Some(tls) => Box::new(Box::pin(tls.accept(stream)).await?),
        None => Box::new(stream),
    };
    let alarm = Box::pin(sleep_until(connection.activity.first_look()));
    Ok(Socket { stream, connection, alarm })
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection's bytes. They end with an error once the client has done nothing for too long.
pub(super) struct Socket {
    stream: Box<dyn Stream>,
    connection: Arc<Connection>,
    alarm: Pin<Box<Sleep>>,
}

impl Socket {
    /// Fails if the deadline has passed, and otherwise wakes the task when it may have.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.alarm.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            match self.connection.activity.deadline() {
                Some(deadline) if deadline <= now => return Err(io::ErrorKind::TimedOut.into()),
                Some(deadline) => self.alarm.as_mut().reset(deadline),
                None => self.alarm.as_mut().reset(now + DAY),
            }
        }
        Ok(())
    }
}

impl Connected for Socket {
    type ConnectInfo = Arc<Connection>;

    fn connect_info(&self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
