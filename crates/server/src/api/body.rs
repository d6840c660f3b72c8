//! The bodies of answers, as streams of pieces of a file.

use std::collections::VecDeque;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use s3s::dto::StreamingBlob;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::faults::{FLUSH, Fault};
use crate::integrity::{Check, Integrity};
use crate::store::{Crc64, Object};

/// The largest chunk of a file, in bytes. Clients that read quickly get such chunks.
const CHUNK: u64 = 512 * 1024;
/// The size of the first chunk, and of every chunk for slower clients, in bytes. A few chunks stay in memory until
/// the client has read them.
const SMALL_CHUNK: u64 = 64 * 1024;
/// The time within which a quick client reads a chunk.
const QUICK: Duration = Duration::from_millis(100);

/// A part of a body: some text, or a range of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BodyChunk {
    Text(Bytes),
    Object(Range<u64>),
}

impl BodyChunk {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Object(range) => range.end - range.start,
        }
    }

    /// Splits the piece after this many bytes.
    fn split(self, at: u64) -> (Self, Self) {
        match self {
            Self::Text(text) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
                (Self::Text(text.slice(..at)), Self::Text(text.slice(at..)))
            }
            Self::Object(range) => {
                let at = range.end.min(range.start + at);
                (Self::Object(range.start..at), Self::Object(at..range.end))
            }
        }
    }
}

impl From<String> for BodyChunk {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// Removes this many bytes from the front, or all if there are fewer.
fn take(pieces: &mut VecDeque<BodyChunk>, mut bytes: u64) -> VecDeque<BodyChunk> {
    let mut taken = VecDeque::new();
    while let Some(piece) = pieces.pop_front() {
        let (first, rest) = piece.split(bytes);
        bytes -= first.length();
        if first.length() > 0 {
            taken.push_back(first);
        }
        if rest.length() > 0 {
            pieces.push_front(rest);
            break;
        }
    }
    taken
}

/// Returns a body with pieces of an object as a stream. The next chunk is read while one is sent. For a whole object,
/// the last chunk is sent only if the checksum matches. For parts, the stream ends with an error as soon as the
/// object is found to be damaged.
pub(super) fn read(
    object: Object,
    pieces: impl IntoIterator<Item = BodyChunk>,
    (integrity, check): (Arc<Integrity>, Check),
    fault: Option<Fault>,
) -> StreamingBlob {
    let mut left: VecDeque<BodyChunk> = pieces.into_iter().collect();
    let whole = left == [BodyChunk::Object(0..object.size)];
    let mut in_part = false;
    if let Some(Fault::CutBody { after } | Fault::SilentBody { after }) = fault {
        let sent = take(&mut left, after);
        in_part = !left.is_empty();
        left = sent;
    }
    let checked = (whole && !in_part).then(Crc64::default);
    let reader = Reader { object, left, checked, integrity, check };
    let reading = FileBody {
        ahead: reader.next(SMALL_CHUNK, None),
        chunk: SMALL_CHUNK,
        asked: Instant::now(),
        sent: None,
    };
    let chunks = stream::unfold(reading, |mut reading| async {
        let chunk = match reading.ahead.take()?.await {
            Ok(Ok((chunk, reader))) => {
                reading.go_on(reader, &chunk);
                Ok(chunk)
            }
            Ok(Err(e)) => Err(e),
            Err(e) => Err(io::Error::other(e)),
        };
        Some((chunk, reading))
    });
    match fault {
        Some(Fault::CutBody { .. }) if in_part => {
            let broken = stream::once(async {
                tokio::time::sleep(FLUSH).await;
                Err(io::Error::from(io::ErrorKind::ConnectionReset))
            });
            StreamingBlob::wrap(chunks.chain(broken))
        }
        Some(Fault::SilentBody { .. }) if in_part => {
            StreamingBlob::wrap(chunks.chain(stream::pending()))
        }
        Some(Fault::FlipBody { at }) => StreamingBlob::wrap(flipped(chunks, at)),
        _ => StreamingBlob::wrap(chunks),
    }
}

/// Flips one bit of the byte at an offset.
fn flipped(
    chunks: impl Stream<Item = io::Result<Bytes>>,
    at: u64,
) -> impl Stream<Item = io::Result<Bytes>> {
    let mut passed = 0;
    chunks.map_ok(move |chunk| {
        let here = usize::try_from(at - at.min(passed)).ok().filter(|_| at >= passed);
        passed += chunk.len() as u64;
        match here {
            Some(here) if here < chunk.len() => {
                let mut chunk = BytesMut::from(chunk);
                chunk[here] ^= 1 << (at % 8);
                chunk.freeze()
            }
            _ => chunk,
        }
    })
}

/// The state of a body that is being sent.
struct FileBody {
    /// The task that reads the next chunk, and returns the reader of the rest.
    ahead: Option<JoinHandle<io::Result<(Bytes, Reader)>>>,
    /// The size of the last chunk that was begun, in bytes.
    chunk: u64,
    /// The time at which the client requested the last chunk.
    asked: Instant,
    /// The last chunk, whose memory is reused once it is sent.
    sent: Option<Bytes>,
}

impl FileBody {
    /// Starts to read the next chunk, when the client has requested this one.
    fn go_on(&mut self, reader: Reader, chunk: &Bytes) {
        let is_quick = self.asked.elapsed() < QUICK;
        self.asked = Instant::now();
        self.chunk = if is_quick { CHUNK.min(2 * self.chunk) } else { SMALL_CHUNK };
        let before = self.sent.replace(chunk.clone());
        self.ahead = reader.next(self.chunk, before);
    }
}

/// The rest of a body that is still to be read.
struct Reader {
    object: Object,
    left: VecDeque<BodyChunk>,
    /// The checksum of the bytes so far, if the whole object is read.
    checked: Option<Crc64>,
    integrity: Arc<Integrity>,
    /// A check that runs at the same time.
    check: Check,
}

impl Reader {
    /// Starts to read the next chunk, if there is one. It reuses the memory of a chunk that was sent, if the size
    /// fits and nothing else refers to it.
    fn next(
        mut self,
        bytes: u64,
        sent: Option<Bytes>,
    ) -> Option<JoinHandle<io::Result<(Bytes, Self)>>> {
        let pieces = take(&mut self.left, bytes);
        if pieces.is_empty() {
            return None;
        }
        Some(spawn_blocking(move || Ok((self.read(pieces, sent)?.freeze(), self))))
    }

    fn read(&mut self, pieces: VecDeque<BodyChunk>, sent: Option<Bytes>) -> io::Result<BytesMut> {
        let wanted = pieces.iter().map(BodyChunk::length).sum::<u64>();
        let wanted = usize::try_from(wanted).map_err(io::Error::other)?;
        // New memory must be cleared, and the system maps it page by page. A chunk for a slow client does not reuse
        // the memory of a large one.
        let fits = |sent: &Bytes| (wanted..=2 * wanted).contains(&sent.len());
        let sent = sent.filter(fits).and_then(|sent| sent.try_into_mut().ok());
        let mut chunk = sent.unwrap_or_else(|| BytesMut::zeroed(wanted));
        chunk.truncate(wanted);
        let mut left = &mut chunk[..];
        for piece in pieces {
            let (now, later) =
                left.split_at_mut(usize::try_from(piece.length()).map_err(io::Error::other)?);
            match piece {
                BodyChunk::Text(text) => now.copy_from_slice(&text),
                BodyChunk::Object(range) => {
                    let mut file = &self.object.file;
                    file.seek(SeekFrom::Start(range.start))?;
                    file.read_exact(now)?;
                }
            }
            left = later;
        }
        if let Some(checked) = &mut self.checked {
            checked.update(&chunk);
        }
        if self.left.is_empty()
            && let Some(checked) = self.checked.take()
        {
            self.integrity.compare(&self.object, checked.finish())?;
        }
        match self.check.record_damage() {
            true => Err(self.object.damaged()),
            false => Ok(chunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_bit_is_flipped_wherever_chunks_begin() {
        let chunks = [&b"abc"[..], b"", b"d", b"ef"];
        for at in 0..8 {
            let chunks = stream::iter(chunks.map(|chunk| Ok(Bytes::from_static(chunk))));
            let all: Vec<Bytes> = flipped(chunks, at).try_collect().await.unwrap();
            let all = all.concat();
            let bits = all.iter().zip(b"abcdef").map(|(a, b)| (a ^ b).count_ones());
            let bits: Vec<u32> = bits.collect();
            let expected: Vec<u32> = (0..6).map(|place| u32::from(place == at)).collect();
            assert_eq!(bits, expected, "{at}");
        }
    }

    #[test]
    fn pieces_are_taken_by_bytes() {
        let text = |text: &'static str| BodyChunk::Text(Bytes::from_static(text.as_bytes()));
        let all = [text("head"), BodyChunk::Object(10..20), text(""), text("end")];
        let taken = |left: &mut VecDeque<BodyChunk>, bytes| Vec::from(take(left, bytes));
        let mut left = VecDeque::from(all);
        assert_eq!(taken(&mut left, 6), [text("head"), BodyChunk::Object(10..12)]);
        assert_eq!(taken(&mut left, 0), []);
        assert_eq!(taken(&mut left, 9), [BodyChunk::Object(12..20), text("e")]);
        assert_eq!(taken(&mut left, 9), [text("nd")]);
        assert_eq!(taken(&mut left, 9), []);
    }
}
