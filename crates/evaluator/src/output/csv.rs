//! Rows as delimited text.

use super::{Item, nested_in_csv};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{CsvOutput, QuoteFields};
use sluicegate_s3select::value::Value;

#[derive(Debug)]
pub(super) struct CsvWriter {
    field_delimiter: Vec<u8>,
    record_delimiter: Vec<u8>,
    quote: Vec<u8>,
    escape: Vec<u8>,
    always: bool,
    /// Bytes that may make a field need quotes, when it holds one.
    special: [bool; 256],
    fields: usize,
}

impl CsvWriter {
    pub(super) fn new(options: &CsvOutput) -> Result<Self, SelectError> {
        let invalid = |message: &'static str| {
            SelectError::new(SelectErrorCode::InvalidRequestParameter, message)
        };
        if options.field_delimiter.chars().count() != 1 {
            return Err(invalid("The output's FieldDelimiter must be one character."));
        }
        if !(1..=2).contains(&options.record_delimiter.chars().count()) {
            return Err(invalid("The output's RecordDelimiter must be one or two characters."));
        }
        let quote = options.quote.to_string().into_bytes();
        let escape = options.quote_escape.to_string().into_bytes();
        let mut special = [false; 256];
        let firsts = [options.field_delimiter.as_bytes()[0], quote[0], escape[0], b'\n', b'\r'];
        for byte in firsts.iter().chain(options.record_delimiter.as_bytes()) {
            special[usize::from(*byte)] = true;
        }
        Ok(Self {
            field_delimiter: options.field_delimiter.clone().into_bytes(),
            record_delimiter: options.record_delimiter.clone().into_bytes(),
            quote,
            escape,
            always: options.quote_fields == QuoteFields::Always,
            special,
            fields: 0,
        })
    }

    pub(super) fn begin(&mut self) {
        self.fields = 0;
    }

    #[inline]
    pub(super) fn put(&mut self, item: Item<'_>, out: &mut Vec<u8>) -> Result<(), SelectError> {
        if self.fields > 0 {
            out.extend_from_slice(&self.field_delimiter);
        }
        self.fields += 1;
        match item {
            Item::Text(text) => self.put_text(text, out),
            Item::Value(Value::String(text)) => self.put_text(text.as_bytes(), out),
            Item::Value(value @ (Value::List(_) | Value::Struct(_))) => {
                return Err(nested_in_csv(value));
            }
            // A number's own characters may be the delimiters; then it needs quotes as well.
            Item::Value(value) => self.put_plain(out, |out| value.write(out)),
            Item::Int(int) => self.put_plain(out, |out| {
                out.extend_from_slice(itoa::Buffer::new().format(int).as_bytes());
            }),
        }
        Ok(())
    }

    /// See [`super::RowWriter::put_row`].
    #[inline]
    pub(super) fn put_row(&mut self, row: &[u8], delimiter: &[u8], out: &mut Vec<u8>) -> bool {
        let [special] = self.quote[..] else { return false };
        let ordinary = !self.always
            && self.escape == self.quote
            && self.field_delimiter == delimiter
            && self.record_delimiter == b"\n"
            && memchr::memchr3(special, b'\n', b'\r', row).is_none();
        if ordinary {
            out.extend_from_slice(row);
            self.fields = 2;
        }
        ordinary
    }

    fn put_plain(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        write(out);
        if self.always || out[start..].iter().any(|byte| self.special[usize::from(*byte)]) {
            let text = out.split_off(start);
            self.put_text(&text, out);
        }
    }

    #[inline]
    fn put_text(&self, text: &[u8], out: &mut Vec<u8>) {
        if self.always || text.iter().any(|byte| self.special[usize::from(*byte)]) {
            self.put_quoted(text, out);
        } else {
            out.extend_from_slice(text);
        }
    }

    fn put_quoted(&self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.quote);
        let mut rest = text;
        while let Some(first) = rest.first() {
            if rest.starts_with(&self.quote) {
                out.extend_from_slice(&self.escape);
                out.extend_from_slice(&self.quote);
                rest = &rest[self.quote.len()..];
            } else if rest.starts_with(&self.escape) {
                out.extend_from_slice(&self.escape);
                out.extend_from_slice(&self.escape);
                rest = &rest[self.escape.len()..];
            } else {
                out.push(*first);
                rest = &rest[1..];
            }
        }
        out.extend_from_slice(&self.quote);
    }

    pub(super) fn end(&mut self, row_start: usize, out: &mut Vec<u8>) {
        // A row of one empty field must not look like a blank line, which readers skip.
        if self.fields == 1 && out.len() == row_start {
            out.extend_from_slice(&self.quote);
            out.extend_from_slice(&self.quote);
        }
        out.extend_from_slice(&self.record_delimiter);
    }
}
