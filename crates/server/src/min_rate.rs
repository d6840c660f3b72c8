//! Detection of clients that are too slow.
//!
//! A client is measured only while the server waits for it to send more of a body, or to read more of an answer. Each
//! second of waiting puts the client one second behind. Each byte that it moves reduces that by the time that the
//! minimum rate allows for a byte. A client that falls further behind than the time-out is disconnected. This rule
//! covers clients that fall silent and those that trickle.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::connections::Activity;
use crate::limits::Limits;

/// The time by which a client is behind.
#[derive(Debug)]
pub(crate) struct MinRate {
    least_rate: u64,
    patience: Duration,
    behind: Duration,
    waiting_since: Option<Instant>,
    /// The timer for the time-out. It is reset only when it has fired, and not for every byte.
    timer: Option<Pin<Box<Sleep>>>,
}

impl MinRate {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self::with_rate(limits.least_rate, limits.client_timeout)
    }

    /// Creates a measure for a client that must move `least_rate` bytes per second, and may be `patience` behind.
    pub(crate) fn with_rate(least_rate: u64, patience: Duration) -> Self {
        Self {
            least_rate: least_rate.max(1),
            patience,
            behind: Duration::ZERO,
            waiting_since: None,
            timer: None,
        }
    }

    /// Registers bytes that the client has moved.
    pub(crate) fn moved(&mut self, bytes: usize) {
        self.moved_at(bytes, Instant::now());
    }

    fn moved_at(&mut self, bytes: usize, now: Instant) {
        if let Some(since) = self.waiting_since.take() {
            self.behind += now - since;
        }
        let allowed = Duration::from_secs_f64(bytes as f64 / self.least_rate as f64);
        self.behind = self.behind.saturating_sub(allowed);
    }

    /// Returns the time by which the client is behind, if the server is waiting for it and the time-out has passed.
    pub(crate) fn overdue(&self) -> Option<Duration> {
        let behind = self.behind + self.waiting_since?.elapsed();
        (behind >= self.patience).then_some(behind)
    }

    /// Registers that the server waits for the client from now on.
    pub(crate) fn waits(&mut self) {
        self.waiting_since.get_or_insert_with(Instant::now);
    }

    /// Returns the time at which the waiting ends. It stays the same while no bytes move, and bytes can only postpone
    /// it.
    fn due(&mut self, now: Instant) -> Instant {
        *self.waiting_since.get_or_insert(now) + self.patience.saturating_sub(self.behind)
    }

    /// Polls the time-out while the server waits for the client. Ready when the client is to be disconnected.
    pub(crate) fn poll_overdue(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.due(Instant::now());
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            // The timer was set for an earlier wait.
            timer.as_mut().reset(due);
        }
    }
}

/// A socket whose client must read its answers in time.
#[derive(Debug)]
pub(crate) struct MinRateSocket<S> {
    socket: S,
    pace: MinRate,
    activity: Arc<Activity>,
}

impl<S> MinRateSocket<S> {
    pub(crate) fn new(socket: S, limits: &Limits, activity: Arc<Activity>) -> Self {
        Self { socket, pace: MinRate::new(limits), activity }
    }

    fn written(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.pace.moved(bytes);
                self.activity.moved();
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                ready!(self.pace.poll_overdue(cx));
                let why = "the client does not read its answer";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MinRateSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.activity.moved();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MinRateSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.written(cx, written)
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

    use proptest::prelude::*;

    fn limits() -> Limits {
        Limits { client_timeout: Duration::from_secs(10), least_rate: 100, ..Limits::default() }
    }

    /// Returns the seconds after which a client is disconnected, if ever. Each pair is the seconds that the server
    /// waits for the client, and the bytes that the client then moves.
    fn given_up(moves: impl IntoIterator<Item = (u64, usize)>) -> Option<u64> {
        let start = Instant::now();
        let (mut pace, mut now) = (MinRate::new(&limits()), start);
        for (seconds, bytes) in moves {
            let due = pace.due(now);
            now += Duration::from_secs(seconds);
            if due <= now {
                return Some((due - start).as_secs());
            }
            pace.moved_at(bytes, now);
        }
        None
    }

    #[test]
    fn silence_and_trickles_are_given_up() {
        assert_eq!(given_up([(9, 1), (100, 0)]), Some(10));
        assert_eq!(given_up([(100, 0)]), Some(10));
        assert_eq!(given_up([(1, 1); 100]), Some(10));
        assert_eq!(given_up([(1, 50); 100]), Some(19));
        assert_eq!(given_up([(1, 99); 100]), None);
        // Bytes moved early are no credit for later.
        assert_eq!(given_up([(1, 1 << 30), (100, 0)]), Some(11));
    }

    #[test]
    fn nobody_owes_bytes_that_nobody_waits_for() {
        let start = Instant::now();
        let mut pace = MinRate::new(&limits());
        for hour in 0..100 {
            let now = start + Duration::from_secs(3600 * hour);
            assert_eq!(pace.due(now), now + Duration::from_secs(10));
            pace.moved_at(100, now + Duration::from_secs(1));
        }
    }

    proptest! {
        #[test]
        fn who_keeps_the_rate_is_never_given_up(
            moves in prop::collection::vec((0..10_u64, 0..1000_usize), 0..100),
        ) {
            let kept = moves.into_iter().map(|(seconds, more)| (seconds, 100 * seconds as usize + more));
            prop_assert_eq!(given_up(kept), None);
        }

        /// The time only moves forward, so the timer need not be reset for every byte.
        #[test]
        fn bytes_put_it_off(
            moves in prop::collection::vec((0..5_u64, 0..1000_usize, 0..5_u64), 0..100),
        ) {
            let start = Instant::now();
            let (mut pace, mut now, mut last) = (MinRate::new(&limits()), start, start);
            for (waited, bytes, idle) in moves {
                let due = pace.due(now);
                prop_assert!(due >= last);
                last = due;
                now += Duration::from_secs(waited);
                if due <= now {
                    break;
                }
                pace.moved_at(bytes, now);
                now += Duration::from_secs(idle);
            }
        }
    }
}
