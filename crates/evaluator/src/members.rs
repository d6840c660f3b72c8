//! Reads compressed members, one after the other, as one stream.

use std::io::{self, BufRead, Read};

/// Decompresses one member of a compressed file.
pub(crate) trait Member: Read {
    /// The source of the compressed bytes.
    type Source: BufRead;

    /// Begins a member at the current position of `source`.
    fn begin(source: Self::Source) -> Self;

    /// Returns the source. Once the member was read to its end, the source is positioned after it.
    fn into_source(self) -> Self::Source;

    /// Returns the source of the compressed bytes.
    fn source(&self) -> &Self::Source;
}

impl<R: BufRead> Member for flate2::bufread::GzDecoder<R> {
    type Source = R;

    fn begin(source: R) -> Self {
        Self::new(source)
    }

    fn into_source(self) -> R {
        self.into_inner()
    }

    fn source(&self) -> &R {
        self.get_ref()
    }
}

impl<R: BufRead> Member for bzip2::bufread::BzDecoder<R> {
    type Source = R;

    fn begin(source: R) -> Self {
        Self::new(source)
    }

    fn into_source(self) -> R {
        self.into_inner()
    }

    fn source(&self) -> &R {
        self.get_ref()
    }
}

/// The members of a compressed file. Each may be followed by zeros, with which archives and block devices pad files.
pub(crate) struct Members<M: Member>(State<M>);

enum State<M: Member> {
    Within(M),
    /// The last member was read.
    Done(M::Source),
    /// The temporary state while one member ends.
    Between,
}

impl<M: Member> Members<M> {
    /// Reads from `source`, which must begin with a member.
    pub(crate) fn new(source: M::Source) -> Self {
        Self(State::Within(M::begin(source)))
    }

    /// Returns the source of the compressed bytes; `None` only between two members.
    pub(crate) fn source(&self) -> Option<&M::Source> {
        match &self.0 {
            State::Within(member) => Some(member.source()),
            State::Done(source) => Some(source),
            State::Between => None,
        }
    }
}

impl<M: Member> Read for Members<M> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            let State::Within(member) = &mut self.0 else { return Ok(0) };
            let read = member.read(buf)?;
            if read > 0 {
                return Ok(read);
            }
            if let State::Within(member) = std::mem::replace(&mut self.0, State::Between) {
                let mut source = member.into_source();
                let more = skip_zeros(&mut source);
                self.0 = match more {
                    Ok(true) => State::Within(M::begin(source)),
                    Ok(false) | Err(_) => State::Done(source),
                };
                more?;
            }
        }
    }
}

/// Skips zeros and returns whether anything follows.
fn skip_zeros(source: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(false);
        }
        let zeros = bytes.iter().position(|byte| *byte != 0);
        let skipped = zeros.unwrap_or(bytes.len());
        source.consume(skipped);
        if zeros.is_some() {
            return Ok(true);
        }
    }
}
