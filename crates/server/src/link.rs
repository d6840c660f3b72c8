//! The shaped link: one token bucket shared by every connection of a server, both directions.
//!
//! Bytes are counted and shaped where they enter or leave a socket, so heads, chunk framing and
//! retransmitted requests count as they would on a wire (TCP/IP headers excepted).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::counters::{Counters, OpenConnection};

/// The most bytes that one read or write moves on a shaped link, so that connections take turns.
const TURN: usize = 64 * 1024;
/// How far behind its schedule a link may fall and still catch up; hides the timer's granularity.
const SLACK: Duration = Duration::from_millis(10);

/// The link of one server.
#[derive(Debug)]
pub(crate) struct Link {
    counters: Arc<Counters>,
    /// Bytes per second; 0 is unlimited.
    rate: AtomicU64,
    /// When everything sent so far will have passed.
    busy_until: Mutex<Instant>,
}

impl Link {
    pub(crate) fn new(counters: Arc<Counters>, rate: Option<u64>) -> Self {
        let rate = AtomicU64::new(rate.unwrap_or(0));
        Self { counters, rate, busy_until: Mutex::new(Instant::now()) }
    }

    pub(crate) fn set_rate(&self, rate: Option<u64>) {
        self.rate.store(rate.unwrap_or(0), Ordering::Relaxed);
        *self.busy_until.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn count_connection(&self) -> OpenConnection {
        self.counters.count_connection()
    }

    fn is_shaped(&self) -> bool {
        self.rate.load(Ordering::Relaxed) > 0
    }

    /// Books `bytes` that have just moved; the mover must pause until the returned moment.
    fn book(&self, bytes: usize) -> Option<Instant> {
        let rate = self.rate.load(Ordering::Relaxed);
        if rate == 0 || bytes == 0 {
            return None;
        }
        let now = Instant::now();
        let mut busy_until = self.busy_until.lock().unwrap_or_else(PoisonError::into_inner);
        let start = busy_until.max(now.checked_sub(SLACK).unwrap_or(now));
        *busy_until = start + Duration::from_secs_f64(bytes as f64 / rate as f64);
        (*busy_until > now).then_some(*busy_until)
    }
}

/// A socket on the link.
#[derive(Debug)]
pub(crate) struct Shaped<S> {
    socket: S,
    link: Arc<Link>,
    read_pause: Option<Pin<Box<Sleep>>>,
    write_pause: Option<Pin<Box<Sleep>>>,
}

impl<S> Shaped<S> {
    pub(crate) fn new(socket: S, link: Arc<Link>) -> Self {
        Self { socket, link, read_pause: None, write_pause: None }
    }
}

/// Waits out a pause, if there is one.
fn poll_pause(pause: &mut Option<Pin<Box<Sleep>>>, cx: &mut Context<'_>) -> Poll<()> {
    if let Some(sleep) = pause {
        ready!(sleep.as_mut().poll(cx));
        *pause = None;
    }
    Poll::Ready(())
}

impl<S: AsyncRead + Unpin> AsyncRead for Shaped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(poll_pause(&mut this.read_pause, cx));
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(cx, buf))?;
        let read = buf.filled().len() - before;
        this.link.counters.count_in(read);
        this.read_pause = this.link.book(read).map(|at| Box::pin(sleep_until(at)));
        Poll::Ready(Ok(()))
    }
}

impl<S> Shaped<S> {
    /// Counts bytes before a write offers them to the socket: who has received an answer and then reads
    /// the counters finds all of it there. [`Self::sent`] takes back what the socket did not accept.
    fn offer(&self, bytes: usize) {
        self.link.counters.count_out(bytes);
    }

    fn sent(&mut self, offered: usize, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let bytes = match &sent {
            Poll::Ready(Ok(bytes)) => *bytes,
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        };
        self.link.counters.uncount_out(offered.saturating_sub(bytes));
        self.write_pause = self.link.book(bytes).map(|at| Box::pin(sleep_until(at)));
        sent
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Shaped<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        ready!(poll_pause(&mut this.write_pause, cx));
        let turn = if this.link.is_shaped() { buf.len().min(TURN) } else { buf.len() };
        this.offer(turn);
        let sent = Pin::new(&mut this.socket).poll_write(cx, &buf[..turn]);
        this.sent(turn, sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.link.is_shaped() {
            let first = bufs.iter().find(|buf| !buf.is_empty());
            return self.poll_write(cx, first.map_or(&[], |buf| buf));
        }
        let this = &mut *self;
        ready!(poll_pause(&mut this.write_pause, cx));
        let offered = bufs.iter().map(|buf| buf.len()).sum();
        this.offer(offered);
        let sent = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        this.sent(offered, sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn link(rate: Option<u64>) -> (Arc<Counters>, Arc<Link>) {
        let counters = Arc::new(Counters::default());
        (Arc::clone(&counters), Arc::new(Link::new(counters, rate)))
    }

    #[test]
    fn bytes_are_booked_one_after_the_other() {
        let (_, link) = link(Some(1_000_000));
        let started = Instant::now();
        link.book(500_000).unwrap();
        link.book(250_000).unwrap();
        let free = link.book(250_000).unwrap();
        // A schedule, not a timing: nothing here waits.
        assert!(free >= started + Duration::from_secs(1) - SLACK);
        assert!(free <= Instant::now() + Duration::from_secs(1));
        link.set_rate(None);
        assert_eq!(link.book(1 << 40), None);
    }

    #[tokio::test]
    async fn every_byte_is_counted_and_arrives() {
        for rate in [None, Some(100_000_000)] {
            let (counters, link) = link(rate);
            let (near, mut far) = duplex(1 << 20);
            let mut near = Shaped::new(near, link);
            far.write_all(&vec![1; 500_000]).await.unwrap();
            let mut got = vec![0; 500_000];
            near.read_exact(&mut got).await.unwrap();
            near.write_all(&vec![2; 300_000]).await.unwrap();
            let slices = [IoSlice::new(&[]), IoSlice::new(&[3; 7])];
            assert_eq!(near.write_vectored(&slices).await.unwrap(), 7);
            far.read_exact(&mut got[..300_007]).await.unwrap();
            assert_eq!(got[300_006], 3);
            assert_eq!((counters.bytes_in(), counters.bytes_out()), (500_000, 300_007));
        }
    }

    /// Takes a part of what it is offered, now and then; looks at the counters as a client could that
    /// has received the bytes already.
    struct Slow {
        counters: Arc<Counters>,
        taken: u64,
        turn: usize,
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            assert_eq!(self.counters.bytes_out(), self.taken + buf.len() as u64);
            self.turn += 1;
            match self.turn % 3 {
                0 => Poll::Ready(Err(io::ErrorKind::Interrupted.into())),
                1 => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                _ => {
                    let part = buf.len().div_ceil(2);
                    self.taken += part as u64;
                    Poll::Ready(Ok(part))
                }
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn bytes_are_counted_before_a_client_can_have_them() {
        let (counters, link) = link(None);
        let slow = Slow { counters: Arc::clone(&counters), taken: 0, turn: 0 };
        let mut near = Shaped::new(slow, link);
        let bytes = [7; 100];
        for (turn, offered) in [100, 30, 100, 7, 1, 100].into_iter().enumerate() {
            let vectored = turn % 2 == 1;
            let sent = poll_fn(|cx| {
                let near = Pin::new(&mut near);
                match vectored {
                    true => near.poll_write_vectored(cx, &[IoSlice::new(&bytes[..offered])]),
                    false => near.poll_write(cx, &bytes[..offered]),
                }
            });
            match sent.await {
                Ok(sent) => assert_eq!(sent, offered.div_ceil(2)),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::Interrupted),
            }
            assert_eq!(counters.bytes_out(), near.socket.taken);
        }
        assert!(counters.bytes_out() > 0);
    }
}
