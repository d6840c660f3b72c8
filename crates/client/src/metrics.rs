//! Counters of requests and bytes of Select calls.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that any number of calls and threads can add to.
#[derive(Debug, Default)]
pub struct SelectMetrics {
    calls: AtomicU64,
    requests: AtomicU64,
    silences: AtomicU64,
    overdue: AtomicU64,
    head_requests: AtomicU64,
    sql_bytes: AtomicU64,
    bytes_received: AtomicU64,
    bytes_scanned: ReportedCounter,
    bytes_processed: ReportedCounter,
    bytes_returned: ReportedCounter,
}

/// The values of the counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectCounts {
    /// The number of `SelectObjectContent` requests sent, including retries.
    pub requests: u64,
    /// The number of these requests that were retries, by the SDK or by this client, for any reason.
    pub retries: u64,
    /// The number of requests that were abandoned because the store sent nothing for half of the idle time-out.
    pub silences: u64,
    /// The number of statements that the store stopped because they took longer than it allows.
    pub overdue: u64,
    /// The number of `HeadObject` requests sent to find out whether an object had changed.
    pub head_requests: u64,
    /// The bytes of SQL sent, before XML escaping, once per request.
    pub sql_bytes: u64,
    /// The bytes of answers received: frames and error documents, without HTTP heads.
    pub bytes_received: u64,
    /// The bytes of objects read, before decompression.
    pub bytes_scanned: Reported,
    /// The bytes of objects read, after decompression.
    pub bytes_processed: Reported,
    /// The bytes of records sent by stores.
    pub bytes_returned: Reported,
}

/// A sum of figures that stores report in Stats events. A store may leave a figure out, send -1 or
/// break off before it reports, so the sum is a lower bound unless no figure is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// The sum of the figures reported, in bytes.
    pub bytes: u64,
    /// The number of answers that began but did not report the figure.
    pub missing: u64,
}

impl Reported {
    /// Returns the sum if every answer reported the figure.
    pub fn known(self) -> Option<u64> {
        (self.missing == 0).then_some(self.bytes)
    }
}

impl SelectMetrics {
    /// Returns the current values.
    pub fn counts(&self) -> SelectCounts {
        let requests = self.requests.load(Ordering::Relaxed);
        SelectCounts {
            requests,
            retries: requests.saturating_sub(self.calls.load(Ordering::Relaxed)),
            silences: self.silences.load(Ordering::Relaxed),
            overdue: self.overdue.load(Ordering::Relaxed),
            head_requests: self.head_requests.load(Ordering::Relaxed),
            sql_bytes: self.sql_bytes.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            bytes_scanned: self.bytes_scanned.load(),
            bytes_processed: self.bytes_processed.load(),
            bytes_returned: self.bytes_returned.load(),
        }
    }

    pub(super) fn call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn request(&self, sql_bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.sql_bytes.fetch_add(sql_bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn count_stall(&self) {
        self.silences.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn overdue(&self) {
        self.overdue.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn head_request(&self) {
        self.head_requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.bytes_received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts an answer that began. Its figures are missing until it reports them.
    pub(super) fn answer_began(&self) {
        for counter in [&self.bytes_scanned, &self.bytes_processed, &self.bytes_returned] {
            counter.missing.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Adds the figures that an answer reported. Must be called at most once per answer.
    pub(super) fn answer_reported(
        &self,
        scanned: Option<i64>,
        processed: Option<i64>,
        returned: Option<i64>,
    ) {
        self.bytes_scanned.report(scanned);
        self.bytes_processed.report(processed);
        self.bytes_returned.report(returned);
    }
}

#[derive(Debug, Default)]
struct ReportedCounter {
    bytes: AtomicU64,
    missing: AtomicU64,
}

impl ReportedCounter {
    fn report(&self, figure: Option<i64>) {
        // Some stores report an unknown figure as a negative number.
        if let Some(bytes) = figure.and_then(|figure| u64::try_from(figure).ok()) {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.missing.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn load(&self) -> Reported {
        Reported {
            bytes: self.bytes.load(Ordering::Relaxed),
            missing: self.missing.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_and_negative_figures_are_unknown_not_zero() {
        let metrics = SelectMetrics::default();
        metrics.answer_began();
        metrics.answer_reported(Some(55), Some(-1), None);
        let counts = metrics.counts();
        assert_eq!(counts.bytes_scanned.known(), Some(55));
        assert_eq!(counts.bytes_processed.known(), None);
        assert_eq!(counts.bytes_returned, Reported { bytes: 0, missing: 1 });
        metrics.answer_began();
        assert_eq!(metrics.counts().bytes_scanned, Reported { bytes: 55, missing: 1 });
    }
}
