//! Rewrites JSON that writes characters as two `\u` escapes, because arrow-json decodes some of them wrongly.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{DataType, Schema};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream};
use memchr::memchr;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectStore, Result};
use sluicegate_client::surrogate_pairs::SurrogatePairs;

use crate::context::read_layer::{Layered, ReadLayer};
use crate::text::byte_observer::stream_of;

/// Wraps the store of one JSON file, or a part of it, so that the text is one that arrow-json decodes correctly.
pub(crate) fn mended(store: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
    Arc::new(Layered::new(store, RepairedStream::default()))
}

/// Returns true if the text of these columns, or their names, may have such characters.
pub(crate) fn may_be_in(columns: &Schema) -> bool {
    columns.fields().iter().any(|field| is_rare(field.name()) || has_text(field.data_type()))
}

fn has_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => has_text(values),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => has_text(item.data_type()),
        // Keys of maps are text.
        DataType::Map(..) => true,
        DataType::Struct(fields) => {
            fields.iter().any(|field| is_rare(field.name()) || has_text(field.data_type()))
        }
        _ => false,
    }
}

fn is_rare(name: &str) -> bool {
    name.chars().any(|character| character > '\u{ffff}')
}

/// Rewrites the text that is read. A reader of a part of a file reads further parts until its last line ends.
#[derive(Debug, Default)]
struct RepairedStream(Arc<Mutex<Progress>>);

#[derive(Debug, Default)]
struct Progress {
    pairs: SurrogatePairs,
    /// The offset in the file up to which bytes were read.
    at: u64,
    /// True until the first line ends. The line belongs to the reader of the part before.
    is_within_line: bool,
}

impl Progress {
    /// Starts reading at an offset. Returns the number of bytes that were read before but not returned yet.
    fn begin(&mut self, start: u64) -> u64 {
        let behind = self.pairs.behind() as u64;
        if start > 0 && self.at.checked_sub(behind) == Some(start) {
            return behind;
        }
        *self = Self { at: start, is_within_line: start > 0, ..Self::default() };
        0
    }

    fn pass(&mut self, mut bytes: Bytes) -> Result<Bytes> {
        self.at += bytes.len() as u64;
        let mut line = Bytes::new();
        if self.is_within_line {
            let end = memchr(b'\n', &bytes);
            self.is_within_line = end.is_none();
            line = bytes.split_to(end.map_or(bytes.len(), |end| end + 1));
        }
        let rest = self
            .pairs
            .pass(bytes)
            .map_err(|error| Error::Generic { store: "JSON", source: Box::new(error) })?;
        if line.is_empty() || rest.is_empty() {
            return Ok(if line.is_empty() { rest } else { line });
        }
        Ok([line, rest].concat().into())
    }
}

#[async_trait]
impl ReadLayer for RepairedStream {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        mut options: GetOptions,
    ) -> Result<GetResult> {
        if options.head {
            return inner.get_opts(location, options).await;
        }
        let progress = Arc::clone(&self.0);
        let begin = |start| progress.lock().unwrap_or_else(PoisonError::into_inner).begin(start);
        match &mut options.range {
            Some(GetRange::Bounded(range)) => {
                let read = begin(range.start);
                *range = range.start + read..range.end.saturating_add(read);
            }
            None => {
                begin(0);
            }
            // Readers of JSON never request the end of a file.
            Some(_) => return inner.get_opts(location, options).await,
        }
        let answer = inner.get_opts(location, options).await?;
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let attributes = answer.attributes.clone();
        let is_last = range.end >= meta.size;
        let bytes = stream_of(answer.payload, range.clone())?;
        let bytes = stream::unfold(Some(bytes), move |bytes| {
            let progress = Arc::clone(&progress);
            async move {
                let mut bytes = bytes?;
                loop {
                    let next = bytes.next().await;
                    let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
                    return match next {
                        Some(Ok(part)) => match progress.pass(part) {
                            // Readers treat an empty piece as the end.
                            Ok(part) if part.is_empty() => continue,
                            Ok(part) => Some((Ok(part), Some(bytes))),
                            Err(error) => Some((Err(error), None)),
                        },
                        Some(Err(error)) => Some((Err(error), None)),
                        None if is_last => {
                            let rest = progress.pairs.finish();
                            (!rest.is_empty()).then_some((Ok(rest), None))
                        }
                        None => None,
                    };
                }
            }
        });
        let payload = GetResultPayload::Stream(bytes.boxed());
        Ok(GetResult { payload, meta, range, attributes })
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt as _, PutPayload};

    use super::*;

    /// The number of bytes that DataFusion's reader requests at a time beyond the end of a part.
    const LOOKAHEAD: u64 = 16 << 10;

    /// Returns the lines of a part of a file, as DataFusion's JSON reader cuts it.
    async fn lines(text: &str, part: std::ops::Range<u64>) -> String {
        let (store, path) = (Arc::new(InMemory::new()), Path::from("a.json"));
        store.put(&path, PutPayload::from(text.to_owned())).await.unwrap();
        let (store, size) = (mended(store), text.len() as u64);
        let start = part.start.saturating_sub(1);
        let mut read = Vec::new();
        let mut end = (part.end + LOOKAHEAD).min(size);
        loop {
            let next = start + read.len() as u64..end;
            let more = store.get_range(&path, next.clone()).await;
            let more = if next.is_empty() { Bytes::new() } else { more.unwrap() };
            assert!(!more.is_empty() || next.is_empty());
            read.extend_from_slice(&more);
            let position = start + read.len() as u64;
            let behind = (part.end - 1).saturating_sub(start) as usize;
            let line_end = read.get(behind..).and_then(|rest| memchr(b'\n', rest));
            if let Some(line_end) = line_end.filter(|_| part.end < size) {
                read.truncate(behind + line_end + 1);
                break;
            }
            if position >= size {
                break;
            }
            end = (position + LOOKAHEAD).min(size);
        }
        let first = match part.start {
            0 => 0,
            _ => memchr(b'\n', &read).map_or(read.len(), |end| end + 1),
        };
        String::from_utf8(read.split_off(first)).unwrap()
    }

    /// Parts end where their last lines do; for these a reader reads on in pieces of 16 KiB.
    #[tokio::test]
    async fn parts_have_the_same_lines_as_the_whole() {
        let long = "\\ud840\\udc00".repeat(3000);
        let text = format!("{{\"a\":\"{long}\"}}\n{{\"a\":\"x\\ud840\\udc00\"}}\n").repeat(3);
        let size = text.len() as u64;
        let whole = lines(&text, 0..size).await;
        assert_eq!(whole.matches('\u{20000}').count(), 9003);
        assert_eq!(whole.len(), text.len());
        for cuts in [vec![5], vec![1, 7, 36_020, 36_040], vec![19_000, 20_001, 80_002]] {
            let mut read = String::new();
            let ends = cuts.iter().copied().chain([size]);
            let mut start = 0;
            for end in ends {
                read += &lines(&text, start..end).await;
                start = end;
            }
            assert!(read == whole, "{cuts:?}: {} of {} bytes", read.len(), whole.len());
        }
    }

    #[test]
    fn only_text_has_them() {
        use arrow::datatypes::Field;
        let one = |name: &str, data_type| Schema::new(vec![Field::new(name, data_type, true)]);
        assert!(may_be_in(&one("a", DataType::new_list(DataType::Utf8View, true))));
        assert!(may_be_in(&one("\u{20000}", DataType::Int64)));
        assert!(!may_be_in(&one("a", DataType::new_list(DataType::Float64, true))));
    }
}
