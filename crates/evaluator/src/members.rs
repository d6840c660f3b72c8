//! Compressed members one after the other, read as one stream.

use std::io::{self, BufRead, Read};

/// Decompresses one member of a compressed file.
pub(crate) trait Member: Read {
    /// Where the compressed bytes come from.
    type Source: BufRead;

    /// Begins a member.
    fn begin(source: Self::Source) -> Self;

    /// The source, which is behind the member once that was read to its end.
    fn into_source(self) -> Self::Source;

    /// The source.
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

/// The members of a compressed file. Zeros may follow each of them: archives and block devices pad
/// files with them.
pub(crate) struct Members<M: Member>(State<M>);

enum State<M: Member> {
    Within(M),
    /// Behind the last member.
    Done(M::Source),
    /// Only while a member ends.
    Between,
}

impl<M: Member> Members<M> {
    /// Reads from `source`, which must begin with a member.
    pub(crate) fn new(source: M::Source) -> Self {
        Self(State::Within(M::begin(source)))
    }

    /// Where the compressed bytes come from; `None` only while one member gives way to the next.
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

/// Skips zeros; says whether anything follows.
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
