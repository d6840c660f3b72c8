//! The position in an answer, so that a repeated answer can continue from there.

use crate::error::{Error, Subject};
use bytes::{Buf, Bytes};

/// The maximum number of bytes of a record delimiter that are compared. S3 Select allows two characters.
const TAIL: usize = 8;

/// Counts the bytes of records received so far, and skips the same bytes of a repeated answer. Because bytes are
/// counted instead of rows, the decoder can continue within a record. A checksum detects a store that answers
/// differently the second time.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// The bytes of records passed to the decoder, over all answers.
    received: u64,
    digest: crc32fast::Hasher,
    /// The last bytes received, enough to contain a record delimiter.
    tail: Vec<u8>,
    repeating: Option<RepeatedAnswer>,
}

#[derive(Debug, Clone, Default)]
struct RepeatedAnswer {
    passed_over: u64,
    digest: crc32fast::Hasher,
}

impl Progress {
    /// Begins a repeated answer, which must start with the bytes already received.
    pub(super) fn repeat(&mut self) {
        self.repeating = (self.received > 0).then(RepeatedAnswer::default);
    }

    /// Returns the number of bytes of records received, without repetitions.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of bytes of records in the current answer.
    pub(super) fn answered(&self) -> u64 {
        self.repeating.as_ref().map_or(self.received, |repeated| repeated.passed_over)
    }

    /// Returns true if the received bytes end with a record delimiter, or if there are none.
    pub(super) fn ends_with(&self, delimiter: &[u8]) -> bool {
        self.received == 0
            || self.tail.ends_with(&delimiter[delimiter.len().saturating_sub(TAIL)..])
    }

    /// Returns the part of a payload that is new.
    pub(super) fn take(&mut self, mut payload: Bytes, subject: &Subject) -> Result<Bytes, Error> {
        if let Some(repeated) = &mut self.repeating {
            let left = self.received - repeated.passed_over;
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(payload.len());
            repeated.digest.update(&payload[..length]);
            repeated.passed_over += length as u64;
            payload.advance(length);
            if repeated.passed_over == self.received {
                if repeated.digest.clone().finalize() != self.digest.clone().finalize() {
                    return Err(differs(subject));
                }
                self.repeating = None;
            }
        }
        self.digest.update(&payload);
        self.tail.extend_from_slice(&payload[payload.len().saturating_sub(TAIL)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        self.received += payload.len() as u64;
        Ok(payload)
    }

    /// Ends the answer. A repeated one must have been at least as long as the first.
    pub(super) fn end(&self, subject: &Subject) -> Result<(), Error> {
        match self.repeating {
            None => Ok(()),
            Some(_) => Err(differs(subject)),
        }
    }
}

pub(super) fn differs(subject: &Subject) -> Error {
    subject.bad_answer("the store answered differently when the request was repeated")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject { bucket: "b".to_owned(), key: "k".to_owned() }
    }

    /// Feeds answers to a new [`Progress`] and returns the new parts of all of them. Each answer is a list of
    /// payloads, and each but the last breaks off.
    fn take(answers: &[&[&str]]) -> Result<String, Error> {
        let mut progress = Progress::default();
        let mut text = String::new();
        for answer in answers {
            progress.repeat();
            for payload in *answer {
                let new = progress.take(Bytes::copy_from_slice(payload.as_bytes()), &subject())?;
                text.push_str(std::str::from_utf8(&new).unwrap());
            }
        }
        progress.end(&subject())?;
        Ok(text)
    }

    #[test]
    fn a_repeated_answer_adds_only_what_is_new() {
        assert_eq!(take(&[&["ab", "c"]]).unwrap(), "abc");
        assert_eq!(take(&[&[], &["abc"]]).unwrap(), "abc");
        assert_eq!(take(&[&["ab"], &["a", "bc"]]).unwrap(), "abc");
        assert_eq!(take(&[&["ab"], &["a"], &["abcd"], &["abcd"]]).unwrap(), "abcd");
    }

    #[test]
    fn an_answer_that_differs_or_is_shorter_is_an_error() {
        assert!(take(&[&["ab"], &["axc"]]).is_err());
        assert!(take(&[&["ab"], &["a"]]).is_err());
    }
}
