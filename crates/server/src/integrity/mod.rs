//! Comparison of objects with their stored checksums, before parts of them are returned.
//!
//! Objects are stored with a CRC-64/NVME. A version is checked once as long as the server runs:
//!
//! | object | GET | GET of a range | Select |
//! |---|---|---|---|
//! | up to [`SMALL`] | before the answer | before the answer | before the answer |
//! | larger | on the way: the last bytes are sent only if the checksum matches | in the background: ranges are refused once damage is found | while the statement runs: the answer ends with an error instead of `End` |
//!
//! A statement that has read only a little of a large object does not wait for the rest to be checked ([`awaits`]).
//!
//! Objects that were put into the folder by hand have no checksum, and are not checked. Damage that occurs after the
//! check is found by a GET of the whole object, by a scrub, or after a restart of the server.
//!
//! Checks for ranges and for statements have separate lanes, in which objects alternate after [`SLICE`] bytes. A
//! small object therefore does not wait for a large one, and a statement does not wait for checks of ranges.

mod background;
mod version_cache;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::store::{Crc64, Object};

pub(crate) use background::run;
use version_cache::{Entry, Version, VersionCache};

/// The size in bytes up to which an object is checked before the answer begins. That takes some milliseconds.
const SMALL: u64 = 8 << 20;
/// The size in bytes up to which a statement waits for the whole object to be checked, however little it has read.
const AWAITED: u64 = 256 << 20;
/// A statement over a larger object waits if it has read at least one in this many of its bytes.
const AWAITED_OF_READ: u64 = 4;
/// The maximum number of large objects that are being checked, or wait for it, because ranges of them were read.
/// Further ones are not checked until one of these is done.
const QUEUED: usize = 64;
/// The bytes of one object that are read before the next object gets its turn.
const SLICE: u64 = 16 << 20;
/// The bytes that are read at a time. They fit into the cache of a core.
const CHUNK: usize = 256 << 10;

/// The result of checking an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pending,
    Whole,
    Damaged,
    /// The object cannot be read, or was changed in the meantime.
    None,
}

/// The checks of one server, with their results.
#[derive(Debug)]
pub(crate) struct Integrity {
    known: Mutex<VersionCache>,
    /// The queue of background checks. `None` if no object is read only to be checked.
    checks: Option<UnboundedSender<Job>>,
    queue: Arc<Semaphore>,
}

/// The result for an object that is being read, which may become known later.
#[derive(Debug, Clone)]
pub(crate) enum Check {
    /// The object is undamaged, or is not checked.
    Done,
    Running(Arc<BackgroundCheck>),
}

/// A check that runs in the background.
#[derive(Debug)]
pub(crate) struct BackgroundCheck {
    verdict: watch::Sender<Verdict>,
    /// True if a statement waits for it, or will soon.
    is_awaited: AtomicBool,
}

/// A check that is to be run.
#[derive(Debug)]
pub(crate) struct Job {
    version: Version,
    object: Object,
    running: Arc<BackgroundCheck>,
    /// The permit for a place in the queue.
    _place: Option<OwnedSemaphorePermit>,
}

impl Drop for Job {
    /// Ends the waiting for a check that will not be made.
    fn drop(&mut self) {
        self.running.verdict.send_if_modified(|verdict| {
            let is_open = *verdict == Verdict::Pending;
            if is_open {
                *verdict = Verdict::None;
            }
            is_open
        });
    }
}

impl BackgroundCheck {
    fn is_abandoned(&self) -> bool {
        *self.verdict.borrow() == Verdict::None
    }
}

impl Integrity {
    /// Creates the checks, and the queue of those for [`run`]. If `beside` is false, no object is read only to be
    /// checked.
    pub(crate) fn new(beside: bool) -> (Self, UnboundedReceiver<Job>) {
        let (checks, jobs) = unbounded_channel();
        let known = Mutex::default();
        let queue = Arc::new(Semaphore::new(QUEUED));
        (Self { known, checks: beside.then_some(checks), queue }, jobs)
    }

    fn cache(&self) -> MutexGuard<'_, VersionCache> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks an object before a range of it is returned. Blocks the thread.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the object is damaged.
    pub(crate) fn before_range(&self, object: &Object) -> io::Result<Check> {
        self.before(object, false)
    }

    /// Checks an object before a statement is evaluated over it. Blocks the thread.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the object is damaged.
    pub(crate) fn before_statement(&self, object: &Object) -> io::Result<Check> {
        self.before(object, true)
    }

    /// Checks an object before all of it is returned. A large one is compared while it is sent. Blocks the thread.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the object is known to be damaged.
    pub(crate) fn before_all(&self, object: &Object) -> io::Result<Check> {
        match self.checks.is_some() && object.size <= SMALL {
            true => self.before(object, false),
            false => self.recall(object),
        }
    }

    /// Returns the known result for an object.
    fn recall(&self, object: &Object) -> io::Result<Check> {
        object.check_length()?;
        match Version::from_object(object).and_then(|version| self.cache().get(&version)) {
            Some(Entry::Damaged) => Err(object.damaged()),
            Some(Entry::Running(running)) => Ok(Check::Running(running)),
            Some(Entry::Whole) | None => Ok(Check::Done),
        }
    }

    /// Compares an object's bytes with its stored checksum, and remembers the result.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the object is damaged.
    pub(crate) fn compare(&self, object: &Object, crc64: u64) -> io::Result<()> {
        self.judge(object, crc64);
        // Bytes that were changed by hand in the meantime are not a version of the object either.
        match Version::from_object(object).is_none_or(|version| version.has(crc64)) {
            true => Ok(()),
            false => Err(object.damaged()),
        }
    }

    fn before(&self, object: &Object, is_awaited: bool) -> io::Result<Check> {
        let Some(checks) = &self.checks else { return self.recall(object) };
        object.check_length()?;
        let Some(version) = Version::from_object(object) else { return Ok(Check::Done) };
        let mut known = self.cache();
        match known.get(&version) {
            Some(Entry::Whole) => return Ok(Check::Done),
            Some(Entry::Damaged) => return Err(object.damaged()),
            Some(Entry::Running(running)) if !running.is_abandoned() => {
                running.is_awaited.fetch_or(is_awaited, Ordering::Relaxed);
                return Ok(Check::Running(running));
            }
            Some(Entry::Running(_)) | None => {}
        }
        if object.size <= SMALL {
            drop(known);
            return self.check_now(object).map(|()| Check::Done);
        }
        let place = match is_awaited {
            // The number of statements is limited already.
            true => None,
            false => match Arc::clone(&self.queue).try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => return Ok(Check::Done),
            },
        };
        let running = Arc::new(BackgroundCheck {
            verdict: watch::Sender::new(Verdict::Pending),
            is_awaited: AtomicBool::new(is_awaited),
        });
        // The process may be out of file handles.
        let Ok(object) = object.again() else { return Ok(Check::Done) };
        let job = Job { version, object, running: Arc::clone(&running), _place: place };
        if checks.send(job).is_err() {
            // The server is stopping.
            return Ok(Check::Done);
        }
        known.set(version, Entry::Running(Arc::clone(&running)));
        Ok(Check::Running(running))
    }

    /// Reads a whole object and compares it.
    fn check_now(&self, object: &Object) -> io::Result<()> {
        let mut crc64 = Crc64::default();
        read(object, 0..object.size, &mut crc64)?;
        match self.judge(object, crc64.finish()) {
            Verdict::Damaged => Err(object.damaged()),
            Verdict::Pending | Verdict::Whole | Verdict::None => Ok(()),
        }
    }

    /// Returns the verdict for an object with this checksum, and remembers it.
    fn judge(&self, object: &Object, crc64: u64) -> Verdict {
        let Some(version) = Version::from_object(object) else { return Verdict::None };
        let verdict = match version.has(crc64) {
            true => Verdict::Whole,
            false if object.is_unchanged() => Verdict::Damaged,
            false => Verdict::None,
        };
        let entry = match verdict {
            Verdict::Whole => Entry::Whole,
            Verdict::Damaged => {
                let (bucket, key, etag) = (&object.bucket, &object.key, &object.meta.etag);
                tracing::error!(
                    bucket,
                    key,
                    etag,
                    size = object.size,
                    "an object is damaged on disk"
                );
                Entry::Damaged
            }
            Verdict::Pending | Verdict::None => return verdict,
        };
        self.cache().set(version, entry);
        verdict
    }

    /// Ends a check in the background with its result.
    fn settle(&self, job: &Job, crc64: Option<u64>) {
        let verdict = crc64.map_or(Verdict::None, |crc64| self.judge(&job.object, crc64));
        if verdict == Verdict::None {
            self.cache().remove(&job.version);
        }
        job.running.verdict.send_replace(verdict);
    }
}

impl Check {
    /// Returns true if the object has been found to be damaged.
    pub(crate) fn record_damage(&self) -> bool {
        self.verdict() == Verdict::Damaged
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.verdict() == Verdict::Pending
    }

    fn verdict(&self) -> Verdict {
        match self {
            Self::Done => Verdict::Whole,
            Self::Running(running) => *running.verdict.borrow(),
        }
    }

    /// Waits until the check ends.
    pub(crate) async fn end(&self) {
        if let Self::Running(running) = self {
            // The sender is part of `running`, so it is not dropped before.
            let _ = running.verdict.subscribe().wait_for(|it| *it != Verdict::Pending).await;
        }
    }
}

/// Returns true if the answer of a statement waits for the whole object to be checked. `read` is the number of bytes
/// that the statement has read. A short look at a large object is answered at once.
pub(crate) fn awaits(size: u64, read: u64) -> bool {
    size <= AWAITED.max(read.saturating_mul(AWAITED_OF_READ))
}

/// Adds a range of an object to a checksum, up to the end of the object.
fn read(object: &Object, range: std::ops::Range<u64>, crc64: &mut Crc64) -> io::Result<()> {
    let length = range.end.saturating_sub(range.start);
    let mut buffer = vec![0; usize::try_from(length).unwrap_or(CHUNK).min(CHUNK)];
    let mut at = range.start;
    while at < range.end {
        let wanted = usize::try_from(range.end - at).unwrap_or(CHUNK).min(buffer.len());
        match object.read_at(at, &mut buffer[..wanted]) {
            Ok(0) => break,
            Ok(n) => {
                crc64.update(&buffer[..n]);
                at += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
