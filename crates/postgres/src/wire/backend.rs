//! The messages of the server.

use bytes::{BufMut, BytesMut};

use crate::error::{Severity, SqlError};
use crate::types::{Format, PgType};

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: PgType,
    /// The modifier of its type, such as the digits of `numeric(12,2)`; -1 without one.
    pub modifier: i32,
}

/// The state of the transaction, as clients are informed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transaction {
    /// No transaction block.
    Idle,
    /// In a transaction block.
    Open,
    /// In a transaction block that has failed.
    Failed,
}

/// Appends a message, whose body `write` appends.
pub fn message(out: &mut BytesMut, kind: u8, write: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_u8(kind);
    out.put_i32(0);
    write(out);
    finish(out, start);
}

/// Sets the length of a message that begins at `start`.
pub fn finish(out: &mut BytesMut, start: usize) {
    let length = u32::try_from(out.len() - start - 1).unwrap_or(u32::MAX);
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

/// Appends a text with its zero byte. Zero bytes within the text would end it, so they are left out.
pub fn text(out: &mut BytesMut, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.put_u8(0);
}

fn count(out: &mut BytesMut, count: usize) {
    out.put_u16(u16::try_from(count).unwrap_or(u16::MAX));
}

/// Appends a step of an authentication: 0 is success, 10 to 12 are steps of SASL.
pub fn authentication(out: &mut BytesMut, code: i32, data: &[u8]) {
    message(out, b'R', |out| {
        out.put_i32(code);
        out.put_slice(data);
    });
}

/// Appends a setting, as clients are informed about.
pub fn parameter_status(out: &mut BytesMut, name: &str, value: &str) {
    message(out, b'S', |out| {
        text(out, name);
        text(out, value);
    });
}

/// Appends the key with which other connections can stop statements.
pub fn key_data(out: &mut BytesMut, session: i32, secret: i32) {
    message(out, b'K', |out| {
        out.put_i32(session);
        out.put_i32(secret);
    });
}

/// Appends the newest minor version that the server speaks, with the options that it does not know.
pub fn negotiate_version(out: &mut BytesMut, unknown: &[&str]) {
    message(out, b'v', |out| {
        // PostgreSQL sends the whole version here.
        out.put_i32(3 << 16);
        out.put_i32(i32::try_from(unknown.len()).unwrap_or(0));
        unknown.iter().for_each(|name| text(out, name));
    });
}

/// Appends that the server is ready.
pub fn ready(out: &mut BytesMut, transaction: Transaction) {
    message(out, b'Z', |out| {
        out.put_u8(match transaction {
            Transaction::Idle => b'I',
            Transaction::Open => b'T',
            Transaction::Failed => b'E',
        });
    });
}

/// Appends the columns of an answer.
pub fn row_description(out: &mut BytesMut, columns: &[Column], formats: &[Format]) {
    message(out, b'T', |out| {
        count(out, columns.len());
        for (index, column) in columns.iter().enumerate() {
            text(out, &column.name);
            out.put_i32(0);
            out.put_i16(0);
            out.put_u32(column.kind.oid());
            out.put_i16(column.kind.size());
            out.put_i32(column.modifier);
            out.put_i16(formats.get(index).map_or(0, |format| format.code()));
        }
    });
}

/// Appends the types of parameters.
pub fn parameter_description(out: &mut BytesMut, kinds: &[PgType]) {
    message(out, b't', |out| {
        count(out, kinds.len());
        kinds.iter().for_each(|kind| out.put_u32(kind.oid()));
    });
}

/// Appends the end of a statement.
pub fn command_complete(out: &mut BytesMut, tag: &str) {
    message(out, b'C', |out| text(out, tag));
}

/// Appends a message without a body.
pub fn empty(out: &mut BytesMut, kind: u8) {
    message(out, kind, |_| ());
}

/// Appends the beginning of a COPY to the client.
pub fn copy_out(out: &mut BytesMut, format: Format, columns: usize) {
    message(out, b'H', |out| {
        out.put_u8(u8::from(format == Format::Binary));
        count(out, columns);
        (0..columns).for_each(|_| out.put_i16(format.code()));
    });
}

/// Appends an error.
pub fn error(out: &mut BytesMut, error: &SqlError) {
    let severity = match error.severity {
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
    };
    message(out, b'E', |out| {
        let mut field = |kind: u8, value: &str| {
            out.put_u8(kind);
            text(out, value);
        };
        field(b'S', severity);
        field(b'V', severity);
        field(b'C', error.code);
        field(b'M', &error.message);
        if let Some(hint) = &error.hint {
            field(b'H', hint);
        }
        if let Some(position) = error.position {
            field(b'P', &position.to_string());
        }
        out.put_u8(0);
    });
}

/// Appends a notice.
pub fn notice(out: &mut BytesMut, severity: &str, code: &str, words: &str) {
    message(out, b'N', |out| {
        for (kind, value) in [(b'S', severity), (b'V', severity), (b'C', code), (b'M', words)] {
            out.put_u8(kind);
            text(out, value);
        }
        out.put_u8(0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Scalar;

    #[test]
    fn messages_have_their_length() {
        let mut out = BytesMut::new();
        ready(&mut out, Transaction::Failed);
        assert_eq!(out[..], *b"Z\0\0\0\x05E");
        out.clear();
        parameter_status(&mut out, "a", "b\0c");
        assert_eq!(out[..], *b"S\0\0\0\x09a\0bc\0");
        out.clear();
        let column = Column { name: "n".to_owned(), kind: Scalar::Int4.into(), modifier: -1 };
        row_description(&mut out, &[column], &[Format::Binary]);
        let expected = b"T\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
        assert_eq!(out[..], *expected);
    }

    #[test]
    fn errors_have_all_fields() {
        let mut out = BytesMut::new();
        error(&mut out, &SqlError::new("42601", "no").with_hint("yes").at(3));
        assert_eq!(out[5..], *b"SERROR\0VERROR\0C42601\0Mno\0Hyes\0P3\0\0");
    }
}
