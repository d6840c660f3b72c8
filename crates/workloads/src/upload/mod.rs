//! Uploads objects while a blocking writer produces them.
//!
//! Memory is limited to a few parts per object, whatever the object's size, and an object appears complete or not at
//! all.

use std::io::{self, Write};
use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};
use futures::stream::FuturesUnordered;
use futures::{TryFutureExt, TryStreamExt};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use crate::Error;

/// The number of parts of one object that are uploaded at once.
const PARTS_IN_FLIGHT: usize = 2;

/// Returns the size of the `index`-th part of an object in bytes. S3 accepts no part but the last below 5 MiB and at
/// most 10,000 parts. Parts therefore grow slowly, so that 10,000 make 8 TiB.
fn part_bytes(index: usize) -> usize {
    (8 << 20) << (index / 1000).min(9)
}

/// A part of an object, of a size that the store accepts.
#[derive(Debug)]
struct Part {
    bytes: Bytes,
    /// The number of rows written since the previous part.
    rows: u64,
    /// True if this is the last part and no error occurred, so that the object may appear.
    last: bool,
}

/// The writer of an object's bytes, which are uploaded part by part.
#[derive(Debug)]
pub struct PartWriter {
    buffer: BytesMut,
    parts_sent: usize,
    rows: u64,
    parts: mpsc::Sender<Part>,
}

impl PartWriter {
    fn new(parts: mpsc::Sender<Part>) -> Self {
        Self { buffer: BytesMut::new(), parts_sent: 0, rows: 0, parts }
    }

    /// Counts rows, for the progress report.
    pub fn count(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// Sends a part, and waits until there is room. Fails if the upload was abandoned.
    fn send(&mut self, bytes: Bytes, last: bool) -> io::Result<()> {
        self.parts_sent += 1;
        let part = Part { bytes, rows: std::mem::take(&mut self.rows), last };
        self.parts.blocking_send(part).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends the remaining bytes as the last part.
    fn finish(mut self) -> io::Result<()> {
        let rest = self.buffer.split().freeze();
        self.send(rest, true)
    }
}

impl Write for PartWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(data);
        loop {
            let size = part_bytes(self.parts_sent);
            // The last part must not be empty, so a full buffer waits for one more byte.
            if self.buffer.len() <= size {
                return Ok(data.len());
            }
            let part = self.buffer.split_to(size).freeze();
            self.send(part, false)?;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An upload that has begun and is not complete. The store may keep parts of it, and charge for them, so it is
/// aborted in the background when dropped. [`aborted`] waits for that.
struct PendingUpload(Option<Box<dyn MultipartUpload>>, Option<Open>);

/// The number of uploads of this process that have begun and are neither complete nor aborted.
static OPEN: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));

/// Counts an upload as long as it is open.
#[derive(Debug)]
struct Open;

impl Open {
    fn begin() -> Self {
        OPEN.send_modify(|open| *open += 1);
        Self
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.send_modify(|open| *open = open.saturating_sub(1));
    }
}

/// Waits until no upload of this process is open. Uploads whose [`generate`](crate::generate) was dropped are then
/// aborted.
pub async fn aborted() {
    let mut open = OPEN.subscribe();
    // It fails only without a sender, and the sender lives as long as the process.
    drop(open.wait_for(|open| *open == 0).await);
}

impl PendingUpload {
    /// Aborts the upload and waits for that. A failed abort leaves parts to the bucket's lifecycle rules; the
    /// original error is the one to report.
    async fn abort(&mut self) {
        if let Some(mut upload) = self.0.take() {
            drop(upload.abort().await);
        }
    }
}

impl Drop for PendingUpload {
    fn drop(&mut self) {
        if let (Some(mut upload), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // The abort is detached on purpose, as the caller that dropped the upload does not wait.
            let open = self.1.take();
            drop(runtime.spawn(async move {
                drop(upload.abort().await);
                drop(open);
            }));
        }
    }
}

/// Uploads the bytes that `write` produces on a blocking thread. `on_part` is called with the rows and bytes of each
/// part that has arrived. Returns their totals.
pub(crate) async fn upload(
    store: &dyn ObjectStore,
    path: &Path,
    write: impl FnOnce(&mut PartWriter) -> io::Result<()> + Send + 'static,
    on_part: impl Fn(u64, u64),
) -> Result<(u64, u64), Error> {
    let (sender, parts) = mpsc::channel(1);
    let writer = tokio::task::spawn_blocking(move || {
        let mut writer = PartWriter::new(sender);
        write(&mut writer)?;
        writer.finish()
    });
    let mut unfinished = PendingUpload(None, Some(Open::begin()));
    match send(store, path, parts, &mut unfinished, on_part).await {
        Ok(Some(totals)) => Ok(totals),
        // The writer stopped before the last part, and its error gives the reason.
        Ok(None) => {
            unfinished.abort().await;
            let source = match writer.await {
                Ok(Err(error)) => error,
                Ok(Ok(())) => io::ErrorKind::UnexpectedEof.into(),
                Err(panicked) => io::Error::other(panicked),
            };
            Err(Error::Generate { path: path.clone(), source })
        }
        Err(source) => {
            unfinished.abort().await;
            Err(Error::Store { path: path.clone(), source })
        }
    }
}

/// Sends parts until the last one, and completes the object. Returns `None` if there is no last part.
async fn send(
    store: &dyn ObjectStore,
    path: &Path,
    mut parts: mpsc::Receiver<Part>,
    unfinished: &mut PendingUpload,
    on_part: impl Fn(u64, u64),
) -> object_store::Result<Option<(u64, u64)>> {
    let mut in_flight = FuturesUnordered::new();
    let (mut total_rows, mut total_bytes) = (0, 0);
    while let Some(Part { bytes, rows, last }) = parts.recv().await {
        let size = bytes.len() as u64;
        if last && unfinished.0.is_none() {
            store.put(path, bytes.into()).await?;
            on_part(rows, size);
            return Ok(Some((rows, size)));
        }
        let upload = match &mut unfinished.0 {
            Some(upload) => upload,
            None => unfinished.0.insert(store.put_multipart(path).await?),
        };
        in_flight.push(upload.put_part(bytes.into()).map_ok(move |()| (rows, size)));
        let may_remain = if last { 0 } else { PARTS_IN_FLIGHT - 1 };
        while in_flight.len() > may_remain {
            if let Some((rows, size)) = in_flight.try_next().await? {
                on_part(rows, size);
                total_rows += rows;
                total_bytes += size;
            }
        }
        if last {
            upload.complete().await?;
            unfinished.0 = None;
            return Ok(Some((total_rows, total_bytes)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
