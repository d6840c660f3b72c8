//! Reads the fields of a message.

use bytes::{Buf, Bytes};

use crate::error::SqlError;

/// The fields of a message that are still to be read.
#[derive(Debug, Clone)]
pub struct Fields {
    rest: Bytes,
}

impl Fields {
    /// Begins to read a message.
    #[must_use]
    pub const fn new(message: Bytes) -> Self {
        Self { rest: message }
    }

    /// Reads a byte.
    ///
    /// # Errors
    ///
    /// If the message ends before.
    pub fn byte(&mut self) -> Result<u8, SqlError> {
        self.rest.try_get_u8().map_err(|_| short())
    }

    /// Reads a number of two bytes.
    ///
    /// # Errors
    ///
    /// If the message ends before.
    pub fn int16(&mut self) -> Result<i16, SqlError> {
        self.rest.try_get_i16().map_err(|_| short())
    }

    /// Reads a number of four bytes.
    ///
    /// # Errors
    ///
    /// If the message ends before.
    pub fn int32(&mut self) -> Result<i32, SqlError> {
        self.rest.try_get_i32().map_err(|_| short())
    }

    /// Reads the number of a type.
    ///
    /// # Errors
    ///
    /// If the message ends before.
    pub fn oid(&mut self) -> Result<u32, SqlError> {
        self.rest.try_get_u32().map_err(|_| short())
    }

    /// Reads a count of items, each of which takes at least `least` bytes of the rest.
    ///
    /// # Errors
    ///
    /// If the message cannot have so many.
    pub fn count(&mut self, least: usize) -> Result<usize, SqlError> {
        // The count is unsigned: PostgreSQL allows 65,535 parameters.
        let count = usize::from(self.rest.try_get_u16().map_err(|_| short())?);
        match count * least <= self.rest.len() {
            true => Ok(count),
            false => Err(short()),
        }
    }

    /// Reads a text that ends with a zero byte.
    ///
    /// # Errors
    ///
    /// If there is no zero byte, or the text is not UTF-8.
    pub fn text(&mut self) -> Result<String, SqlError> {
        let end = self.rest.iter().position(|byte| *byte == 0).ok_or_else(short)?;
        let text = self.rest.split_to(end);
        self.rest.advance(1);
        match std::str::from_utf8(&text) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(SqlError::protocol("a text in a message is not valid UTF-8")),
        }
    }

    /// Reads so many bytes.
    ///
    /// # Errors
    ///
    /// If the message ends before.
    pub fn bytes(&mut self, length: usize) -> Result<Bytes, SqlError> {
        match length <= self.rest.len() {
            true => Ok(self.rest.split_to(length)),
            false => Err(short()),
        }
    }

    /// Returns what is left.
    #[must_use]
    pub fn rest(self) -> Bytes {
        self.rest
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    ///
    /// If something is.
    pub fn end(self) -> Result<(), SqlError> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(SqlError::protocol("a message is longer than its fields")),
        }
    }
}

fn short() -> SqlError {
    SqlError::protocol("a message ends before its last field")
}
