//! Amounts of work, done or predicted, that add up.

use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::time::Duration;

use crate::{Bytes, Requests};

/// Numbers of requests, by the kinds that stores bill differently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// GETs of objects, ranged or whole.
    pub get: Requests,
    /// PUTs of objects, and parts of multipart uploads.
    pub put: Requests,
    /// Listing requests: pages of results.
    pub list: Requests,
    /// HEADs of objects or buckets.
    pub head: Requests,
    /// `SelectObjectContent` requests.
    pub select: Requests,
}

impl RequestCounts {
    /// The number of requests of all kinds.
    #[must_use]
    pub fn total(&self) -> Requests {
        self.get + self.put + self.list + self.head + self.select
    }
}

impl Add for RequestCounts {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self {
            get: self.get + rhs.get,
            put: self.put + rhs.put,
            list: self.list + rhs.list,
            head: self.head + rhs.head,
            select: self.select + rhs.select,
        }
    }
}

/// Work that was counted while a query ran, or that is predicted.
///
/// `a + b` means one after the other: all amounts add up, times as well. [`Work::alongside`] means both at the same
/// time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Requests sent, retries included.
    pub requests: RequestCounts,
    /// Object bytes that S3 Select read (its `BytesScanned`), which it bills.
    pub scanned: Bytes,
    /// Bytes that S3 Select processed after decompression (its `BytesProcessed`), billed by a store that is paid for
    /// its work. Predictions set it to [`Self::scanned`].
    pub processed: Bytes,
    /// Payload that S3 Select sent back (its `BytesReturned`), which it bills.
    pub returned: Bytes,
    /// Payload of GET answers.
    pub got: Bytes,
    /// Payload of PUT requests.
    pub sent: Bytes,
    /// Bytes that crossed the link in either direction, including headers and framing.
    pub link: Bytes,
    /// Time of all the store's cores for Select. No store reports it, so it is modelled from the bytes that were
    /// scanned or will be ([`HardwareProfile::store_time`](crate::HardwareProfile::store_time)).
    pub store: Duration,
    /// Wall-clock time of the client.
    pub wall: Duration,
}

impl Work {
    /// Combines work done at the same time: amounts add up, and the longer time counts.
    #[must_use]
    pub fn alongside(self, other: Self) -> Self {
        Self { wall: self.wall.max(other.wall), ..self + other }
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self {
            requests: self.requests + rhs.requests,
            scanned: self.scanned + rhs.scanned,
            processed: self.processed + rhs.processed,
            returned: self.returned + rhs.returned,
            got: self.got + rhs.got,
            sent: self.sent + rhs.sent,
            link: self.link + rhs.link,
            store: self.store.saturating_add(rhs.store),
            wall: self.wall.saturating_add(rhs.wall),
        }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Work {
        let one = Requests(1);
        Work {
            requests: RequestCounts { get: one, put: one, list: one, head: one, select: one },
            scanned: Bytes(1),
            processed: Bytes(1),
            returned: Bytes(1),
            got: Bytes(1),
            sent: Bytes(1),
            link: Bytes(1),
            store: Duration::from_secs(1),
            wall: Duration::from_secs(1),
        }
    }

    #[test]
    fn every_field_adds_up() {
        let sum: Work = [one(), one()].into_iter().sum();
        let two = Requests(2);
        let expected = Work {
            requests: RequestCounts { get: two, put: two, list: two, head: two, select: two },
            scanned: Bytes(2),
            processed: Bytes(2),
            returned: Bytes(2),
            got: Bytes(2),
            sent: Bytes(2),
            link: Bytes(2),
            store: Duration::from_secs(2),
            wall: Duration::from_secs(2),
        };
        assert_eq!(sum, expected);
        assert_eq!(sum.requests.total(), Requests(10));
    }

    #[test]
    fn concurrent_work_takes_the_longer_time() {
        let slow = Work { wall: Duration::from_secs(5), ..one() };
        let both = one().alongside(slow);
        assert_eq!((both.wall, both.got), (Duration::from_secs(5), Bytes(2)));
    }
}
