//! The memory that long pages of Parquet and large values of JSON may take.
//!
//! A page is decompressed as a whole, and a file of a few kilobytes may have one of hundreds of megabytes, or
//! hundreds of columns with short ones. So may its footer be long, of which the library makes many times as much,
//! as of the thousands of columns that are read. An array of JSON takes many times as much as its text. So those of all
//! evaluations of the process share a budget. One that finds no room waits for a while, but not for ever: who
//! has it may wait for this one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// What long pages and large values of all evaluations of this process may take.
const PROCESS_BYTES: u64 = 640 << 20;
/// Up to this length a page or value is short. Most writers begin a new page after 1 MiB.
const SHORT_BYTES: u64 = 4 << 20;
/// What short ones of one evaluation may take without being counted.
const FREE_BYTES: u64 = 32 << 20;
/// How long to wait for room.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many times as long for what others hold who go on without this one.
const MORE_PATIENCE: u32 = 6;
/// How many times as long for what others hold to the end, who hold nothing that they wait for.
const MOST_PATIENCE: u32 = 60;

/// What is said when there is no room.
pub(super) const NO_ROOM: &str =
    "The store has no memory left for a long page or value of this object; try again later.";

/// The error of who waited in vain.
#[cold]
pub(super) fn no_room() -> SelectError {
    SelectError::new(SelectErrorCode::Busy, NO_ROOM)
}

/// What is bounded together.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: u64,
    short: u64,
    free: u64,
    patience: Duration,
    /// What is counted for each object that is being read.
    taken: Mutex<BTreeMap<u64, u64>>,
    freed: Condvar,
}

/// Who reads an object. It may hold anything while nobody else does, so that a statement that runs alone
/// never fails.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    budget: Arc<Budget>,
    id: u64,
    /// What it holds that is not counted.
    free: Arc<AtomicU64>,
}

/// The room of a page or value.
#[derive(Debug)]
pub(super) struct Held {
    reader: Reader,
    bytes: u64,
    is_counted: bool,
}

impl Budget {
    fn new(bytes: u64, [short, free]: [u64; 2], patience: Duration) -> Self {
        let (taken, freed) = (Mutex::default(), Condvar::new());
        Self { bytes, short, free, patience, taken, freed }
    }

    // Nothing can fail while it is being changed.
    fn taken(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Of the budget of the process.
    pub(super) fn new() -> Self {
        static PROCESS: LazyLock<Arc<Budget>> = LazyLock::new(|| {
            Arc::new(Budget::new(PROCESS_BYTES, [SHORT_BYTES, FREE_BYTES], PATIENCE))
        });
        Self::of(&PROCESS)
    }

    fn of(budget: &Arc<Budget>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { budget: Arc::clone(budget), id, free: Arc::default() }
    }

    /// Waits for so much room; `None` if there was none for a while.
    pub(super) fn hold(&self, bytes: u64) -> Option<Held> {
        self.hold_within(bytes, self.budget.bytes, self.budget.patience)
    }

    /// The same for what is held while parts of an object are read, whose readers wait for pages at most, and
    /// not as long.
    pub(super) fn hold_for_part(&self, bytes: u64) -> Option<Held> {
        self.hold_within(bytes, self.budget.bytes, self.budget.patience * MORE_PATIENCE)
    }

    /// The same for what is held to the end of a statement. It leaves half of all room to what is held for a
    /// while: otherwise everyone might wait for the others.
    pub(super) fn hold_throughout(&self, bytes: u64) -> Option<Held> {
        self.hold_within(bytes, self.budget.bytes / 2, self.budget.patience * MOST_PATIENCE)
    }

    fn hold_within(&self, bytes: u64, most: u64, patience: Duration) -> Option<Held> {
        let budget = &*self.budget;
        let is_counted = !self.is_free(bytes);
        if is_counted {
            let deadline = Instant::now() + patience;
            let mut taken = budget.taken();
            while !self.has_room(&taken, bytes, most) {
                let left = deadline.checked_duration_since(Instant::now())?;
                let waited = budget.freed.wait_timeout(taken, left);
                taken = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            *taken.entry(self.id).or_default() += bytes;
        }
        Some(Held { reader: self.clone(), bytes, is_counted })
    }

    /// Whether so much is not counted.
    fn is_free(&self, bytes: u64) -> bool {
        let Budget { short, free, .. } = *self.budget;
        let add = |held: u64| held.checked_add(bytes).filter(|all| *all <= free);
        bytes <= short && self.free.try_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    fn has_room(&self, taken: &BTreeMap<u64, u64>, bytes: u64, most: u64) -> bool {
        let all: u64 = taken.values().sum();
        all.saturating_add(bytes) <= most || taken.keys().all(|id| *id == self.id)
    }
}

impl Held {
    /// How much it is.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Reader { budget, id, free } = &self.reader;
        if !self.is_counted {
            free.fetch_sub(self.bytes, Ordering::Relaxed);
            return;
        }
        let mut taken = budget.taken();
        if let Some(bytes) = taken.get_mut(id) {
            *bytes -= self.bytes;
            if *bytes == 0 {
                taken.remove(id);
            }
        }
        drop(taken);
        budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readers(patience: Duration) -> [Reader; 2] {
        let budget = Arc::new(Budget::new(100, [10, 30], patience));
        [Reader::of(&budget), Reader::of(&budget)]
    }

    #[test]
    fn long_pages_share_a_budget_and_short_ones_need_none() {
        let [one, other] = readers(Duration::ZERO);
        let first = one.hold(60).unwrap();
        assert!(other.hold(41).is_none());
        let second = other.hold(40).unwrap();
        assert!(one.hold(11).is_none() && other.hold(11).is_none());
        assert!(one.hold(10).is_some());
        drop(first);
        assert!(one.hold(60).is_some());
        drop(second);
        assert!(one.budget.taken().is_empty());
    }

    #[test]
    fn what_is_held_throughout_leaves_room() {
        let [one, other] = readers(Duration::ZERO);
        let _first = one.hold_throughout(40).unwrap();
        assert!(other.hold_throughout(11).is_none());
        assert!(other.hold(60).is_some());
        // Alone, anyone may hold anything.
        assert!(one.hold_throughout(1000).is_some());
    }

    #[test]
    fn many_short_pages_are_counted() {
        let [one, other] = readers(Duration::ZERO);
        let _other = other.hold(95).unwrap();
        let first = one.hold(10).unwrap();
        let _two = [one.hold(10).unwrap(), one.hold(10).unwrap()];
        assert!(one.hold(6).is_none());
        assert!(one.hold(5).is_some());
        drop(first);
        assert!(one.clone().hold(6).is_some());
        // Each reader has some.
        assert!(other.hold(10).is_some());
    }

    #[test]
    fn who_reads_alone_has_room_for_any_page() {
        let [one, other] = readers(Duration::ZERO);
        let held = [one.hold(1000).unwrap(), one.hold(1000).unwrap()];
        assert!(other.hold(11).is_none());
        drop(held);
        assert!(other.hold(1000).is_some());
    }

    #[test]
    fn who_waits_for_room_goes_on_when_there_is_some() {
        let [one, other] = readers(Duration::MAX / 1_000_000_000);
        let held = one.hold(100).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| other.hold(50).is_some());
            drop(held);
            assert!(waiting.join().unwrap());
        });
    }
}
