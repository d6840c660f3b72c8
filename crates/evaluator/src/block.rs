//! A buffer for the current bytes of an object.

use std::ops::{Deref, DerefMut};

use sluicegate_s3select::error::SelectError;

/// A buffer that is consumed from its front. Unlike that of a `Vec`, its space after the end is not cleared before it
/// is filled again.
#[derive(Debug, Default)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    len: usize,
}

impl Block {
    /// Removes the first bytes.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.bytes.copy_within(bytes..self.len, 0);
        self.len -= bytes;
    }

    /// Appends the bytes that `fill` reads, at most `most`, and returns their number.
    pub(crate) fn fill(
        &mut self,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, SelectError>,
    ) -> Result<usize, SelectError> {
        let end = self.len + most;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let read = fill(&mut self.bytes[self.len..end])?;
        self.len += read;
        Ok(read)
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}
