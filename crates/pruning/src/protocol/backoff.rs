//! The retransmission timing of a worker.

use crate::rng::{Rng, mix64};

/// The time that a worker waits for an answer before it sends a packet again.
///
/// # Why it is not constant
///
/// Workers begin together, so with a constant timeout they also retransmit together. If the master's queue has room
/// for one packet, the packet of the first worker takes it every time and those of the others are lost every time:
/// all are busy and nothing changes, for ever (a *livelock*). No packet needs to be lost or delayed by a link for
/// this. [`explore()`](super::explore()) finds it with [`Budget::in_step`](super::Budget::in_step).
///
/// A worker that received nothing new for a whole wait therefore doubles it, at most [`DOUBLINGS`] times, and adds up
/// to half of it at random from its own seeded stream.
///
/// * The doubling lowers the load until the queue can drain.
/// * The random part separates the workers: in every wait, each packet finds room with a probability above
///   0, so it arrives in the end with probability 1.
/// * Anything new (an acknowledgement, GO, a restart) resets the wait to the timeout. A loss while others
///   get through costs one timeout, as before.
/// * All packets that are sent within a wait share it. They come again in their order, which a switch that
///   waits for the predecessor ([`Gap::Wait`](super::Gap::Wait)) needs.
///
/// Times have the unit of the timeout.
#[derive(Debug, Clone)]
pub(super) struct Backoff {
    timeout: u64,
    /// The length of the current wait.
    wait: u64,
    doublings: u32,
    /// The time at which this wait began.
    since: u64,
    rng: Rng,
}

/// The greatest number of doublings, which bounds how long loss looks like a dead network.
const DOUBLINGS: u32 = 3;

impl Backoff {
    /// Creates the backoff of worker `fid`, which draws from its own stream.
    pub(super) const fn new(timeout: u64, seed: u64, fid: u16) -> Self {
        let rng = Rng::new(mix64(seed ^ mix64(fid as u64 + 1)));
        Self { timeout, wait: timeout, doublings: 0, since: 0, rng }
    }

    /// Resets the wait, because the worker received something new.
    pub(super) const fn reset(&mut self, now: u64) {
        (self.wait, self.doublings, self.since) = (self.timeout, 0, now);
    }

    /// Returns the time at which a packet that is sent now is to be sent again.
    pub(super) const fn due(&mut self, now: u64) -> u64 {
        if now.saturating_sub(self.since) >= self.wait {
            self.since = now;
            if self.doublings < DOUBLINGS {
                self.doublings += 1;
            }
            let doubled = self.timeout.saturating_mul(1 << self.doublings);
            self.wait = doubled.saturating_add(self.rng.below(doubled / 2 + 1));
        }
        now.saturating_add(self.wait)
    }

    /// Returns the longest wait with this timeout.
    pub(super) const fn longest(timeout: u64) -> u64 {
        timeout.saturating_mul(3 << (DOUBLINGS - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the waits of a worker that receives nothing.
    fn silent(timeout: u64, fid: u16) -> Vec<u64> {
        let mut backoff = Backoff::new(timeout, 7, fid);
        let mut now = 0;
        let mut wait = || {
            let due = backoff.due(now);
            due - std::mem::replace(&mut now, due)
        };
        (0..8).map(|_| wait()).collect()
    }

    #[test]
    fn waits_double_up_to_a_limit_and_differ_between_workers() {
        for timeout in [1, 10, 1000] {
            for fid in 0..50 {
                let waits = silent(timeout, fid);
                assert_eq!(waits[0], timeout);
                for (n, wait) in waits.iter().enumerate() {
                    let doubled = timeout << n.min(DOUBLINGS as usize);
                    assert!((doubled..=doubled * 3 / 2).contains(wait), "{timeout}: {waits:?}");
                    assert!(*wait <= Backoff::longest(timeout));
                }
                assert_eq!(waits, silent(timeout, fid));
            }
        }
        assert_ne!(silent(1000, 0), silent(1000, 1));
    }

    #[test]
    fn packets_of_one_wait_keep_their_order_and_news_end_it() {
        let mut backoff = Backoff::new(10, 1, 0);
        assert_eq!([backoff.due(0), backoff.due(3), backoff.due(9)], [10, 13, 19]);
        let first = backoff.due(10);
        assert!((30..=40).contains(&first));
        assert_eq!([backoff.due(13), backoff.due(19)], [first + 3, first + 9]);
        backoff.reset(20);
        assert_eq!(backoff.due(20), 30);
        // The longest time does not overflow.
        assert_eq!(Backoff::new(u64::MAX, 1, 0).due(u64::MAX), u64::MAX);
    }
}
