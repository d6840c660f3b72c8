//! Plans the requests for the records that an index leads to.

use sluicegate_costmodel::{Bytes, gap_among};

use crate::store::ranges::PIECE_BYTES;

/// The cost of a request and the size of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadPlan {
    /// The number of bytes that cost as much as a request.
    pub request: u64,
    /// The maximum number of ranges in one request, at least 1.
    pub ranges_per_request: u32,
    /// The longest gap in bytes between two records that is read rather than skipped.
    pub gap: u64,
}

impl ReadPlan {
    /// Uses as many ranges per request as the store accepts if that is cheaper than one by one. It is not if requests
    /// cost less than the overhead of an answer's parts.
    #[must_use]
    pub fn new(request: u64, most: u32) -> Self {
        let gap = gap_among(Bytes(request), most).0;
        match most {
            2.. if gap < request => Self { request, ranges_per_request: most, gap },
            _ => Self { request, ranges_per_request: 1, gap: request },
        }
    }

    /// Sets one range per request, with the same costs.
    #[must_use]
    pub fn one_by_one(self) -> Self {
        Self::new(self.request, 1)
    }

    /// Returns the cost of this many requests and bytes, in bytes.
    #[must_use]
    pub fn weight(&self, requests: f64, bytes: f64) -> f64 {
        bytes + requests * self.request as f64
    }

    /// Returns the number of requests for this many ranges with this many bytes in total.
    #[must_use]
    pub fn requests(&self, ranges: f64, bytes: f64) -> f64 {
        if self.ranges_per_request <= 1 {
            return ranges;
        }
        let of_ranges = ranges / f64::from(self.ranges_per_request);
        // A request has at most `PIECE_BYTES` bytes and at least one range.
        of_ranges.max(bytes / PIECE_BYTES as f64).max(ranges.min(1.0)).min(ranges)
    }

    /// Returns the bytes of the answers in addition to those of the object.
    #[must_use]
    pub fn overhead(&self, ranges: f64) -> f64 {
        if self.ranges_per_request > 1 {
            ranges * sluicegate_costmodel::RANGE_BYTES.0 as f64
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_ranges_are_asked_for_where_that_is_better() {
        let several = ReadPlan::new(7500, 100);
        assert_eq!((several.ranges_per_request, several.gap), (100, 235));
        assert_eq!(several.one_by_one(), ReadPlan::new(7500, 1));
        assert_eq!(ReadPlan::new(7500, 0), ReadPlan::new(7500, 1));
        assert_eq!(ReadPlan::new(7500, 1).gap, 7500);
        // If a request costs nothing, there is no reason to save any.
        assert_eq!(ReadPlan::new(100, 100), ReadPlan::new(100, 1));
    }

    #[test]
    fn requests_are_as_many_as_ranges_and_bytes_take() {
        let several = ReadPlan::new(7500, 100);
        assert_eq!(several.requests(0.0, 0.0), 0.0);
        assert_eq!(several.requests(3.0, 300.0), 1.0);
        assert_eq!(several.requests(1000.0, 100_000.0), 10.0);
        assert_eq!(several.requests(1000.0, 20.0 * PIECE_BYTES as f64), 20.0);
        assert_eq!(several.requests(2.0, 20.0 * PIECE_BYTES as f64), 2.0);
        assert_eq!(several.one_by_one().requests(1000.0, 1.0), 1000.0);
        assert_eq!(several.weight(2.0, 100.0), 15_100.0);
        assert_eq!((several.overhead(2.0), several.one_by_one().overhead(2.0)), (320.0, 0.0));
    }
}
