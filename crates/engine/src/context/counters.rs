//! Counters of requests and bytes, incremented where requests are sent.

use std::iter::Sum;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate_client::SelectCounts;
use sluicegate_costmodel::{Bytes, RequestCounts, Requests, Work};

use crate::context::timeline::{OpenRequest, Timeline};

/// A set of counts of requests and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts<T> {
    /// `GetObject` requests, ranged or whole.
    pub get: T,
    /// `HeadObject` requests.
    pub head: T,
    /// Listing requests, one per page.
    pub list: T,
    /// Requests that write or delete.
    pub put: T,
    /// `SelectObjectContent` requests, retries included.
    pub select: T,
    /// Select requests that repeated an earlier one.
    pub retries: T,
    /// Requests of any kind that timed out because the store was silent.
    pub silences: T,
    /// Statements that the store stopped because they exceeded its time limit.
    pub overdue: T,
    /// Objects or ranges that were read locally because the store could not answer a statement.
    pub fallbacks: T,
    /// Bytes of GET answers.
    pub got_bytes: T,
    /// Bytes of PUT requests.
    pub put_bytes: T,
    /// Bytes that Select read, as reported by the store.
    pub scanned_bytes: T,
    /// Bytes that Select read after decompression, as reported by the store.
    pub processed_bytes: T,
    /// Bytes of records that Select returned, as reported by the store.
    pub returned_bytes: T,
    /// Bytes of Select answers that arrived: records and the frames around them.
    pub received_bytes: T,
    /// Nanoseconds of the store's cores. No store reports them, so they are modelled from the scanned bytes and the
    /// statements.
    pub store_nanos: T,
}

/// A reading of [`Counters`].
pub type CounterSnapshot = Counts<u64>;

impl<T> Counts<T> {
    /// Returns each count with its name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, &T); 16] {
        [
            ("get", &self.get),
            ("head", &self.head),
            ("list", &self.list),
            ("put", &self.put),
            ("select", &self.select),
            ("retries", &self.retries),
            ("silences", &self.silences),
            ("overdue", &self.overdue),
            ("fallbacks", &self.fallbacks),
            ("got_bytes", &self.got_bytes),
            ("put_bytes", &self.put_bytes),
            ("scanned_bytes", &self.scanned_bytes),
            ("processed_bytes", &self.processed_bytes),
            ("returned_bytes", &self.returned_bytes),
            ("received_bytes", &self.received_bytes),
            ("store_nanos", &self.store_nanos),
        ]
    }

    /// Combines each pair of counts.
    fn zip<U, V>(&self, other: &Counts<U>, f: impl Fn(&T, &U) -> V) -> Counts<V> {
        Counts {
            get: f(&self.get, &other.get),
            head: f(&self.head, &other.head),
            list: f(&self.list, &other.list),
            put: f(&self.put, &other.put),
            select: f(&self.select, &other.select),
            retries: f(&self.retries, &other.retries),
            silences: f(&self.silences, &other.silences),
            overdue: f(&self.overdue, &other.overdue),
            fallbacks: f(&self.fallbacks, &other.fallbacks),
            got_bytes: f(&self.got_bytes, &other.got_bytes),
            put_bytes: f(&self.put_bytes, &other.put_bytes),
            scanned_bytes: f(&self.scanned_bytes, &other.scanned_bytes),
            processed_bytes: f(&self.processed_bytes, &other.processed_bytes),
            returned_bytes: f(&self.returned_bytes, &other.returned_bytes),
            received_bytes: f(&self.received_bytes, &other.received_bytes),
            store_nanos: f(&self.store_nanos, &other.store_nanos),
        }
    }
}

/// Requests and bytes since the counters were made, for one endpoint or for one query there.
///
/// Every HTTP exchange is counted where it is sent, so retries, pages of a listing and merged ranges are counted as
/// they went over the wire.
#[derive(Debug, Default)]
pub struct Counters {
    counts: Counts<AtomicU64>,
    /// Counters that also receive every increment.
    total: Option<Arc<Counters>>,
    /// The record of requests, if it is kept.
    timeline: Option<Arc<Timeline>>,
}

/// The kinds of requests that are counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestKind {
    /// `GetObject` requests.
    Get,
    /// `HeadObject` and `HeadBucket` requests.
    Head,
    /// `ListObjects` requests.
    List,
    /// Requests that write or delete.
    Put,
    /// `SelectObjectContent` requests.
    Select,
}

impl Counters {
    /// Returns counters that start at 0 and add their increments to `total` as well.
    #[must_use]
    pub fn part_of(total: Arc<Self>) -> Self {
        Self { total: Some(total), ..Self::default() }
    }

    /// Returns these counters with a record of every request in `timeline`.
    #[must_use]
    pub fn on(self, timeline: Arc<Timeline>) -> Self {
        Self { timeline: Some(timeline), ..self }
    }

    /// Records the start of a request about `object`, if requests are recorded. `object` is not called otherwise.
    #[must_use]
    pub fn open(&self, kind: RequestKind, object: impl FnOnce() -> String) -> Option<OpenRequest> {
        Some(self.timeline.as_ref()?.open(kind, object()))
    }

    fn add(&self, counter: impl Fn(&Counts<AtomicU64>) -> &AtomicU64, n: u64) {
        let mut counters = Some(self);
        while let Some(here) = counters {
            counter(&here.counts).fetch_add(n, Ordering::Relaxed);
            counters = here.total.as_deref();
        }
    }

    /// Counts one request of a kind.
    pub fn request(&self, kind: RequestKind) {
        self.add(
            |counts| match kind {
                RequestKind::Get => &counts.get,
                RequestKind::Head => &counts.head,
                RequestKind::List => &counts.list,
                RequestKind::Put => &counts.put,
                RequestKind::Select => &counts.select,
            },
            1,
        );
    }

    /// Counts bytes of a GET answer.
    pub fn got(&self, bytes: u64) {
        self.add(|counts| &counts.got_bytes, bytes);
    }

    /// Counts bytes of a PUT request.
    pub fn sent(&self, bytes: u64) {
        self.add(|counts| &counts.put_bytes, bytes);
    }

    /// Counts a request that timed out because the store was silent.
    pub fn count_stall(&self) {
        self.add(|counts| &counts.silences, 1);
    }

    /// Counts a part of an object that was read locally after a statement failed.
    pub fn fallback(&self) {
        self.add(|counts| &counts.fallbacks, 1);
    }

    /// Adds the modelled time that a Select call kept cores of the store busy.
    pub fn store_time(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.add(|counts| &counts.store_nanos, nanos);
    }

    /// Counts one Select call, its retries and checks included.
    pub fn select(&self, call: &SelectCounts) {
        self.add(|counts| &counts.select, call.requests);
        self.add(|counts| &counts.retries, call.retries);
        self.add(|counts| &counts.silences, call.silences);
        self.add(|counts| &counts.overdue, call.overdue);
        self.add(|counts| &counts.head, call.head_requests);
        self.add(|counts| &counts.scanned_bytes, call.bytes_scanned.bytes);
        self.add(|counts| &counts.processed_bytes, call.bytes_processed.bytes);
        self.add(|counts| &counts.returned_bytes, call.bytes_returned.bytes);
        self.add(|counts| &counts.received_bytes, call.bytes_received);
    }

    /// Adds requests or bytes of another process to the count of this [name](Counts::named).
    pub fn add_remote_count(&self, name: &str, n: u64) {
        let index = self.counts.named().iter().position(|(it, _)| *it == name);
        if let Some(index) = index {
            self.add(|counts| counts.named()[index].1, n);
        }
    }

    /// Returns the current counts.
    #[must_use]
    pub fn read(&self) -> CounterSnapshot {
        self.counts.zip(&self.counts, |counter, _| counter.load(Ordering::Relaxed))
    }
}

impl Sum for CounterSnapshot {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, next| sum.zip(&next, |a, b| a.saturating_add(*b)))
    }
}

impl CounterSnapshot {
    /// Returns the increase since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.zip(earlier, |now, then| now.saturating_sub(*then))
    }

    /// Returns the number of all requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.get + self.head + self.list + self.put + self.select
    }

    /// Returns the number of payload bytes that came over the link.
    #[must_use]
    pub fn link_bytes(&self) -> u64 {
        self.got_bytes + self.received_bytes
    }

    /// Returns the counts as work for a price book; `wall` is the elapsed time.
    #[must_use]
    pub fn work(&self, wall: Duration) -> Work {
        Work {
            requests: RequestCounts {
                get: Requests(self.get),
                put: Requests(self.put),
                list: Requests(self.list),
                head: Requests(self.head),
                select: Requests(self.select),
            },
            scanned: Bytes(self.scanned_bytes),
            processed: Bytes(self.processed_bytes),
            returned: Bytes(self.returned_bytes),
            got: Bytes(self.got_bytes),
            sent: Bytes(self.put_bytes),
            link: Bytes(self.link_bytes() + self.put_bytes),
            store: Duration::from_nanos(self.store_nanos),
            wall,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_elsewhere_counts_here() {
        let (there, here) = (Counters::default(), Counters::default());
        there.request(RequestKind::Select);
        there.got(7);
        there.store_time(Duration::from_nanos(5));
        for (name, n) in there.read().named() {
            here.add_remote_count(name, *n);
        }
        here.add_remote_count("nothing", 1);
        assert_eq!(here.read(), there.read());
        let names: std::collections::BTreeSet<_> = there.read().named().map(|it| it.0).into();
        assert_eq!(names.len(), 16);
    }

    #[test]
    fn a_part_adds_up_to_its_total() {
        let total = Arc::new(Counters::default());
        let parts = [0, 1].map(|_| Counters::part_of(Arc::clone(&total)));
        parts[0].request(RequestKind::Get);
        parts[0].got(7);
        parts[1].request(RequestKind::List);
        parts[1].fallback();
        assert_eq!(
            parts[0].read(),
            CounterSnapshot { get: 1, got_bytes: 7, ..CounterSnapshot::default() }
        );
        assert_eq!(
            parts[1].read(),
            CounterSnapshot { list: 1, fallbacks: 1, ..CounterSnapshot::default() }
        );
        assert_eq!(total.read(), parts.iter().map(Counters::read).sum());
        assert_eq!(total.read().since(&parts[0].read()), parts[1].read());
    }
}
