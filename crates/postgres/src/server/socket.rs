//! A connection with its buffers.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

use crate::error::{SqlError, state};

/// Bytes that are read at once. Buffers grow with what arrives, never with what a client announces.
const READ_BYTES: usize = 8 << 10;
/// Bytes of answers that are sent at once.
pub(crate) const WRITE_BYTES: usize = 64 << 10;
/// Time between two checks whether a client is still there while its statement runs.
const CHECK: Duration = Duration::from_millis(100);

/// A connection with or without TLS.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// Why a session ends.
#[derive(Debug)]
pub(crate) enum End {
    /// The client has left, or the connection broke.
    Gone,
    /// An error that the client is informed about.
    Error(SqlError),
}

impl From<SqlError> for End {
    fn from(error: SqlError) -> Self {
        Self::Error(error)
    }
}

/// A connection with its buffers.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    pub(crate) address: SocketAddr,
    input: BytesMut,
    pub(crate) output: BytesMut,
    /// How long the client may receive nothing of an answer.
    patience: Option<Duration>,
}

impl Socket {
    pub(crate) fn new(stream: Stream, address: SocketAddr, patience: Option<Duration>) -> Self {
        Self { stream, address, input: BytesMut::new(), output: BytesMut::new(), patience }
    }

    /// Returns the connection, to begin TLS on it. `None` if it has sent more, which somebody in between may have
    /// inserted.
    pub(crate) fn into_plain(self) -> Option<TcpStream> {
        match self.stream {
            Stream::Plain(stream) if self.input.is_empty() => Some(stream),
            _ => None,
        }
    }

    /// Returns true if the connection is encrypted.
    pub(crate) const fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Returns the first byte that the client sends, without taking it.
    pub(crate) async fn peek(&self) -> Result<u8, End> {
        let mut byte = [0];
        match self.stream.tcp().peek(&mut byte).await {
            Ok(1) => Ok(byte[0]),
            _ => Err(End::Gone),
        }
    }

    /// Reads the first packet, without its length. It is cancel safe.
    pub(crate) async fn packet(&mut self, least: usize, most: usize) -> Result<Bytes, End> {
        self.fill(4).await?;
        let length = (&self.input[..4]).get_u32() as usize;
        if length < least || length > most {
            return Err(SqlError::protocol(format!(
                "the first packet is said to have {length} bytes; PostgreSQL's have {least} to {most}"
            ))
            .into());
        }
        self.fill(length).await?;
        self.input.advance(4);
        Ok(self.input.split_to(length - 4).freeze())
    }

    /// Reads a message of at most so many bytes. It is cancel safe.
    pub(crate) async fn message(&mut self, most: usize) -> Result<(u8, Bytes), End> {
        self.fill(5).await?;
        let length = (&self.input[1..5]).get_u32() as usize;
        if length < 4 || length > most {
            return Err(End::Error(
                SqlError::protocol(format!(
                    "a message is said to have {length} bytes; it may have {most}"
                ))
                .with_hint("Send less in one statement."),
            ));
        }
        self.fill(length + 1).await?;
        let kind = self.input.get_u8();
        self.input.advance(4);
        let body = self.input.split_to(length - 4).freeze();
        if self.input.is_empty() {
            // Large buffers are given back.
            self.input = BytesMut::new();
        }
        Ok((kind, body))
    }

    /// Reads until the buffer has so many bytes.
    async fn fill(&mut self, bytes: usize) -> Result<(), End> {
        while self.input.len() < bytes {
            self.input.reserve(READ_BYTES);
            match self.stream.read_buf(&mut self.input).await {
                Ok(0) | Err(_) => return Err(End::Gone),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Sends all that is ready. It is not cancel safe.
    pub(crate) async fn flush(&mut self) -> Result<(), End> {
        while self.output.has_remaining() {
            let write = self.stream.write_buf(&mut self.output);
            let written = match self.patience {
                Some(patience) => timeout(patience, write).await.unwrap_or(Ok(0)),
                None => write.await,
            };
            match written {
                Ok(0) | Err(_) => return Err(End::Gone),
                Ok(_) => {}
            }
        }
        if self.output.capacity() > 4 * WRITE_BYTES {
            self.output = BytesMut::new();
        }
        match self.stream.flush().await {
            Ok(()) => Ok(()),
            Err(_) => Err(End::Gone),
        }
    }

    /// Sends all that is ready, if it is enough for a packet.
    pub(crate) async fn flush_if_full(&mut self) -> Result<(), End> {
        match self.output.len() >= WRITE_BYTES {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Waits until the client has closed the connection. Nothing is read.
    pub(crate) async fn closed(&self) {
        loop {
            tokio::time::sleep(CHECK).await;
            // Readiness comes at once if something is to be read; then it also has the flag.
            let ready = timeout(Duration::ZERO, self.stream.tcp().ready(Interest::READABLE)).await;
            match ready {
                Ok(Ok(ready)) if ready.is_read_closed() => return,
                Ok(Err(_)) => return,
                _ => {}
            }
        }
    }

    /// Sends a last error and closes the connection. A client that does not read gets a second.
    pub(crate) async fn close(mut self, error: Option<&SqlError>) {
        if let Some(error) = error {
            crate::wire::backend::error(&mut self.output, error);
        }
        let goodbye = async {
            if self.flush().await.is_ok() {
                let _ = self.stream.shutdown().await;
            }
        };
        let _ = timeout(Duration::from_secs(1), goodbye).await;
    }
}

/// Returns the error of a session that was idle for too long.
pub(crate) fn idle() -> SqlError {
    SqlError::fatal(state::IDLE_SESSION, "the session was idle for too long, and ends")
}

/// Returns the error of a server that stops.
pub(crate) fn stopping() -> SqlError {
    SqlError::fatal(state::ADMIN_SHUTDOWN, "the server stops, and ends the session")
}
