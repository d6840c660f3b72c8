//! Decodes text and skips its first lines before it is read as CSV.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectStore, Result};

use super::encoding::{Decoder, Encoding, NotInEncoding};
use crate::context::error::{ErrorKind, UserError};
use crate::context::read_layer::{Layered, ReadLayer};
use crate::text::decompression;

/// The changes to the bytes of an object. They require whole objects: no part can be read on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Recoding {
    /// The number of lines to skip at the beginning, before the header.
    pub(crate) skip: u64,
    /// The encoding of the text.
    pub(crate) encoding: Encoding,
    /// True if the columns of the table are found by the names in the header of each file
    /// ([`by_name`](crate::text::csv::by_name)).
    pub(crate) by_name: bool,
}

impl Recoding {
    /// Returns true if the bytes have to be changed.
    pub(crate) fn is_needed(self) -> bool {
        self != Self::default()
    }

    /// Returns the number of lines to skip, and the name of the encoding, empty for UTF-8.
    pub(crate) fn as_text(self) -> (u64, String) {
        match self.encoding {
            Encoding::Utf8 => (self.skip, String::new()),
            other => (self.skip, other.to_string()),
        }
    }

    /// Reverses [`Self::as_text`]. Returns `None` if the encoding is unknown.
    pub(crate) fn from_text(skip: u64, encoding: &str) -> Option<Self> {
        let encoding = match encoding {
            "" => Encoding::Utf8,
            name => Encoding::by_name(name)?,
        };
        Some(Self { skip, encoding, by_name: false })
    }

    /// Wraps a store so that its objects are decompressed and then changed.
    pub(crate) fn read_from(
        self,
        store: Arc<dyn ObjectStore>,
        compression: FileCompressionType,
    ) -> Arc<dyn ObjectStore> {
        Arc::new(Layered::new(store, Recoded { recoding: self, compression }))
    }
}

impl fmt::Display for Recoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skip = (self.skip > 0).then(|| format!("skip={}", self.skip));
        let encoding =
            (self.encoding != Encoding::Utf8).then(|| format!("encoding={}", self.encoding));
        let by_name = self.by_name.then(|| "union_by_name".to_owned());
        let said: Vec<String> = skip.into_iter().chain(encoding).chain(by_name).collect();
        f.write_str(&said.join(", "))
    }
}

/// The hint for an object that is not text in the encoding of its table.
const OTHER_ENCODING: &str = "Name the encoding that it has: read_csv('…', encoding => 'latin-1'), 'windows-1252', 'utf-16' or 'utf-8'.";

#[derive(Debug)]
struct Recoded {
    recoding: Recoding,
    compression: FileCompressionType,
}

impl Recoded {
    /// Returns the text of an object from its bytes.
    fn text(
        &self,
        bytes: BoxStream<'static, Result<Bytes>>,
        place: &Path,
    ) -> BoxStream<'static, Result<Bytes>> {
        let bytes = decompression::text_at(self.compression, bytes, place.to_string());
        let reading = Reading {
            bytes,
            decoder: Decoder::new(self.recoding.encoding),
            lines: Lines { left: self.recoding.skip, behind_return: false },
            place: place.clone(),
        };
        stream::try_unfold(Some(reading), |reading| async move {
            let Some(mut reading) = reading else { return Ok(None) };
            match reading.bytes.try_next().await? {
                Some(bytes) => {
                    let text = reading.decoder.pass(&bytes);
                    let text = text.map_err(|error| of_store(error, &reading.place))?;
                    let text = Bytes::from(text);
                    let text = text.slice(reading.lines.left_out(&text)..);
                    Ok(Some((text, Some(reading))))
                }
                None => {
                    reading.decoder.end().map_err(|error| of_store(error, &reading.place))?;
                    Ok(None)
                }
            }
        })
        .boxed()
    }
}

fn of_store(NotInEncoding(encoding): NotInEncoding, place: &Path) -> Error {
    let source = UserError {
        kind: ErrorKind::Data,
        message: format!("`{place}` is no text in {encoding}"),
        hint: Some(OTHER_ENCODING.to_owned()),
    };
    Error::Generic { store: "encoding", source: Box::new(source) }
}

struct Reading {
    bytes: BoxStream<'static, Result<Bytes>>,
    decoder: Decoder,
    lines: Lines,
    place: Path,
}

/// Skips lines. They end as CSV lines do: with `\n`, `\r\n` or a lone `\r`.
struct Lines {
    left: u64,
    /// True if the last byte was `\r`, after which `\n` ends the same line.
    behind_return: bool,
}

impl Lines {
    /// Returns the number of these bytes that belong to skipped lines.
    fn left_out(&mut self, text: &[u8]) -> usize {
        let mut at = 0;
        if self.behind_return && !text.is_empty() {
            self.behind_return = false;
            at += usize::from(text[0] == b'\n');
        }
        while self.left > 0 {
            let Some(end) = memchr::memchr2(b'\n', b'\r', &text[at..]) else { return text.len() };
            self.left -= 1;
            at += end + 1;
            if text[at - 1] == b'\r' {
                match text.get(at) {
                    Some(next) => at += usize::from(*next == b'\n'),
                    None => self.behind_return = true,
                }
            }
        }
        at
    }
}

/// Returns a part of a text.
fn part(
    text: BoxStream<'static, Result<Bytes>>,
    range: Range<u64>,
) -> BoxStream<'static, Result<Bytes>> {
    stream::try_unfold((text, 0_u64), move |(mut text, mut at)| {
        let range = range.clone();
        async move {
            while at < range.end
                && let Some(bytes) = text.try_next().await?
            {
                let within = |place: u64| {
                    let place = place.saturating_sub(at);
                    usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len())
                };
                let wanted = bytes.slice(within(range.start)..within(range.end));
                at += bytes.len() as u64;
                if !wanted.is_empty() {
                    return Ok(Some((wanted, (text, at))));
                }
            }
            Ok(None)
        }
    })
    .boxed()
}

#[async_trait]
impl ReadLayer for Recoded {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        mut options: GetOptions,
    ) -> Result<GetResult> {
        if options.head {
            return inner.get_opts(location, options).await;
        }
        let range = options.range.take();
        let answer = inner.get_opts(location, options).await?;
        let (meta, attributes) = (answer.meta.clone(), answer.attributes.clone());
        let text = self.text(answer.into_stream(), location);
        // The sizes count bytes of the stored object; its text may be longer.
        let wanted = match &range {
            Some(GetRange::Bounded(range)) if range.end < meta.size => range.clone(),
            Some(GetRange::Bounded(range)) => range.start..u64::MAX,
            Some(GetRange::Offset(start)) => *start..u64::MAX,
            Some(GetRange::Suffix(_)) => {
                let source = "the end of a text that is decoded is not read by itself".into();
                return Err(Error::Generic { store: "encoding", source });
            }
            None => 0..u64::MAX,
        };
        let payload = GetResultPayload::Stream(part(text, wanted));
        Ok(GetResult { payload, range: 0..meta.size, meta, attributes })
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::*;

    async fn read(text: &[u8], recoding: Recoding, range: Option<Range<u64>>) -> String {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("a.csv");
        store.put(&path, text.to_vec().into()).await.unwrap();
        let read = recoding.read_from(store, FileCompressionType::UNCOMPRESSED);
        let bytes = match range {
            Some(range) => read.get_range(&path, range).await.unwrap(),
            None => read.get(&path).await.unwrap().bytes().await.unwrap(),
        };
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn lines_are_left_out_and_the_rest_is_decoded() {
        let skip = |skip| Recoding { skip, ..Recoding::default() };
        for (text, lines, expected) in [
            ("x\ny\na,b\n1,2\n", 2, "a,b\n1,2\n"),
            ("x\r\ny\r\na,b\r\n", 2, "a,b\r\n"),
            ("x\ry\ra", 2, "a"),
            ("x\n\ny\n", 2, "y\n"),
            ("x\ny", 2, ""),
            ("x", 5, ""),
            ("", 1, ""),
        ] {
            assert_eq!(read(text.as_bytes(), skip(lines), None).await, expected, "{text:?}");
        }
        let latin = Recoding { skip: 1, encoding: Encoding::Latin1, by_name: false };
        assert_eq!(read(b"\xe9\ncaf\xe9\n", latin, None).await, "café\n");
        assert_eq!(read(b"\xe9\ncaf\xe9\n", latin, Some(0..3)).await, "caf");
        assert_eq!(read(b"\xe9\ncaf\xe9\n", latin, Some(2..7)).await, "fé\n");
    }

    #[test]
    fn lines_may_be_cut_anywhere() {
        for text in ["x\r\ny\r\na", "x\ny\na", "x\ry\ra"] {
            for cut in 0..text.len() {
                let (first, second) = text.split_at(cut);
                let mut lines = Lines { left: 2, behind_return: false };
                let mut rest = first[lines.left_out(first.as_bytes())..].to_owned();
                rest += &second[lines.left_out(second.as_bytes())..];
                assert_eq!(rest, "a", "{text:?} cut at {cut}");
            }
        }
    }
}
