//! Decompresses an object on a thread of its own, while what is decompressed is evaluated.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::input::Input;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// Decompressed bytes of a chunk, and how many of them wait at most.
const CHUNK_BYTES: usize = 256 * 1024;
const CHUNKS: usize = 4;

/// The rest of an object, decompressed by a thread that ends when this is dropped, at the latest.
pub(crate) struct Ahead {
    chunks: Receiver<Result<Chunk, SelectError>>,
    /// Takes back the memory of chunks that were read.
    spent: SyncSender<Vec<u8>>,
    chunk: Chunk,
    /// How much of the chunk was read.
    read: usize,
}

/// What was decompressed at once.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Bytes of the object read so far.
    scanned: u64,
    is_last: bool,
}

impl Ahead {
    /// Starts the thread, if there can be one; it decompresses what it is then handed. `scanned`
    /// says how many bytes of the object were read before.
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

    /// Fills `buf` as far as the object goes.
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
                // Where there is no room for it, or the thread has ended, it is freed.
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

    /// Bytes of the object that led to what was read.
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

/// The thread ended without being told to: the object must not seem to end here.
#[cold]
fn lost() -> SelectError {
    SelectError::new(
        SelectErrorCode::InternalError,
        "The thread that decompresses the object stopped unexpectedly; try again.",
    )
}
