//! Decompresses an object on another thread while the decompressed bytes are evaluated.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::input::Input;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The size of a chunk in decompressed bytes, and the most chunks that wait.
const CHUNK_BYTES: usize = 256 * 1024;
const CHUNKS: usize = 4;

/// The rest of an object, decompressed by a thread. The thread ends when this is dropped, if not before.
pub(crate) struct Readahead {
    chunks: Receiver<Result<Chunk, SelectError>>,
    /// Returns the memory of consumed chunks to the thread.
    spent: SyncSender<Vec<u8>>,
    chunk: Chunk,
    /// The number of bytes consumed from the chunk.
    read: usize,
}

/// A piece of decompressed bytes.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// The number of bytes read from the object up to the end of this chunk.
    scanned: u64,
    is_last: bool,
}

impl Readahead {
    /// Starts the thread, which decompresses the input sent to the returned channel. Returns `None` if no thread can
    /// be started. `scanned` is the number of bytes of the object read before.
    pub(crate) fn start(scanned: u64) -> Option<(Self, SyncSender<Input>)> {
        let (hand, take) = sync_channel(1);
        let (sender, chunks) = sync_channel(CHUNKS);
        let (spent, memory) = sync_channel(CHUNKS);
        let work = move || {
            if let Ok(input) = take.recv() {
                decompress(input, &sender, &memory);
            }
        };
        std::thread::Builder::new().spawn(work).ok()?;
        let chunk = Chunk { scanned, ..Chunk::default() };
        Some((Self { chunks, spent, chunk, read: 0 }, hand))
    }

    /// Fills `buf`, unless the object ends before. Returns the number of bytes written.
    pub(crate) fn fill(&mut self, mut buf: &mut [u8]) -> Result<usize, SelectError> {
        let mut filled = 0;
        while !buf.is_empty() {
            let rest = &self.chunk.bytes[self.read..];
            if rest.is_empty() {
                if self.chunk.is_last {
                    break;
                }
                let next = self.chunks.recv().map_err(|_| lost())??;
                let spent = std::mem::replace(&mut self.chunk, next).bytes;
                // If the channel is full or the thread has ended, the memory is freed.
                let _ = self.spent.try_send(spent);
                self.read = 0;
                continue;
            }
            let n = rest.len().min(buf.len());
            buf[..n].copy_from_slice(&rest[..n]);
            buf = &mut buf[n..];
            self.read += n;
            filled += n;
        }
        Ok(filled)
    }

    /// Returns the number of object bytes that the current chunk and those before it were decompressed from.
    pub(crate) fn bytes_scanned(&self) -> u64 {
        self.chunk.scanned
    }
}

fn decompress(
    mut input: Input,
    chunks: &SyncSender<Result<Chunk, SelectError>>,
    memory: &Receiver<Vec<u8>>,
) {
    loop {
        let mut bytes = memory.try_recv().unwrap_or_default();
        bytes.resize(CHUNK_BYTES, 0);
        let chunk = input.fill(&mut bytes).map(|read| {
            bytes.truncate(read);
            Chunk { bytes, scanned: input.bytes_scanned(), is_last: read < CHUNK_BYTES }
        });
        let is_last = chunk.as_ref().is_ok_and(|chunk| chunk.is_last) || chunk.is_err();
        if chunks.send(chunk).is_err() || is_last {
            return;
        }
    }
}

/// Returns the error for a thread that ended early, so that the object does not seem to end here.
#[cold]
fn lost() -> SelectError {
    SelectError::new(
        SelectErrorCode::InternalError,
        "The thread that decompresses the object stopped unexpectedly; try again.",
    )
}
