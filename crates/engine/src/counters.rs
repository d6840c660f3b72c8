//! What was asked of the store, counted where the requests are made.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate_client::SelectCounts;
use sluicegate_costmodel::{Bytes, RequestCounts, Requests, Work};

/// Requests and bytes since the counters were made; shared by everything that talks to one store.
///
/// Every HTTP exchange is counted where it is sent, so retries, pages of a listing and merged
/// ranges are counted as what went over the wire.
#[derive(Debug, Default)]
pub struct Counters {
    get: AtomicU64,
    head: AtomicU64,
    list: AtomicU64,
    put: AtomicU64,
    select: AtomicU64,
    retries: AtomicU64,
    fallbacks: AtomicU64,
    got_bytes: AtomicU64,
    put_bytes: AtomicU64,
    scanned_bytes: AtomicU64,
    processed_bytes: AtomicU64,
    returned_bytes: AtomicU64,
    received_bytes: AtomicU64,
}

/// A reading of [`Counters`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// `GetObject` requests, ranged or whole.
    pub get: u64,
    /// `HeadObject` requests.
    pub head: u64,
    /// Listing requests, one per page.
    pub list: u64,
    /// Requests that write or delete.
    pub put: u64,
    /// `SelectObjectContent` requests, retries included.
    pub select: u64,
    /// How many of those repeated an earlier one.
    pub retries: u64,
    /// Objects or ranges that were read here because the store could not answer a statement.
    pub fallbacks: u64,
    /// Bytes of GET answers.
    pub got_bytes: u64,
    /// Bytes of PUT requests.
    pub put_bytes: u64,
    /// Bytes that Select read, as the store says.
    pub scanned_bytes: u64,
    /// Bytes that Select read after decompression, as the store says.
    pub processed_bytes: u64,
    /// Bytes of records that Select sent, as the store says.
    pub returned_bytes: u64,
    /// Bytes of Select answers that arrived: records and the frames around them.
    pub received_bytes: u64,
}

/// The kinds of requests that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// `GetObject`
    Get,
    /// `HeadObject`, `HeadBucket`
    Head,
    /// `ListObjects`
    List,
    /// Anything that writes
    Put,
}

impl Counters {
    /// Counts a request.
    pub fn request(&self, kind: RequestKind) {
        let counter = match kind {
            RequestKind::Get => &self.get,
            RequestKind::Head => &self.head,
            RequestKind::List => &self.list,
            RequestKind::Put => &self.put,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes of a GET answer.
    pub fn got(&self, bytes: u64) {
        self.got_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes of a PUT request.
    pub fn sent(&self, bytes: u64) {
        self.put_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a part of an object that was read here after all.
    pub fn fallback(&self) {
        self.fallbacks.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what one Select call did, its retries and checks included.
    pub fn select(&self, call: &SelectCounts) {
        let add = |counter: &AtomicU64, n: u64| counter.fetch_add(n, Ordering::Relaxed);
        add(&self.select, call.requests);
        add(&self.retries, call.retries);
        add(&self.head, call.head_requests);
        add(&self.scanned_bytes, call.bytes_scanned.bytes);
        add(&self.processed_bytes, call.bytes_processed.bytes);
        add(&self.returned_bytes, call.bytes_returned.bytes);
        add(&self.received_bytes, call.bytes_received);
    }

    /// Reads the counters.
    #[must_use]
    pub fn read(&self) -> Counted {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counted {
            get: get(&self.get),
            head: get(&self.head),
            list: get(&self.list),
            put: get(&self.put),
            select: get(&self.select),
            retries: get(&self.retries),
            fallbacks: get(&self.fallbacks),
            got_bytes: get(&self.got_bytes),
            put_bytes: get(&self.put_bytes),
            scanned_bytes: get(&self.scanned_bytes),
            processed_bytes: get(&self.processed_bytes),
            returned_bytes: get(&self.returned_bytes),
            received_bytes: get(&self.received_bytes),
        }
    }
}

impl Counted {
    /// What was counted after an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            get: self.get.saturating_sub(earlier.get),
            head: self.head.saturating_sub(earlier.head),
            list: self.list.saturating_sub(earlier.list),
            put: self.put.saturating_sub(earlier.put),
            select: self.select.saturating_sub(earlier.select),
            retries: self.retries.saturating_sub(earlier.retries),
            fallbacks: self.fallbacks.saturating_sub(earlier.fallbacks),
            got_bytes: self.got_bytes.saturating_sub(earlier.got_bytes),
            put_bytes: self.put_bytes.saturating_sub(earlier.put_bytes),
            scanned_bytes: self.scanned_bytes.saturating_sub(earlier.scanned_bytes),
            processed_bytes: self.processed_bytes.saturating_sub(earlier.processed_bytes),
            returned_bytes: self.returned_bytes.saturating_sub(earlier.returned_bytes),
            received_bytes: self.received_bytes.saturating_sub(earlier.received_bytes),
        }
    }

    /// All requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.get + self.head + self.list + self.put + self.select
    }

    /// Bytes of payload that came over the link.
    #[must_use]
    pub fn link_bytes(&self) -> u64 {
        self.got_bytes + self.received_bytes
    }

    /// As work that a price book can price; `wall` is the time it took.
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
            wall,
        }
    }
}
