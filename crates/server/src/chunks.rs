//! Bodies in `aws-chunked` form: `<size in hex>[;chunk-signature=…]\r\n<bytes>\r\n` until a size of 0, then trailers.
//!
//! `s3s` decodes such bodies and keeps each chunk in memory until it is complete, whatever its size. This module
//! therefore splits unsigned chunks into small ones. A signature covers a whole chunk, so long signed chunks are
//! refused instead. Without keys to check signatures with, `s3s` does not decode such bodies. This module then
//! decodes them, skips the signatures and keeps the trailers.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use futures::Stream;
use http::{HeaderMap, HeaderName, HeaderValue};
use s3s::stream::{ByteStream, DynByteStream};
use s3s::{Body, StdError};

use crate::request_body::{BodyFault, BodyState};

/// The maximum length of a line between chunks, with a size and a signature, in bytes.
const MAX_LINE: usize = 1024;
/// The maximum length of the trailers, in bytes.
const MAX_TRAILERS: usize = 4096;
/// The maximum length of a signed chunk, in bytes. Clients send 64 KiB to 1 MiB.
const MAX_SIGNED_CHUNK: usize = 4 << 20;

/// The form into which a chunked body is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkSigning {
    /// A body without chunks.
    Joined,
    /// Unsigned chunks, split as they arrive.
    Divided,
    /// The original chunks. Long ones are refused.
    Bounded,
}

/// Converts a chunked body to another form.
pub(crate) fn chunks(body: Body, form: ChunkSigning, state: BodyState) -> Body {
    let body: DynByteStream = Box::pin(body);
    let (buffer, ready) = (BytesMut::new(), VecDeque::new());
    let inside: DynByteStream =
        Box::pin(Chunks { body, form, state, buffer, ready, place: ChunkState::Size });
    Body::from(inside)
}

struct Chunks {
    body: DynByteStream,
    form: ChunkSigning,
    state: BodyState,
    buffer: BytesMut,
    /// Converted pieces that have not been returned yet.
    ready: VecDeque<Bytes>,
    place: ChunkState,
}

enum ChunkState {
    /// Before the line with a chunk's size.
    Size,
    /// Inside a chunk, with this many bytes left.
    Data(usize),
    /// Between a chunk's bytes and its line break.
    Break,
    /// After the last chunk.
    Trailers,
}

fn malformed() -> StdError {
    io::Error::new(io::ErrorKind::InvalidData, "a malformed chunk").into()
}

/// Parses the size in a line without its line break.
fn size(line: &[u8]) -> Result<usize, StdError> {
    let line = std::str::from_utf8(line).map_err(|_| malformed())?;
    let digits = line.split(';').next().unwrap_or_default();
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let size = usize::from_str_radix(digits, 16).ok().filter(|_| plain);
    size.ok_or_else(malformed)
}

/// Parses the headers after the last chunk.
fn trailers(text: &[u8]) -> Result<HeaderMap, StdError> {
    let mut headers = HeaderMap::new();
    let text = std::str::from_utf8(text).map_err(|_| malformed())?;
    let mut lines = text.lines();
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or_else(malformed)?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| malformed())?;
        headers.append(name, HeaderValue::from_str(value.trim()).map_err(|_| malformed())?);
    }
    if lines.next().is_some() { Err(malformed()) } else { Ok(headers) }
}

impl Chunks {
    /// Converts the next piece in the buffer; `false` if that needs more bytes.
    fn take(&mut self) -> Result<bool, StdError> {
        match self.place {
            ChunkState::Size => {
                let Some(end) = self.buffer.windows(2).position(|w| w == b"\r\n") else {
                    let too_long = self.buffer.len() > MAX_LINE;
                    return if too_long { Err(malformed()) } else { Ok(false) };
                };
                let line = self.buffer.split_to(end + 2).freeze();
                let size = size(&line[..end])?;
                if self.form == ChunkSigning::Bounded {
                    if size > MAX_SIGNED_CHUNK {
                        let limit = MAX_SIGNED_CHUNK;
                        return Err(self.state.set(BodyFault::ChunkTooLong { limit }));
                    }
                    self.ready.push_back(line);
                } else if self.form == ChunkSigning::Divided && size == 0 {
                    self.ready.push_back(Bytes::from_static(b"0\r\n"));
                }
                self.place = if size == 0 { ChunkState::Trailers } else { ChunkState::Data(size) };
            }
            ChunkState::Data(size) => {
                if self.buffer.is_empty() {
                    return Ok(false);
                }
                let piece = self.buffer.split_to(size.min(self.buffer.len())).freeze();
                let rest = size - piece.len();
                if self.form == ChunkSigning::Divided {
                    self.ready.push_back(format!("{:x}\r\n", piece.len()).into());
                    self.ready.push_back(piece);
                    self.ready.push_back(Bytes::from_static(b"\r\n"));
                } else {
                    self.ready.push_back(piece);
                }
                self.place = if rest == 0 { ChunkState::Break } else { ChunkState::Data(rest) };
            }
            ChunkState::Break => {
                if self.buffer.len() < 2 {
                    return Ok(false);
                }
                if !self.buffer.starts_with(b"\r\n") {
                    return Err(malformed());
                }
                self.buffer.advance(2);
                if self.form == ChunkSigning::Bounded {
                    self.ready.push_back(Bytes::from_static(b"\r\n"));
                }
                self.place = ChunkState::Size;
            }
            ChunkState::Trailers if self.form == ChunkSigning::Joined => {
                let too_long = self.buffer.len() > MAX_TRAILERS;
                return if too_long { Err(malformed()) } else { Ok(false) };
            }
            ChunkState::Trailers => {
                let trailers = self.buffer.split().freeze();
                if trailers.is_empty() {
                    return Ok(false);
                }
                self.ready.push_back(trailers);
            }
        }
        Ok(true)
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(bytes)));
            }
            match self.take() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            match ready!(self.body.as_mut().poll_next(cx)) {
                Some(Ok(bytes)) => self.buffer.extend_from_slice(&bytes),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None if matches!(self.place, ChunkState::Trailers) => {
                    if self.form == ChunkSigning::Joined {
                        match trailers(&self.buffer.split()) {
                            Ok(trailers) => self.state.follow(trailers),
                            Err(error) => return Poll::Ready(Some(Err(error))),
                        }
                    }
                    return Poll::Ready(None);
                }
                None => {
                    let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Poll::Ready(Some(Err(cut.into())));
                }
            }
        }
    }
}

impl ByteStream for Chunks {}

#[cfg(test)]
mod tests {
    use super::*;

    use futures::{StreamExt as _, executor::block_on};

    /// Converts a body that arrives in pieces of this many bytes.
    fn read(text: &str, piece: usize, form: ChunkSigning) -> Result<String, String> {
        let pieces: Vec<_> = text
            .as_bytes()
            .chunks(piece)
            .map(|c| Ok::<_, io::Error>(Bytes::copy_from_slice(c)))
            .collect();
        let body = s3s::dto::StreamingBlob::wrap(futures::stream::iter(pieces));
        let mut inside: DynByteStream =
            Box::pin(chunks(Body::from(body), form, BodyState::default()));
        let mut bytes = Vec::new();
        while let Some(item) = block_on(inside.next()) {
            bytes.extend_from_slice(&item.map_err(|e| e.to_string())?);
        }
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn chunks_are_the_same_bytes_in_every_form_however_they_arrive() {
        let text = "5;chunk-signature=abc\r\nhello\r\n7\r\n, wor\r\n\r\n2\r\nld\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        let inside = "hello, wor\r\nld";
        for piece in 1..text.len() + 1 {
            assert_eq!(read(text, piece, ChunkSigning::Joined).as_deref(), Ok(inside), "{piece}");
            assert_eq!(read(text, piece, ChunkSigning::Bounded).as_deref(), Ok(text), "{piece}");
            let divided = read(text, piece, ChunkSigning::Divided).unwrap();
            assert_eq!(read(&divided, 7, ChunkSigning::Joined).as_deref(), Ok(inside), "{piece}");
            assert!(divided.ends_with("0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n"), "{divided}");
            assert!(!divided.contains("chunk-signature"), "{divided}");
        }
        assert_eq!(read("0\r\n\r\n", 3, ChunkSigning::Joined).as_deref(), Ok(""));
    }

    #[test]
    fn long_chunks_are_divided_and_signed_ones_refused() {
        let text = "ffffffff\r\n0123456789abcdef";
        // A body that is cut off is an error, but only after the received bytes were returned.
        assert!(read(text, 8, ChunkSigning::Divided).unwrap_err().contains("end of file"));
        assert!(
            read(text, 8, ChunkSigning::Bounded).unwrap_err().contains("at most 4194304 bytes")
        );
        let most = format!("{MAX_SIGNED_CHUNK:x}\r\n");
        assert!(read(&most, 8, ChunkSigning::Bounded).unwrap_err().contains("end of file"));
        let divided = "10\r\n0123456789abcdef\r\n0\r\n\r\n";
        let small = "8\r\n01234567\r\n8\r\n89abcdef\r\n0\r\n\r\n";
        let (head, tail) = divided.split_at(12);
        let body = futures::stream::iter([head, tail].map(|s| Ok::<_, io::Error>(Bytes::from(s))));
        let body = Body::from(s3s::dto::StreamingBlob::wrap(body));
        let body: DynByteStream =
            Box::pin(chunks(body, ChunkSigning::Divided, BodyState::default()));
        let pieces = block_on(body.map(Result::unwrap).collect::<Vec<_>>()).concat();
        assert_eq!(String::from_utf8(pieces).unwrap(), small);
    }

    #[test]
    fn trailers_of_joined_chunks_are_kept() {
        for (text, name, value) in [
            ("x-amz-checksum-crc32:AAAAAA==\r\n\r\n", "x-amz-checksum-crc32", Some("AAAAAA==")),
            ("X-Amz-A : b\r\nc:d", "x-amz-a", Some("b")),
            ("\r\n", "x-amz-a", None),
            ("", "x-amz-a", None),
        ] {
            let state = BodyState::default();
            let body = Body::from(Bytes::from(format!("1\r\na\r\n0\r\n{text}")));
            let mut joined: DynByteStream =
                Box::pin(chunks(body, ChunkSigning::Joined, state.clone()));
            while let Some(item) = block_on(joined.next()) {
                assert_eq!(item.unwrap(), "a");
            }
            let found = state.trailers().unwrap().get(name);
            assert_eq!(found.map(HeaderValue::as_bytes), value.map(str::as_bytes), "{text:?}");
        }
        let long = format!("0\r\na:{}\r\n\r\n", "b".repeat(MAX_TRAILERS));
        for text in ["0\r\nbroken\r\n\r\n", "0\r\na:b\r\n\r\nc:d\r\n", "0\r\na b:c\r\n\r\n", &*long]
        {
            assert!(read(text, 100, ChunkSigning::Joined).is_err(), "{text:?}");
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for text in
            ["5\r\nhel", "5\r\nhello", "x\r\n", "+5\r\nhello\r\n0\r\n", "5\r\nhelloXX0\r\n", ""]
        {
            for form in [ChunkSigning::Joined, ChunkSigning::Divided, ChunkSigning::Bounded] {
                assert!(read(text, 2, form).is_err(), "{text:?}");
            }
        }
        assert!(read(&"1".repeat(3000), 100, ChunkSigning::Joined).is_err());
    }
}
