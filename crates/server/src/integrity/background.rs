//! Execution of checks in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinSet, spawn_blocking};

use crate::store::Crc64;

use super::{Integrity, Job, SLICE, read};

/// The number of objects that are read at the same time for statements (here) and for ranges (below).
const FOR_STATEMENTS: usize = 2;
const FOR_RANGES: usize = 1;

/// The permits of the two lanes, for which checks wait before each slice.
#[derive(Clone)]
struct Lanes {
    statements: Arc<Semaphore>,
    ranges: Arc<Semaphore>,
}

/// Runs the requested checks until the server stops.
pub(crate) async fn run(
    integrity: Arc<Integrity>,
    mut jobs: UnboundedReceiver<Job>,
    mut stopped: watch::Receiver<bool>,
) {
    let lanes = Lanes {
        statements: Arc::new(Semaphore::new(FOR_STATEMENTS)),
        ranges: Arc::new(Semaphore::new(FOR_RANGES)),
    };
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            Some(job) = jobs.recv() => {
                running.spawn(check(Arc::clone(&integrity), job, lanes.clone()));
            }
            Some(_) = running.join_next() => {}
            _ = stopped.changed() => return,
        }
    }
}

/// Checks one object slice by slice.
async fn check(integrity: Arc<Integrity>, mut job: Job, lanes: Lanes) {
    let (mut at, mut crc64) = (0, Crc64::default());
    while at < job.object.size {
        let lane = match job.running.is_awaited.load(Ordering::Relaxed) {
            true => &lanes.statements,
            false => &lanes.ranges,
        };
        // The semaphore is never closed, so it returns permits, in the order of requests.
        let _turn = lane.acquire().await;
        let range = at..job.object.size.min(at + SLICE);
        at = range.end;
        let slice = spawn_blocking(move || {
            let result = read(&job.object, range, &mut crc64);
            (result, job, crc64)
        });
        let Ok((result, same, sum)) = slice.await else { return };
        (job, crc64) = (same, sum);
        if let Err(error) = result {
            let (bucket, key) = (&job.object.bucket, &job.object.key);
            tracing::error!(bucket, key, "an object cannot be read: {error}");
            return integrity.settle(&job, None);
        }
    }
    let sum = crc64.finish();
    // This reads the object's metadata from disk.
    let _ = spawn_blocking(move || integrity.settle(&job, Some(sum))).await;
}
