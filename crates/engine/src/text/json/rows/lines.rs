//! The lines of a file that begin in a part of it: a line belongs to the part that has its first byte.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use memchr::memchr;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, Result};

use crate::text::byte_observer::stream_of;

/// The number of bytes that are fetched at a time behind a part, for the end of its last line. It is DataFusion's.
const LOOKAHEAD: u64 = 16 << 10;

/// Returns the lines that begin in a range of an object. `size` is the size of the object in bytes.
///
/// # Errors
///
/// If the store returns one.
pub(super) async fn of_range(
    store: Arc<dyn ObjectStore>,
    location: Path,
    range: Range<u64>,
    size: u64,
) -> Result<BoxStream<'static, Result<Bytes>>> {
    if range.start >= range.end.min(size) {
        return Ok(stream::empty().boxed());
    }
    // The byte before the range decides whether a line begins with its first byte.
    let at = range.start.saturating_sub(1);
    let fetched = range.end.saturating_add(LOOKAHEAD).min(size);
    let bytes = fetch(&store, &location, at..fetched).await?;
    let cut = LineSplitter {
        at,
        end: if range.end >= size { u64::MAX } else { range.end },
        is_within_line: range.start > 0,
    };
    let lines = stream::try_unfold(Some((cut, bytes, fetched)), move |left| {
        let (store, location) = (Arc::clone(&store), location.clone());
        async move {
            let Some((mut cut, mut bytes, mut fetched)) = left else { return Ok(None) };
            loop {
                let Some(part) = bytes.try_next().await? else {
                    if fetched >= size {
                        return Ok(None);
                    }
                    let next = fetched..(fetched + LOOKAHEAD).min(size);
                    fetched = next.end;
                    bytes = fetch(&store, &location, next).await?;
                    continue;
                };
                let (part, is_last) = cut.pass(part);
                match (part.is_empty(), is_last) {
                    (true, true) => return Ok(None),
                    (true, false) => {}
                    (false, true) => return Ok(Some((part, None))),
                    (false, false) => return Ok(Some((part, Some((cut, bytes, fetched))))),
                }
            }
        }
    });
    Ok(lines.boxed())
}

async fn fetch(
    store: &Arc<dyn ObjectStore>,
    location: &Path,
    range: Range<u64>,
) -> Result<BoxStream<'static, Result<Bytes>>> {
    let options =
        GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
    stream_of(store.get_opts(location, options).await?.payload, range)
}

/// Cuts the bytes that arrive to the lines of a part.
struct LineSplitter {
    /// The offset of the next byte.
    at: u64,
    /// The end of the part; the maximum if the part ends with the file.
    end: u64,
    /// True while the line continues that began before the part.
    is_within_line: bool,
}

impl LineSplitter {
    /// Returns those of the bytes that belong to the part, and whether they are its last.
    fn pass(&mut self, bytes: Bytes) -> (Bytes, bool) {
        let at = self.at;
        self.at += bytes.len() as u64;
        let mut first = 0;
        if self.is_within_line {
            let Some(end) = memchr(b'\n', &bytes) else {
                return (Bytes::new(), self.at >= self.end);
            };
            first = end + 1;
            self.is_within_line = false;
            if at + first as u64 >= self.end {
                return (Bytes::new(), true);
            }
        }
        if self.at >= self.end {
            // The last line contains the last byte of the part, or ends with it.
            let last = (self.end - 1).saturating_sub(at);
            let last = usize::try_from(last).unwrap_or(usize::MAX).max(first).min(bytes.len());
            if let Some(end) = memchr(b'\n', &bytes[last..]) {
                return (bytes.slice(first..last + end + 1), true);
            }
        }
        (bytes.slice(first..), false)
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::*;

    /// However a file is cut, each line is read once.
    #[tokio::test]
    async fn each_line_belongs_to_one_part() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("a.json");
        for text in ["a\nbb\n\nccc\nd", "a\nbb\nccc\n", "abc", "\n\n", "abc\nd\n"] {
            store.put(&path, text.into()).await.unwrap();
            let size = text.len() as u64;
            for one in 0..=size {
                for two in one..=size {
                    let mut all = Vec::new();
                    for range in [0..one, one..two, two..size] {
                        let part = of_range(Arc::clone(&store), path.clone(), range, size);
                        let part: Vec<Bytes> = part.await.unwrap().try_collect().await.unwrap();
                        let part = part.concat();
                        assert!(part.is_empty() || all.is_empty() || all.ends_with(b"\n"));
                        all.extend(part);
                    }
                    assert_eq!(String::from_utf8(all).unwrap(), text, "{one}, {two}");
                }
            }
        }
    }

    #[test]
    fn bytes_may_arrive_in_any_pieces() {
        let text = Bytes::from("aa\nbbb\ncc\ndd\n");
        for piece in 1..=text.len() {
            let mut cut = LineSplitter { at: 1, end: 8, is_within_line: true };
            let mut lines = Vec::new();
            let mut rest = text.slice(1..);
            while !rest.is_empty() {
                let (part, is_last) = cut.pass(rest.split_to(piece.min(rest.len())));
                lines.extend_from_slice(&part);
                if is_last {
                    break;
                }
            }
            assert_eq!(lines, b"bbb\ncc\n", "{piece}");
        }
    }
}
