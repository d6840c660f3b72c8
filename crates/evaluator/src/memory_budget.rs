//! Limits the memory for long Parquet pages and large JSON values.
//!
//! A page is decompressed as a whole. A file of a few kilobytes may contain a page of hundreds of megabytes, or short
//! pages in hundreds of columns. A footer may be long too, and the library takes a multiple of its size, as it does
//! for thousands of columns. An array of JSON takes many times the size of its text.
//!
//! All evaluations of the process therefore share one budget. An evaluation that finds no room waits for a limited
//! time, because the one that has the room may in turn wait for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The most bytes of long pages and large values in this process.
const PROCESS_BYTES: u64 = 640 << 20;
/// The most bytes of a short page or value. Most writers begin a new page after 1 MiB.
const SHORT_BYTES: u64 = 4 << 20;
/// The most bytes of short pages and values that one evaluation takes without counting them.
const FREE_BYTES: u64 = 32 << 20;
/// The longest wait for room.
const WAIT_LIMIT: Duration = Duration::from_secs(5);
/// The factor by which waiting is longer in [`MemoryConsumer::reserve_for_range`].
const RANGE_WAIT_FACTOR: u32 = 6;
/// The factor by which waiting is longer in [`MemoryConsumer::reserve_throughout`].
const STATEMENT_WAIT_FACTOR: u32 = 60;

/// The budget of the process.
static PROCESS: LazyLock<Arc<Budget>> =
    LazyLock::new(|| Arc::new(Budget::new(PROCESS_BYTES, [SHORT_BYTES, FREE_BYTES], WAIT_LIMIT)));

/// Returns the bytes that all readers of the process hold and that are counted.
#[cfg(test)]
pub(super) fn taken_by_process() -> u64 {
    PROCESS.taken().values().map(|taken| taken.all()).sum()
}

/// The size in bytes from which the memory of a reservation is returned to the system before others may use the room.
const LARGE_BYTES: u64 = 64 << 20;

/// Returns unused memory to the system, if the allocator does not do so by itself.
static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// Sets a function that returns unused memory to the system. It is called when a statement has freed a large part of
/// the memory that all statements share. An allocator may otherwise keep that memory while another statement gets as
/// much. Later calls change nothing.
pub fn set_give_back(give_back: fn()) {
    GIVE_BACK.get_or_init(|| give_back);
}

/// The message if there is no room.
pub(super) const NO_ROOM: &str =
    "The store has no memory left for a long page or value of this object; try again later.";

/// Returns the error for a wait for room that timed out.
#[cold]
pub(super) fn out_of_memory() -> SelectError {
    SelectError::new(SelectErrorCode::Busy, NO_ROOM)
}

/// The memory shared by several readers.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: u64,
    short: u64,
    free: u64,
    patience: Duration,
    /// The counted bytes of each reader that holds any, by its id.
    taken: Mutex<BTreeMap<u64, Taken>>,
    freed: Condvar,
}

/// The counted bytes of a reader.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    /// The bytes held to the end of the statement.
    throughout: u64,
    /// All other bytes, which are held while a part of the object is read.
    passing: u64,
}

impl Taken {
    fn all(self) -> u64 {
        self.throughout + self.passing
    }

    fn of(&mut self, hold: Hold) -> &mut u64 {
        match hold {
            Hold::Throughout => &mut self.throughout,
            Hold::Passing => &mut self.passing,
        }
    }
}

/// How long room is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// To the end of the statement.
    Throughout,
    /// While a part of the object is read.
    Passing,
}

/// The reader of one object. One reader at a time may exceed the budget, so that a statement that runs alone never
/// fails: it may hold any amount while no other reader holds anything. It may also read parts of any size while the
/// others hold only what they hold throughout; otherwise all of them might wait for one another.
#[derive(Debug, Clone)]
pub(super) struct MemoryConsumer {
    budget: Arc<Budget>,
    id: u64,
    /// The bytes it holds without counting them.
    free: Arc<AtomicU64>,
}

/// The reserved room of a page or value; dropping it frees the room.
#[derive(Debug)]
pub(super) struct Reservation {
    reader: MemoryConsumer,
    bytes: u64,
    hold: Hold,
    is_counted: bool,
}

impl Budget {
    fn new(bytes: u64, [short, free]: [u64; 2], patience: Duration) -> Self {
        let (taken, freed) = (Mutex::default(), Condvar::new());
        Self { bytes, short, free, patience, taken, freed }
    }

    // A poisoned lock is safe to use: no code that can panic runs while it is held.
    fn taken(&self) -> MutexGuard<'_, BTreeMap<u64, Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryConsumer {
    /// Creates a reader that uses the budget of the process.
    pub(super) fn new() -> Self {
        Self::with_budget(&PROCESS)
    }

    fn with_budget(budget: &Arc<Budget>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { budget: Arc::clone(budget), id, free: Arc::default() }
    }

    /// Waits for room for `bytes` bytes. Returns `None` after [`WAIT_LIMIT`].
    pub(super) fn reserve(&self, bytes: u64) -> Option<Reservation> {
        self.try_reserve(bytes, Hold::Passing, self.budget.patience)
    }

    /// Waits for room that is held while parts of an object are read. The wait is longer, because the readers that
    /// hold such room wait for pages at most, and for a shorter time.
    pub(super) fn reserve_for_range(&self, bytes: u64) -> Option<Reservation> {
        self.try_reserve(bytes, Hold::Passing, self.budget.patience * RANGE_WAIT_FACTOR)
    }

    /// Waits for room that is held to the end of a statement. Such room takes at most half of the budget; otherwise
    /// all readers might wait for one another.
    pub(super) fn reserve_throughout(&self, bytes: u64) -> Option<Reservation> {
        let patience = self.budget.patience * STATEMENT_WAIT_FACTOR;
        self.try_reserve(bytes, Hold::Throughout, patience)
    }

    /// Like [`Self::reserve_throughout`], but does not wait. A reader that holds such room already must not wait for
    /// more of it, because the others might wait for more, too.
    pub(super) fn reserve_more_throughout(&self, bytes: u64) -> Option<Reservation> {
        self.try_reserve(bytes, Hold::Throughout, Duration::ZERO)
    }

    fn try_reserve(&self, bytes: u64, hold: Hold, patience: Duration) -> Option<Reservation> {
        let budget = &*self.budget;
        let is_counted = !self.is_free(bytes);
        if is_counted {
            let deadline = Instant::now() + patience;
            let mut taken = budget.taken();
            while !self.fits(&taken, bytes, hold) {
                let left = deadline.checked_duration_since(Instant::now())?;
                let waited = budget.freed.wait_timeout(taken, left);
                taken = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            *taken.entry(self.id).or_default().of(hold) += bytes;
        }
        Some(Reservation { reader: self.clone(), bytes, hold, is_counted })
    }

    /// Takes bytes without counting them, and returns whether that is possible.
    fn is_free(&self, bytes: u64) -> bool {
        let Budget { short, free, .. } = *self.budget;
        let add = |held: u64| held.checked_add(bytes).filter(|all| *all <= free);
        bytes <= short && self.free.try_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    fn fits(&self, taken: &BTreeMap<u64, Taken>, bytes: u64, hold: Hold) -> bool {
        let all: u64 = taken.values().map(|taken| taken.all()).sum();
        let most = match hold {
            Hold::Throughout => self.budget.bytes / 2,
            Hold::Passing => self.budget.bytes,
        };
        let mut others = taken.iter().filter(|(id, _)| **id != self.id);
        all.saturating_add(bytes) <= most
            || others.all(|(_, other)| hold == Hold::Passing && other.passing == 0)
    }
}

impl Reservation {
    /// Returns the number of reserved bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let MemoryConsumer { budget, id, free } = &self.reader;
        if !self.is_counted {
            free.fetch_sub(self.bytes, Ordering::Relaxed);
            return;
        }
        if self.bytes >= LARGE_BYTES
            && let Some(give_back) = GIVE_BACK.get()
        {
            give_back();
        }
        let mut taken = budget.taken();
        if let Some(reader) = taken.get_mut(id) {
            *reader.of(self.hold) -= self.bytes;
            if reader.all() == 0 {
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

    fn readers(patience: Duration) -> [MemoryConsumer; 2] {
        let budget = Arc::new(Budget::new(100, [10, 30], patience));
        [MemoryConsumer::with_budget(&budget), MemoryConsumer::with_budget(&budget)]
    }

    #[test]
    fn long_pages_share_a_budget_and_short_ones_need_none() {
        let [one, other] = readers(Duration::ZERO);
        let first = one.reserve(60).unwrap();
        assert!(other.reserve(41).is_none());
        let second = other.reserve(40).unwrap();
        assert!(one.reserve(11).is_none() && other.reserve(11).is_none());
        assert!(one.reserve(10).is_some());
        drop(first);
        assert!(one.reserve(60).is_some());
        drop(second);
        assert!(one.budget.taken().is_empty());
    }

    #[test]
    fn what_is_held_throughout_leaves_room() {
        let [one, other] = readers(Duration::ZERO);
        let _first = one.reserve_throughout(40).unwrap();
        assert!(other.reserve_throughout(11).is_none());
        assert!(other.reserve(60).is_some());
        // A single reader may hold any amount.
        assert!(one.reserve_throughout(1000).is_some());
    }

    #[test]
    fn one_reader_at_a_time_goes_beyond_what_is_left_beside_footers() {
        let budget = Arc::new(Budget::new(100, [10, 30], Duration::ZERO));
        let readers = [(); 3].map(|()| MemoryConsumer::with_budget(&budget));
        let _footers = readers.each_ref().map(|reader| reader.reserve_throughout(16).unwrap());
        let [one, other, _] = &readers;
        let columns = one.reserve_for_range(200).unwrap();
        assert!(other.reserve_for_range(60).is_none());
        assert!(other.reserve(60).is_none());
        // The reader that exceeds the budget continues with its pages.
        assert!(one.reserve(20).is_some());
        drop(columns);
        assert!(other.reserve_for_range(200).is_some());
        // Footers are limited, whoever holds them.
        assert!(one.reserve_throughout(200).is_none());
    }

    #[test]
    fn many_short_pages_are_counted() {
        let [one, other] = readers(Duration::ZERO);
        let _other = other.reserve(95).unwrap();
        let first = one.reserve(10).unwrap();
        let _two = [one.reserve(10).unwrap(), one.reserve(10).unwrap()];
        assert!(one.reserve(6).is_none());
        assert!(one.reserve(5).is_some());
        drop(first);
        assert!(one.clone().reserve(6).is_some());
        // Each reader has its own uncounted bytes.
        assert!(other.reserve(10).is_some());
    }

    #[test]
    fn who_reads_alone_has_room_for_any_page() {
        let [one, other] = readers(Duration::ZERO);
        let held = [one.reserve(1000).unwrap(), one.reserve(1000).unwrap()];
        assert!(other.reserve(11).is_none());
        drop(held);
        assert!(other.reserve(1000).is_some());
    }

    #[test]
    fn who_waits_for_room_goes_on_when_there_is_some() {
        let [one, other] = readers(Duration::MAX / 1_000_000_000);
        let held = one.reserve(100).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| other.reserve(50).is_some());
            drop(held);
            assert!(waiting.join().unwrap());
        });
    }
}
