//! Decides when look-ups in an index cost more than a scan of the whole object.

/// The most records that an index may lead to. A store holds 16 bytes of each record twice.
pub const MAX_RECORDS: usize = 1_000_000;

// All costs are in bytes of records that are scanned in order. They were measured with COUNT(*) over objects in
// memory with records of 16, 128 and 1,040 bytes, of which 0.01 to 20 % match, scattered or contiguous. A scan takes
// 0.055 ns a byte and 10 ns a record; a look-up takes 40 to 60 ns a record and 550 ns a place.

/// The cost of a scanned record, beside its bytes.
const SCANNED_BYTES: u64 = 180;
/// The cost of a record that an index leads to, beside its bytes.
const FOUND_BYTES: u64 = 1000;
/// The cost of moving to another place in the object: 10,000 in memory, more on a disk. With 16 KiB, no look-up
/// starts that takes longer than a scan. Of scattered records of 128 bytes, at most 1.8 % are looked up, in 21 ms
/// instead of 27 ms.
const SEEK_BYTES: u64 = 16 << 10;

/// The records that indexes lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupCost {
    /// The number of records.
    pub records: u64,
    /// The number of separate places in the object where the records are.
    pub places: u64,
    /// The total size of the records in bytes.
    pub bytes: u64,
}

impl LookupCost {
    fn weight(self) -> u64 {
        let found = self.records.saturating_mul(FOUND_BYTES);
        found.saturating_add(self.places.saturating_mul(SEEK_BYTES)).saturating_add(self.bytes)
    }

    /// Returns whether another index is worth reading. It leads to `records` records and has `index_bytes` bytes to
    /// read; at best, it saves reading all records found so far.
    #[must_use]
    pub fn may_pay(self, (records, index_bytes): (u64, u64)) -> bool {
        records.saturating_mul(FOUND_BYTES).saturating_add(index_bytes) < self.weight()
    }
}

/// The cost that look-ups may still add before a scan of all records is cheaper.
#[derive(Debug, Clone)]
pub struct Budget {
    left: u64,
    index_bytes: u64,
}

impl Budget {
    /// Returns the budget that equals the cost of scanning `records` records with `bytes` bytes in total.
    #[must_use]
    pub fn instead_of(records: u64, bytes: u64) -> Self {
        let left = records.saturating_mul(SCANNED_BYTES).saturating_add(bytes);
        Self { left, index_bytes: 0 }
    }

    /// Takes bytes of an index object from the budget; returns `None` if too little is left.
    pub fn spend(&mut self, bytes: u64) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        self.index_bytes += bytes;
        Some(())
    }

    /// Returns whether the budget allows reading these records.
    #[must_use]
    pub fn allows(&self, found: LookupCost) -> bool {
        found.records <= MAX_RECORDS as u64 && found.weight() <= self.left
    }

    /// Returns the number of index bytes taken so far.
    #[must_use]
    pub fn index_bytes(&self) -> u64 {
        self.index_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_longer_than_a_scan_is_not_read() {
        let mut budget = Budget::instead_of(1000, 100_000);
        assert!(budget.spend(300_000).is_none());
        assert!(budget.spend(3000).is_some());
        assert_eq!(budget.index_bytes(), 3000);
        let found = |number| LookupCost { records: number, places: number, bytes: 100 * number };
        assert!(budget.allows(found(10)) && !budget.allows(found(20)));
        assert!(found(1).may_pay((10, 1000)) && !found(1).may_pay((100, 1000)));
        assert!(!budget.allows(found(u64::MAX / 100)));
    }

    /// The thresholds agree with the measured shares of records below which a look-up is faster.
    #[test]
    fn few_records_are_looked_up_and_many_only_if_they_lie_together() {
        for (width, scattered, together) in
            [(16, 0.02, 0.15), (128, 0.017, 0.25), (1040, 0.06, 0.5)]
        {
            let all = 1_000_000;
            let is_better = |share: f64, is_scattered: bool| {
                let records = (all as f64 * share) as u64;
                let places = if is_scattered { records } else { 1 };
                let mut budget = Budget::instead_of(all, all * width);
                let index = budget.spend(records * 10);
                index.is_some()
                    && budget.allows(LookupCost { records, places, bytes: records * width })
            };
            assert!(
                is_better(scattered / 2.0, true) && !is_better(scattered * 2.0, true),
                "{width}"
            );
            assert!(is_better(together, false) && !is_better(together * 2.0, false), "{width}");
        }
    }
}
