//! Limits the memory of rows that are computed but not yet received.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The most bytes of rows in all evaluations of this process, enough for the full queues of some thirty threads.
const PROCESS_BYTES: usize = 256 << 20;

/// A number of bytes that queues share.
///
/// A queue gets more as long as it then holds at most as much as is left for all. Each of `n` queues that nobody
/// reads from thus holds an equal share, and one more such share stays free for others (Choudhury and Hahne, *Dynamic
/// queue length thresholds for shared-memory packet switches*, 1998, with α = 1).
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
    taken: AtomicUsize,
    /// The most bytes taken at any time.
    #[cfg(test)]
    peak: AtomicUsize,
}

impl Budget {
    /// Returns the budget of the process.
    pub(super) fn of_process() -> Arc<Self> {
        static PROCESS: LazyLock<Arc<Budget>> =
            LazyLock::new(|| Arc::new(Budget::new(PROCESS_BYTES)));
        Arc::clone(&PROCESS)
    }

    pub(crate) const fn new(bytes: usize) -> Self {
        Self {
            bytes,
            taken: AtomicUsize::new(0),
            #[cfg(test)]
            peak: AtomicUsize::new(0),
        }
    }

    /// Takes bytes for a queue that already holds `held` bytes. Returns whether they were available.
    pub(super) fn take(&self, bytes: usize, held: usize) -> bool {
        let more = |taken: usize| {
            let taken = taken.checked_add(bytes)?;
            let left = self.bytes.checked_sub(taken)?;
            (held.checked_add(bytes)? <= left).then_some(taken)
        };
        let taken = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        #[cfg(test)]
        if let Ok(before) = taken {
            self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    /// Returns bytes to the budget.
    pub(super) fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_get_equal_shares_and_leave_one() {
        for queues in [1, 2, 9] {
            let budget = Budget::new(1000 * (queues + 1));
            for _ in 0..queues {
                let mut held = 0;
                while budget.take(1, held) {
                    held += 1;
                }
                budget.give_back(held);
            }
            assert_eq!(budget.taken(), 0);
            // The queues take turns, as threads would.
            let mut held = vec![0; queues];
            while held.iter_mut().fold(false, |any, held| {
                let took = budget.take(1, *held);
                *held += usize::from(took);
                any | took
            }) {}
            assert_eq!(held, vec![1000; queues]);
            assert_eq!((budget.taken(), budget.peak()), (1000 * queues, 1000 * queues));
        }
    }

    #[test]
    fn no_more_is_taken_than_there_is() {
        let budget = Budget::new(10);
        assert!(!budget.take(11, 0) && !budget.take(usize::MAX, 1) && !budget.take(6, 0));
        assert!(budget.take(5, 0) && !budget.take(5, 5) && !budget.take(3, 0));
        assert!(budget.take(0, 0));
        budget.give_back(5);
        assert_eq!((budget.taken(), budget.peak()), (0, 5));
    }
}
