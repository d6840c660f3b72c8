//! The shaped link. All connections of a server share one schedule, for both directions. Bytes arrive at the client
//! only when they have passed the link, so there is no burst after the link was idle.
//!
//! Bytes are counted and shaped where they enter or leave a socket, so heads, chunk framing and retransmitted
//! requests count as they would on a wire (TCP/IP headers excepted).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::counters::{Counters, OpenConnection};

/// The maximum number of bytes that one read or write moves on a shaped link, so that connections alternate.
const QUANTUM: usize = 64 * 1024;
/// The tolerance for late timers, which are no finer than a millisecond. A connection that books its next bytes
/// within this time after its turn is treated as if the timer had fired on time.
const SLACK: Duration = Duration::from_millis(3);
/// The shortest wait. A timer would take longer than less than this.
const SHORTEST: Duration = Duration::from_millis(1);

/// The simulated link of one server, with its byte counters.
#[derive(Debug)]
pub(crate) struct Link {
    counters: Arc<Counters>,
    /// The rate in bytes per second; 0 is unlimited.
    rate: AtomicU64,
    /// The time at which everything booked so far will have passed.
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

    /// The rate in bytes per second, if it is limited.
    pub(crate) fn rate(&self) -> Option<u64> {
        Some(self.rate.load(Ordering::Relaxed)).filter(|rate| *rate > 0)
    }

    fn is_shaped(&self) -> bool {
        self.rate().is_some()
    }

    /// Books `bytes` after everything booked before, and not before `ready`. Returns the time at which they will have
    /// passed.
    fn book(&self, bytes: usize, ready: Instant) -> Instant {
        let rate = self.rate.load(Ordering::Relaxed);
        if rate == 0 || bytes == 0 {
            return ready;
        }
        let mut busy_until = self.busy_until.lock().unwrap_or_else(PoisonError::into_inner);
        *busy_until = ready.max(*busy_until) + Duration::from_secs_f64(bytes as f64 / rate as f64);
        *busy_until
    }
}

/// One direction of a socket.
#[derive(Debug)]
struct Direction {
    passed_at: Instant,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Direction {
    fn new() -> Self {
        Self { passed_at: Instant::now(), pause: None }
    }

    /// Books bytes that can move now. Returns the time until which they must wait, if that is long enough for a
    /// timer.
    fn book(&mut self, link: &Link, bytes: usize, now: Instant) -> Option<Instant> {
        // A connection that keeps sending loses no time to late timers, and one that was idle gains none.
        let late = now.saturating_duration_since(self.passed_at);
        let ready = if late < SLACK { self.passed_at } else { now };
        self.passed_at = link.book(bytes, ready);
        // Timers fire up to a millisecond late. Setting them half a millisecond early makes them right on average.
        (self.passed_at > now + SHORTEST).then(|| self.passed_at - SHORTEST / 2)
    }

    fn pause(&mut self, link: &Link, bytes: usize) {
        let until = self.book(link, bytes, Instant::now());
        self.pause = until.map(|it| Box::pin(sleep_until(it)));
    }

    /// Waits until the booked bytes have passed.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(sleep) = &mut self.pause {
            ready!(sleep.as_mut().poll(cx));
            self.pause = None;
        }
        Poll::Ready(())
    }
}

/// A socket whose bytes are counted, and pass over the link.
#[derive(Debug)]
pub(crate) struct ShapedSocket<S> {
    socket: S,
    link: Arc<Link>,
    reading: Direction,
    writing: Direction,
    /// Booked bytes that the socket has not accepted yet.
    booked: usize,
}

impl<S> ShapedSocket<S> {
    pub(crate) fn new(socket: S, link: Arc<Link>) -> Self {
        let (reading, writing) = (Direction::new(), Direction::new());
        Self { socket, link, reading, writing, booked: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ShapedSocket<S> {
    /// The number of bytes is known only after reading, so it is the next read that waits for them.
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(this.reading.poll(cx));
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(cx, buf))?;
        let read = buf.filled().len() - before;
        this.link.counters.count_in(read);
        if this.link.is_shaped() {
            this.reading.pause(&this.link, read);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S> ShapedSocket<S> {
    /// Counts bytes before a write offers them to the socket. A client that has received an answer and then reads the
    /// counters finds the whole answer in them. [`Self::sent`] subtracts what the socket did not accept.
    fn offer(&self, bytes: usize) {
        self.link.counters.count_out(bytes);
    }

    fn sent(&mut self, offered: usize, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let bytes = match &sent {
            Poll::Ready(Ok(bytes)) => *bytes,
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        };
        self.link.counters.uncount_out(offered.saturating_sub(bytes));
        self.booked = self.booked.saturating_sub(bytes);
        sent
    }

    /// Returns how many of `bytes` may be written. On a shaped link, those are the bytes that have passed it, so that
    /// the client receives none early.
    fn poll_slot(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<usize> {
        if !self.link.is_shaped() {
            return Poll::Ready(bytes);
        }
        if self.booked == 0 {
            self.booked = bytes.min(QUANTUM);
            self.writing.pause(&self.link, self.booked);
        }
        ready!(self.writing.poll(cx));
        Poll::Ready(bytes.min(self.booked))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ShapedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let turn = ready!(this.poll_slot(cx, buf.len()));
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
        link.book(500_000, started);
        link.book(250_000, started);
        assert_eq!(link.book(250_000, started), started + Duration::from_secs(1));
        link.set_rate(None);
        assert_eq!(link.book(1 << 40, started), started);
    }

    /// Returns the time at which all connections have written `each` bytes, if they start at once and timers fire up
    /// to a millisecond late. The clock is simulated.
    fn written(link: &Link, connections: &mut [Direction], each: usize, start: Instant) -> Instant {
        let turns = |at: usize| (start, at, each);
        let mut writing: Vec<_> = (0..connections.len()).map(turns).collect();
        let (mut end, mut late) = (start, 0);
        while let Some(next) = (0..writing.len()).min_by_key(|at| writing[*at].0) {
            let (now, at, left) = writing.swap_remove(next);
            end = end.max(now);
            if left > 0 {
                let turn = left.min(QUANTUM);
                late = (late + 377) % 1000;
                let rings = connections[at].book(link, turn, now);
                let rings = rings.map_or(now, |it| it + Duration::from_micros(late));
                writing.push((rings, at, left - turn));
            }
        }
        end
    }

    /// A connection that keeps sending loses no time to late timers, and one that was idle has no burst of bytes.
    #[test]
    fn bytes_arrive_when_they_have_passed() {
        for rate in [1_000_000, 12_500_000, 125_000_000, 1_250_000_000] {
            for (count, each) in [(1, 30_000_000), (16, 2_000_000), (16, 1000), (1, 20_000)] {
                let (_, link) = link(Some(rate));
                let mut connections: Vec<_> = (0..count).map(|_| Direction::new()).collect();
                let mut start = Instant::now();
                for idle in [10, 50, 1000] {
                    start += Duration::from_millis(idle);
                    let end = written(&link, &mut connections, each, start);
                    let took = (end - start).as_secs_f64();
                    let exact = (count * each) as f64 / rate as f64;
                    // The difference is within the precision of timers.
                    assert!((took - exact).abs() <= 0.002, "{count} × {each}: {took}, not {exact}");
                    start = end;
                }
            }
        }
    }

    #[tokio::test]
    async fn every_byte_is_counted_and_arrives() {
        for rate in [None, Some(100_000_000)] {
            let (counters, link) = link(rate);
            let (near, mut far) = duplex(1 << 20);
            let mut near = ShapedSocket::new(near, link);
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

    /// A socket that accepts a part of what it is offered, or nothing. It checks the counters like a client that has
    /// already received the bytes.
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
        let mut near = ShapedSocket::new(slow, link);
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
