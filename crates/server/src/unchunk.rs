//! Bodies in `aws-chunked` form, for servers that check no signatures.
//!
//! With a signature `s3s` takes such bodies apart and checks them; without one it passes them on
//! unchanged. The form: `<size in hex>[;chunk-signature=…]\r\n<bytes>\r\n` until a size of 0, then
//! trailers. Signatures and trailers are skipped.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use futures::Stream;
use s3s::stream::{ByteStream, DynByteStream};
use s3s::{Body, StdError};

/// The longest line between chunks: a size and a signature.
const MAX_LINE: usize = 1024;

/// The bytes inside of a chunked body.
pub(crate) fn unchunk(body: Body) -> Body {
    let body: DynByteStream = Box::pin(body);
    let inside: DynByteStream =
        Box::pin(Unchunk { body, buffer: BytesMut::new(), state: State::Size });
    Body::from(inside)
}

struct Unchunk {
    body: DynByteStream,
    buffer: BytesMut,
    state: State,
}

enum State {
    /// Before the line with a chunk's size.
    Size,
    /// Inside a chunk, this many bytes before its end.
    Data(usize),
    /// Between a chunk's bytes and its line break.
    Break,
    /// Behind the last chunk.
    Trailers,
}

fn malformed() -> StdError {
    io::Error::new(io::ErrorKind::InvalidData, "a malformed chunk").into()
}

/// The size that a line gives, without its line break.
fn size(line: &[u8]) -> Result<usize, StdError> {
    let line = std::str::from_utf8(line).map_err(|_| malformed())?;
    let digits = line.split(';').next().unwrap_or_default();
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let size = usize::from_str_radix(digits, 16).ok().filter(|_| plain);
    size.ok_or_else(malformed)
}

impl Unchunk {
    /// The next bytes that are in the buffer already.
    fn take(&mut self) -> Result<Option<Bytes>, StdError> {
        loop {
            match self.state {
                State::Size => {
                    let Some(end) = self.buffer.windows(2).position(|w| w == b"\r\n") else {
                        let too_long = self.buffer.len() > MAX_LINE;
                        return if too_long { Err(malformed()) } else { Ok(None) };
                    };
                    let size = size(&self.buffer[..end])?;
                    self.buffer.advance(end + 2);
                    self.state = if size == 0 { State::Trailers } else { State::Data(size) };
                }
                State::Data(size) => {
                    if self.buffer.is_empty() {
                        return Ok(None);
                    }
                    let chunk = self.buffer.split_to(size.min(self.buffer.len())).freeze();
                    let rest = size - chunk.len();
                    self.state = if rest == 0 { State::Break } else { State::Data(rest) };
                    return Ok(Some(chunk));
                }
                State::Break => {
                    if self.buffer.len() < 2 {
                        return Ok(None);
                    }
                    if !self.buffer.starts_with(b"\r\n") {
                        return Err(malformed());
                    }
                    self.buffer.advance(2);
                    self.state = State::Size;
                }
                State::Trailers => {
                    self.buffer.clear();
                    return Ok(None);
                }
            }
        }
    }
}

impl Stream for Unchunk {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match self.take() {
                Ok(Some(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                Ok(None) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            match ready!(self.body.as_mut().poll_next(cx)) {
                Some(Ok(bytes)) => self.buffer.extend_from_slice(&bytes),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None if matches!(self.state, State::Trailers) => return Poll::Ready(None),
                None => {
                    let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Poll::Ready(Some(Err(cut.into())));
                }
            }
        }
    }
}

impl ByteStream for Unchunk {}

#[cfg(test)]
mod tests {
    use super::*;

    use futures::{StreamExt as _, executor::block_on};

    /// The result if the body arrives in pieces of this many bytes.
    fn read(text: &str, piece: usize) -> Option<String> {
        let pieces: Vec<_> = text
            .as_bytes()
            .chunks(piece)
            .map(|c| Ok::<_, io::Error>(Bytes::copy_from_slice(c)))
            .collect();
        let body = s3s::dto::StreamingBlob::wrap(futures::stream::iter(pieces));
        let mut inside: DynByteStream = Box::pin(unchunk(Body::from(body)));
        let mut bytes = Vec::new();
        while let Some(item) = block_on(inside.next()) {
            bytes.extend_from_slice(&item.ok()?);
        }
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn chunks_are_joined_however_they_arrive() {
        let text = "5;chunk-signature=abc\r\nhello\r\n7\r\n, wor\r\n\r\n2\r\nld\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        for piece in 1..text.len() + 1 {
            assert_eq!(read(text, piece).as_deref(), Some("hello, wor\r\nld"), "{piece}");
        }
        assert_eq!(read("0\r\n\r\n", 3).as_deref(), Some(""));
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for text in
            ["5\r\nhel", "5\r\nhello", "x\r\n", "+5\r\nhello\r\n0\r\n", "5\r\nhelloXX0\r\n", ""]
        {
            assert_eq!(read(text, 2), None, "{text:?}");
        }
        assert_eq!(read(&"1".repeat(3000), 100), None);
    }
}
