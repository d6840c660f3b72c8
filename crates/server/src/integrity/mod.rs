//! Whether objects still are what was stored, before parts of them are answered.
//!
//! Objects are stored with a CRC-64/NVME. A version is checked once as long as the server runs:
//!
//! | object | GET | GET of a range | Select |
//! |---|---|---|---|
//! | up to [`SMALL`] | before the answer | before the answer | before the answer |
//! | larger | on the way: the last bytes are sent only if it is whole | in the background: ranges are refused once damage is found | while the statement runs: the answer ends with an error instead of `End` |
//!
//! A statement that has read but a little of a large object does not wait for the rest to be checked
//! ([`awaits`]).
//!
//! Objects that were put into the folder by hand have no checksum, and are not checked. What breaks after the check
//! is found by a GET of the whole object, by a scrub, or when the server is started again.
//!
//! Checks of ranges and of statements have lanes of their own, in which objects take turns of [`SLICE`] bytes. So a
//! small object does not wait for a large one, nor a statement for what nobody waits for.

mod known;
mod lanes;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::store::{Crc64, Object};

use known::{Entry, Known, Version};
pub(crate) use lanes::run;

/// Bytes of an object that is checked before an answer begins: some milliseconds.
const SMALL: u64 = 8 << 20;
/// Bytes of an object that a statement's answer waits for at its end, however little it has read.
const AWAITED: u64 = 256 << 20;
/// A statement that has read one of so many bytes waits for all of the object to be checked.
const AWAITED_OF_READ: u64 = 4;
/// Large objects of which ranges were read, that are checked or wait for it. Of more nothing is checked until one of
/// them is done.
const QUEUED: usize = 64;
/// Bytes that are read before it is the turn of another object.
const SLICE: u64 = 16 << 20;
/// Bytes that are read at a time: they stay in a core's cache.
const CHUNK: usize = 256 << 10;

/// What was found out about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pending,
    Whole,
    Damaged,
    /// It cannot be read, or was changed meanwhile.
    None,
}

/// The checks of one server.
#[derive(Debug)]
pub(crate) struct Integrity {
    known: Mutex<Known>,
    /// `None` if only what is found on the way counts.
    checks: Option<UnboundedSender<Job>>,
    queue: Arc<Semaphore>,
}

/// What is known of an object that is being read; more may become known meanwhile.
#[derive(Debug, Clone)]
pub(crate) enum Check {
    /// It is whole, or nothing is compared.
    Done,
    Running(Arc<Running>),
}

/// A check in the background.
#[derive(Debug)]
pub(crate) struct Running {
    verdict: watch::Sender<Verdict>,
    /// Whether a statement waits for it, or soon will.
    is_awaited: AtomicBool,
}

/// A check to be made.
#[derive(Debug)]
pub(crate) struct Job {
    version: Version,
    object: Object,
    running: Arc<Running>,
    /// Its place in the queue.
    _place: Option<OwnedSemaphorePermit>,
}

impl Drop for Job {
    /// Nobody waits for a check that is not made.
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

impl Running {
    fn is_given_up(&self) -> bool {
        *self.verdict.borrow() == Verdict::None
    }
}

impl Integrity {
    /// Checks, and those that are to be made in the background, by [`run`]. Without `beside` no object is read only
    /// to be checked.
    pub(crate) fn new(beside: bool) -> (Self, UnboundedReceiver<Job>) {
        let (checks, jobs) = unbounded_channel();
        let known = Mutex::default();
        let queue = Arc::new(Semaphore::new(QUEUED));
        (Self { known, checks: beside.then_some(checks), queue }, jobs)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before a range of an object is answered. Blocking.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the object is damaged.
    pub(crate) fn before_range(&self, object: &Object) -> io::Result<Check> {
        self.before(object, false)
    }

    /// Before a statement is evaluated over an object. Blocking.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the object is damaged.
    pub(crate) fn before_statement(&self, object: &Object) -> io::Result<Check> {
        self.before(object, true)
    }

    /// Before a whole object is answered: one that is large is compared on the way. Blocking.
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

    /// What is known of an object.
    fn recall(&self, object: &Object) -> io::Result<Check> {
        object.check_length()?;
        match Version::of(object).and_then(|version| self.known().get(&version)) {
            Some(Entry::Damaged) => Err(object.damaged()),
            Some(Entry::Running(running)) => Ok(Check::Running(running)),
            Some(Entry::Whole) | None => Ok(Check::Done),
        }
    }

    /// Compares what an object has with what was stored, and remembers the outcome.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the object is damaged.
    pub(crate) fn compare(&self, object: &Object, crc64: u64) -> io::Result<()> {
        self.judge(object, crc64);
        // Nor is what was changed by hand meanwhile any version of it.
        match Version::of(object).is_none_or(|version| version.has(crc64)) {
            true => Ok(()),
            false => Err(object.damaged()),
        }
    }

    fn before(&self, object: &Object, is_awaited: bool) -> io::Result<Check> {
        let Some(checks) = &self.checks else { return self.recall(object) };
        object.check_length()?;
        let Some(version) = Version::of(object) else { return Ok(Check::Done) };
        let mut known = self.known();
        match known.get(&version) {
            Some(Entry::Whole) => return Ok(Check::Done),
            Some(Entry::Damaged) => return Err(object.damaged()),
            Some(Entry::Running(running)) if !running.is_given_up() => {
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
            // There are only so many statements.
            true => None,
            false => match Arc::clone(&self.queue).try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => return Ok(Check::Done),
            },
        };
        let running = Arc::new(Running {
            verdict: watch::Sender::new(Verdict::Pending),
            is_awaited: AtomicBool::new(is_awaited),
        });
        // There may be no file handle left.
        let Ok(object) = object.again() else { return Ok(Check::Done) };
        let job = Job { version, object, running: Arc::clone(&running), _place: place };
        if checks.send(job).is_err() {
            // The server stops.
            return Ok(Check::Done);
        }
        known.set(version, Entry::Running(Arc::clone(&running)));
        Ok(Check::Running(running))
    }

    /// Reads all of an object.
    fn check_now(&self, object: &Object) -> io::Result<()> {
        let mut crc64 = Crc64::default();
        read(object, 0..object.size, &mut crc64)?;
        match self.judge(object, crc64.finish()) {
            Verdict::Damaged => Err(object.damaged()),
            Verdict::Pending | Verdict::Whole | Verdict::None => Ok(()),
        }
    }

    /// What an object with this checksum is, which is remembered.
    fn judge(&self, object: &Object, crc64: u64) -> Verdict {
        let Some(version) = Version::of(object) else { return Verdict::None };
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
        self.known().set(version, entry);
        verdict
    }

    /// Ends a check in the background.
    fn settle(&self, job: &Job, crc64: Option<u64>) {
        let verdict = crc64.map_or(Verdict::None, |crc64| self.judge(&job.object, crc64));
        if verdict == Verdict::None {
            self.known().remove(&job.version);
        }
        job.running.verdict.send_replace(verdict);
    }
}

impl Check {
    /// Whether the object was found to be damaged by now.
    pub(crate) fn found_damage(&self) -> bool {
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

    /// Waits until the check is made.
    pub(crate) async fn end(&self) {
        if let Self::Running(running) = self {
            // The sender is part of what is held.
            let _ = running.verdict.subscribe().wait_for(|it| *it != Verdict::Pending).await;
        }
    }
}

/// Whether the answer of a statement that has read so many bytes of an object of this size waits for all of it to
/// be checked. A short look into a large object is answered at once.
pub(crate) fn awaits(size: u64, read: u64) -> bool {
    size <= AWAITED.max(read.saturating_mul(AWAITED_OF_READ))
}

/// Reads a range of an object, or what there is of it.
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
