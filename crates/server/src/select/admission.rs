//! Limits on the statements that run. The others wait, for their turn or for the reader of their answer.

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use s3s::{S3Error, S3Result};
use sluicegate_s3select::{SelectError, SelectErrorCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::reader::{MAX_DELAY, Reader};
use super::select_error;

/// The number of statements that may wait, per statement that runs.
const QUEUE: usize = 4;
/// The maximum number of begun statements, unless more may run. Each has a thread, and some MiB.
const MAX_BEGUN: usize = 128;
/// The interval at which a waiting statement looks for one that may be ended in its favor.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Limits the statements that run, those that have begun, and those that wait to begin.
pub(super) struct Admission {
    running: Arc<Semaphore>,
    /// The permits of begun statements, which run or wait for their readers.
    begun: Arc<Semaphore>,
    /// The cores of the machine that no statement uses.
    cores: Arc<Semaphore>,
    waiting: AtomicUsize,
    max_waiting: usize,
    /// The readers of the begun statements' answers.
    readers: Mutex<Vec<Arc<Reader>>>,
    /// The time by which a reader may be behind while others wait.
    patience: Duration,
}

/// A begun statement. It has its turn unless it is paused.
pub(super) struct AdmissionPermit {
    turns: Arc<Admission>,
    slot: Option<OwnedSemaphorePermit>,
    cores: Option<OwnedSemaphorePermit>,
    threads: usize,
    reader: Arc<Reader>,
    _begun: OwnedSemaphorePermit,
}

impl Admission {
    pub(super) fn new(slots: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let queue = slots.saturating_mul(QUEUE);
        Self {
            running: Arc::new(Semaphore::new(slots)),
            begun: Arc::new(Semaphore::new(queue.min(MAX_BEGUN).max(slots))),
            cores: Arc::new(Semaphore::new(cores)),
            waiting: AtomicUsize::new(0),
            max_waiting: queue,
            readers: Mutex::default(),
            patience: MAX_DELAY,
        }
    }

    /// Ends the begun statement with the slowest reader, if that reader is too slow.
    fn end_slowest(&self) {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let overdue = readers.iter().filter_map(|it| Some((it.overdue()?, it)));
        if let Some((_, slowest)) = overdue.max_by_key(|(behind, _)| *behind) {
            tracing::debug!("a statement is ended whose answer is read too slowly: others wait");
            slowest.end();
        }
    }

    /// Waits until another statement may begin.
    async fn begin(&self) -> S3Result<OwnedSemaphorePermit> {
        let mut begun = pin!(acquire(&self.begun));
        loop {
            self.end_slowest();
            tokio::select! {
                begun = &mut begun => return begun,
                () = sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    ///
    /// `Busy` if too many statements are waiting.
    pub(super) async fn take(self: &Arc<Self>) -> S3Result<AdmissionPermit> {
        let free = |all: &Arc<Semaphore>| Arc::clone(all).try_acquire_owned().ok();
        let begun = free(&self.begun);
        let slot = begun.is_some().then(|| free(&self.running)).flatten();
        let (begun, slot) = match (begun, slot) {
            (Some(begun), Some(slot)) => (begun, slot),
            (begun, _) => {
                let _place = QueueSlot::take(self).ok_or_else(|| {
                    let message = "too many statements are waiting; retry later";
                    select_error(SelectError::new(SelectErrorCode::Busy, message))
                })?;
                let begun = match begun {
                    Some(begun) => begun,
                    None => self.begin().await?,
                };
                (begun, acquire(&self.running).await?)
            }
        };
        let turns = Arc::clone(self);
        let reader = Arc::new(Reader::new(self.patience));
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.push(Arc::clone(&reader));
        Ok(AdmissionPermit {
            turns,
            slot: Some(slot),
            cores: None,
            threads: 1,
            reader,
            _begun: begun,
        })
    }
}

async fn acquire(all: &Arc<Semaphore>) -> S3Result<OwnedSemaphorePermit> {
    Arc::clone(all).acquire_owned().await.map_err(S3Error::internal_error)
}

impl AdmissionPermit {
    /// Takes as many free cores as the statement can use. If no core is free, the statement still runs, on one
    /// thread.
    pub(super) fn take_cores(&mut self, most: usize) {
        let cores = &self.turns.cores;
        let wanted = u32::try_from(cores.available_permits().min(most)).unwrap_or(u32::MAX);
        self.cores = Arc::clone(cores).try_acquire_many_owned(wanted).ok();
        self.threads = self.cores.as_ref().map_or(1, OwnedSemaphorePermit::num_permits);
    }

    /// Returns the reader of the statement's answer.
    pub(super) fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Returns the number of threads for the statement.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Lets other statements run while this one waits for its reader.
    pub(super) fn pause(&mut self) {
        (self.slot, self.cores) = (None, None);
    }

    /// Waits for the next turn. The statement keeps its threads, whether or not as many cores are free.
    pub(super) async fn resume(&mut self) {
        // The semaphore is never closed, so it always returns a permit.
        self.slot = acquire(&self.turns.running).await.ok();
        let threads = u32::try_from(self.threads).unwrap_or(u32::MAX);
        self.cores = Arc::clone(&self.turns.cores).try_acquire_many_owned(threads).ok();
    }
}

impl Drop for AdmissionPermit {
    fn drop(&mut self) {
        let mut readers = self.turns.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|reader| !Arc::ptr_eq(reader, &self.reader));
    }
}

/// A place in the queue. It is freed on drop, because clients may leave while they wait.
struct QueueSlot<'a>(&'a AtomicUsize);

impl<'a> QueueSlot<'a> {
    fn take(turns: &'a Admission) -> Option<Self> {
        let before = turns.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Self(&turns.waiting);
        (before < turns.max_waiting).then_some(place)
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_so_many_statements_wait() {
        let turns = Arc::new(Admission::new(1));
        let running = turns.take().await.unwrap();
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..QUEUE {
            let turns = Arc::clone(&turns);
            waiting.spawn(async move { turns.take().await.map(drop) });
        }
        while turns.waiting.load(Ordering::Relaxed) < QUEUE {
            tokio::task::yield_now().await;
        }
        let refused = turns.take().await.err().unwrap();
        assert_eq!(refused.code().as_str(), "Busy");
        assert_eq!(refused.status_code().unwrap().as_u16(), 503);
        drop(running);
        while let Some(waited) = waiting.join_next().await {
            waited.unwrap().unwrap();
        }
        drop(turns.take().await.unwrap());
        assert_eq!(turns.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn who_waits_for_a_reader_lets_others_run() {
        let turns = Arc::new(Admission::new(1));
        let all = turns.cores.available_permits();
        let mut paused = turns.take().await.unwrap();
        paused.take_cores(usize::MAX);
        assert_eq!((paused.threads(), turns.cores.available_permits()), (all, 0));
        paused.pause();
        assert_eq!(turns.cores.available_permits(), all);
        let mut other = turns.take().await.unwrap();
        other.take_cores(1);
        // The paused statement resumes when the other one has ended, with the cores that are free.
        let mut resumed = Box::pin(paused.resume());
        assert!(futures::poll!(&mut resumed).is_pending());
        drop(other);
        resumed.await;
        assert_eq!((paused.threads(), turns.cores.available_permits()), (all, 0));
        drop(paused);
        assert_eq!(turns.cores.available_permits(), all);
    }

    #[tokio::test]
    async fn those_that_are_begun_are_bounded() {
        let turns = Arc::new(Admission::new(1));
        let mut begun = Vec::new();
        for _ in 0..QUEUE {
            let mut turn = turns.take().await.unwrap();
            turn.pause();
            begun.push(turn);
        }
        let mut next = Box::pin(turns.take());
        assert!(futures::poll!(&mut next).is_pending());
        begun.pop();
        next.await.unwrap();
    }

    #[tokio::test]
    async fn the_slowest_reader_gives_way_to_who_waits_to_begin() {
        let turns = Arc::new(Admission { patience: Duration::ZERO, ..Admission::new(1) });
        let mut begun = Vec::new();
        for _ in 0..QUEUE {
            let mut turn = turns.take().await.unwrap();
            turn.pause();
            begun.push(turn);
        }
        // No statement waits for its reader, except one whose reader has read since.
        begun[1].reader().is_awaited();
        begun[1].reader().took(1);
        let mut next = Box::pin(turns.take());
        assert!(futures::poll!(&mut next).is_pending());
        assert!(begun.iter().all(|turn| !turn.reader().is_ended()));
        drop(next);
        for slow in [2, 0] {
            begun[slow].reader().is_awaited();
            sleep(Duration::from_millis(1)).await;
        }
        let mut next = Box::pin(turns.take());
        assert!(futures::poll!(&mut next).is_pending());
        let ended: Vec<_> = begun.iter().map(|turn| turn.reader().is_ended()).collect();
        assert_eq!(ended, [false, false, true, false]);
        begun[2].reader().ended().await;
        drop(begun.remove(2));
        drop(next.await.unwrap());
        assert_eq!(turns.readers.lock().unwrap().len(), 3);
        // No statement waits, so slow readers are kept.
        drop(turns.take().await.unwrap());
        assert!(begun.iter().all(|turn| !turn.reader().is_ended()));
    }
}
