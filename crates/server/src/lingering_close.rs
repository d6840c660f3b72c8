//! Closing of connections whose last request has an unread body.
//!
//! A server may answer a request before it has read the body, for instance because the object is too long. If the
//! socket is then closed while bytes arrive, the client's system reports a broken connection, and the client may never
//! read the answer. The server therefore first closes only its own direction, and discards what still arrives, up to
//! a limit in bytes and time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::limits::Limits;

/// The most bytes that are discarded. Most clients upload parts of at most this size.
const MAX_BYTES: usize = 64 << 20;
/// The longest time without bytes.
const MAX_IDLE: Duration = Duration::from_secs(2);
/// The bytes that are discarded at a time.
const BUFFER: usize = 64 << 10;

/// Whether the body of the last request on a connection was dropped before its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnreadBody(Arc<AtomicBool>);

impl UnreadBody {
    /// Registers that the body has an unread rest, or that a new request begins.
    pub(crate) fn set(&self, is_unread: bool) {
        self.0.store(is_unread, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A socket that discards the rest of an unread body before it is closed.
#[derive(Debug)]
pub(crate) struct LingeringSocket<S> {
    socket: S,
    unread: UnreadBody,
    patience: Duration,
    rest: Option<Rest>,
}

/// The rest of a body that is being discarded.
#[derive(Debug)]
struct Rest {
    buffer: Box<[u8]>,
    /// The most bytes still to discard.
    left: usize,
    end: Instant,
    idle: Duration,
    timer: Pin<Box<Sleep>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> LingeringSocket<S> {
    pub(crate) fn new(socket: S, unread: UnreadBody, limits: &Limits) -> Self {
        Self { socket, unread, patience: limits.client_timeout, rest: None }
    }

    /// Discards what arrives. Ready at its end, and when a limit is reached.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let patience = self.patience;
        let rest = self.rest.get_or_insert_with(|| {
            let idle = patience.min(MAX_IDLE);
            let buffer = vec![0; BUFFER].into_boxed_slice();
            let (end, timer) = (Instant::now() + patience, Box::pin(sleep(idle)));
            Rest { buffer, left: MAX_BYTES, end, idle, timer }
        });
        loop {
            let mut buffer = ReadBuf::new(&mut rest.buffer);
            match Pin::new(&mut self.socket).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    let Some(left) = rest.left.checked_sub(buffer.filled().len()) else {
                        return Poll::Ready(());
                    };
                    rest.left = left;
                    let now = Instant::now();
                    if now >= rest.end {
                        return Poll::Ready(());
                    }
                    rest.timer.as_mut().reset(rest.end.min(now + rest.idle));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return rest.timer.as_mut().poll(cx),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LingeringSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.rest.is_none() {
            ready!(Pin::new(&mut this.socket).poll_shutdown(cx))?;
            if !this.unread.is_set() {
                return Poll::Ready(Ok(()));
            }
        }
        this.poll_discard(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    fn sockets(
        is_unread: bool,
        patience: Duration,
    ) -> (DuplexStream, LingeringSocket<DuplexStream>) {
        let (client, server) = duplex(1 << 10);
        let unread = UnreadBody::default();
        unread.set(is_unread);
        let limits = Limits { client_timeout: patience, ..Limits::default() };
        (client, LingeringSocket::new(server, unread, &limits))
    }

    #[tokio::test]
    async fn a_client_sends_its_body_and_reads_the_answer() {
        let (mut client, mut server) = sockets(true, Duration::from_secs(60));
        let closing = async {
            server.write_all(b"refused").await.unwrap();
            server.shutdown().await.unwrap();
            drop(server);
        };
        let sending = async {
            client.write_all(&[1; 100_000]).await.unwrap();
            let mut answer = [0; 7];
            client.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"refused");
            client.shutdown().await.unwrap();
        };
        tokio::join!(closing, sending);
    }

    #[tokio::test]
    async fn bytes_are_limited() {
        let (mut client, mut server) = sockets(true, Duration::from_secs(60));
        let mut sent = 0;
        let sending = async {
            let piece = vec![1; 1 << 20];
            while client.write_all(&piece).await.is_ok() {
                sent += piece.len();
            }
        };
        let closing = async {
            server.shutdown().await.unwrap();
            drop(server);
        };
        tokio::join!(closing, sending);
        assert!((MAX_BYTES - (1 << 20)..=MAX_BYTES).contains(&sent), "{sent}");
    }

    #[tokio::test]
    async fn silent_and_trickling_clients_are_left() {
        let (client, mut server) = sockets(true, Duration::from_millis(10));
        server.shutdown().await.unwrap();
        drop(client);
        let (mut client, mut server) = sockets(true, Duration::from_millis(10));
        let trickling = async {
            while client.write_all(b"x").await.is_ok() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let closing = async {
            server.shutdown().await.unwrap();
            drop(server);
        };
        tokio::join!(closing, trickling);
    }

    #[tokio::test]
    async fn a_body_that_was_read_delays_nothing() {
        let (_client, mut server) = sockets(false, Duration::MAX);
        server.shutdown().await.unwrap();
    }
}
