//! Writes rows as delimited text.

use std::ops::Range;

use super::columns::Column;
use super::{Item, nested_in_csv};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{CsvOutput, QuoteFields};
use sluicegate_s3select::value::{Value, write_int};

/// The number of special bytes, unless delimiters are unusual.
const SPECIALS: usize = 6;

/// Parts of a text up to this length are examined with this fixed length.
const PART: usize = 32;

/// The characters of numbers, truth values and timestamps.
const PLAIN: &[u8] = b"0123456789+-.:aeEfilnNrstuTZ";

#[derive(Debug)]
pub(super) struct CsvWriter {
    pub(super) field_delimiter: Vec<u8>,
    pub(super) record_delimiter: Vec<u8>,
    pub(super) quote: Vec<u8>,
    escape: Vec<u8>,
    always: bool,
    /// The bytes that may make a field need quotes.
    special: [bool; 256],
    /// The special bytes as a list, some of them repeated; `None` if there are too many to search for at once.
    specials: Option<[u8; SPECIALS]>,
    /// True if the text of a number, a truth value or a timestamp may contain a special byte.
    special_in_plain: bool,
    fields: usize,
    /// The columns of earlier rows; reused memory.
    pub(super) columns: Vec<Column>,
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
        let mut listed: Vec<u8> =
            (0..=u8::MAX).filter(|byte| special[usize::from(*byte)]).collect();
        if listed.len() < SPECIALS {
            listed.resize(SPECIALS, b'\n');
        }
        Ok(Self {
            field_delimiter: options.field_delimiter.clone().into_bytes(),
            record_delimiter: options.record_delimiter.clone().into_bytes(),
            quote,
            escape,
            always: options.quote_fields == QuoteFields::Always,
            special,
            specials: listed.try_into().ok(),
            special_in_plain: PLAIN.iter().any(|byte| special[usize::from(*byte)]),
            fields: 0,
            columns: Vec::new(),
        })
    }

    pub(super) fn begin(&mut self) {
        self.fields = 0;
    }

    #[inline]
    pub(super) fn put(&mut self, item: Item<'_>, out: &mut Vec<u8>) -> Result<(), SelectError> {
        if self.fields > 0 {
            match self.field_delimiter[..] {
                [delimiter] => out.push(delimiter),
                _ => out.extend_from_slice(&self.field_delimiter),
            }
        }
        self.fields += 1;
        match item {
            Item::Text(text) => self.put_text(text, out),
            Item::Value(Value::String(text)) => self.put_text(text.as_bytes(), out),
            Item::Value(value @ (Value::List(_) | Value::Struct(_))) => {
                return Err(nested_in_csv(value));
            }
            // A number's own characters may be delimiters; then it needs quotes too.
            Item::Value(value) => self.put_plain(out, |out| value.write(out)),
            Item::Int(int) => self.put_plain(out, |out| write_int(int, out)),
            Item::Decimal(decimal) => self.put_plain(out, |out| decimal.write(out)),
            Item::Timestamp(time) => self.put_plain(out, |out| time.write(out)),
        }
        Ok(())
    }

    /// Writes a whole row of delimited text; see [`super::RowWriter::put_row`].
    #[inline]
    pub(super) fn put_row(
        &mut self,
        row: &[u8],
        delimiter: &[u8],
        quote: Option<u8>,
        out: &mut Vec<u8>,
    ) -> bool {
        let ([own_quote], [delimiter]) = (&self.quote[..], delimiter) else { return false };
        let ordinary = !self.always
            && self.escape == self.quote
            && self.field_delimiter == [*delimiter]
            && self.record_delimiter == b"\n"
            && memchr::memchr2(b'\n', b'\r', row).is_none();
        if !ordinary {
            return false;
        }
        let start = out.len();
        let same_quotes = quote.is_none_or(|quote| quote == *own_quote);
        if let Some(quote) = quote.filter(|_| same_quotes) {
            if !copy_unquoted(row, *delimiter, quote, out) {
                out.truncate(start);
                return false;
            }
        } else if memchr::memchr2(*own_quote, quote.unwrap_or(*own_quote), row).is_some() {
            return false;
        } else {
            out.extend_from_slice(row);
        }
        // An empty row is left to the caller, which writes it as a single empty field.
        let copied = out.len() > start;
        if copied {
            self.fields = 2;
        }
        copied
    }

    #[inline]
    pub(super) fn put_plain(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        write(out);
        let quoted = self.always || (self.special_in_plain && self.is_special(&out[start..]));
        if quoted {
            let text = out.split_off(start);
            self.put_text(&text, out);
        }
    }

    #[inline]
    pub(super) fn put_text(&self, text: &[u8], out: &mut Vec<u8>) {
        if let (Some(specials), Some(padded)) = (&self.specials, padded(text))
            && !self.always
            && !self.special[0]
            && !holds(&padded, specials)
        {
            // A copy of known length is a few instructions; one of unknown length is a call.
            let end = out.len() + text.len();
            out.extend_from_slice(&padded);
            return out.truncate(end);
        }
        if self.always || self.is_special(text) {
            self.put_quoted(text, out);
        } else {
            out.extend_from_slice(text);
        }
    }

    /// Writes a part of a text like [`Self::put_text`]. A short part is read together with the bytes after it, so
    /// that no branch depends on its length.
    #[inline(always)]
    pub(super) fn put_part(&self, text: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
        let from = text.get(part.start..).unwrap_or_default();
        if let (Some(specials), Some(chunk)) = (&self.specials, from.first_chunk::<PART>())
            && part.len() <= PART
            && !self.always
            && !begins_with(chunk, part.len(), specials)
        {
            let end = out.len() + part.len();
            out.extend_from_slice(chunk);
            return out.truncate(end);
        }
        self.put_text(from.get(..part.len()).unwrap_or_default(), out);
    }

    /// Returns whether a text contains a byte that may make it need quotes.
    #[inline]
    fn is_special(&self, text: &[u8]) -> bool {
        if let (Some(specials), Some(last)) = (&self.specials, text.last_chunk::<16>()) {
            let (chunks, _) = text.as_chunks::<16>();
            return chunks.iter().any(|chunk| holds(chunk, specials)) || holds(last, specials);
        }
        if let (Some(specials), Some(first), Some(last)) =
            (&self.specials, text.first_chunk::<8>(), text.last_chunk::<8>())
        {
            return holds(first, specials) | holds(last, specials);
        }
        text.iter().any(|byte| self.special[usize::from(*byte)])
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

/// Copies a row without its unnecessary quotes. Returns false if quotes do not enclose whole fields; the appended
/// bytes are then invalid.
fn copy_unquoted(row: &[u8], delimiter: u8, quote: u8, out: &mut Vec<u8>) -> bool {
    let mut rest = row;
    while let Some(open) = memchr::memchr(quote, rest) {
        // The rest after a quoted field begins with a delimiter.
        let begins_field = match open {
            0 => rest.len() == row.len(),
            _ => rest[open - 1] == delimiter,
        };
        let Some(length) = memchr::memchr(quote, &rest[open + 1..]) else { return false };
        let (text, behind) = rest[open + 1..].split_at(length);
        let behind = &behind[1..];
        if !begins_field || behind.first().is_some_and(|next| *next != delimiter) {
            return false;
        }
        if memchr::memchr(delimiter, text).is_some() {
            out.extend_from_slice(&rest[..open + length + 2]);
        } else {
            out.extend_from_slice(&rest[..open]);
            out.extend_from_slice(text);
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
    true
}

/// Returns a text of at most 16 bytes, padded with zeros.
#[inline(always)]
fn padded(text: &[u8]) -> Option<[u8; 16]> {
    let behind = |first: usize| 8 * (text.len() - first) as u32;
    let joined = if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        if text.len() > 16 {
            return None;
        }
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << behind(8)
    } else if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << behind(4)
    } else {
        text.iter().rev().fold(0, |joined, byte| joined << 8 | u128::from(*byte))
    };
    Some(joined.to_le_bytes())
}

/// Returns whether a chunk contains a special byte, without a branch for each byte.
#[inline(always)]
fn holds<const N: usize>(chunk: &[u8; N], specials: &[u8; SPECIALS]) -> bool {
    marks(chunk, specials) != [0; N]
}

/// Returns whether one of the first `first` bytes of a chunk is special.
#[inline(always)]
fn begins_with<const N: usize>(chunk: &[u8; N], first: usize, specials: &[u8; SPECIALS]) -> bool {
    let mut found = marks(chunk, specials);
    for (at, found) in (0_u8..).zip(&mut found) {
        *found &= u8::from(at < first as u8);
    }
    found != [0; N]
}

/// Returns 1 at the position of each special byte.
#[inline(always)]
fn marks<const N: usize>(chunk: &[u8; N], specials: &[u8; SPECIALS]) -> [u8; N] {
    let mut found = [0_u8; N];
    for special in specials {
        for (found, byte) in found.iter_mut().zip(chunk) {
            *found |= u8::from(byte == special);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn rows_that_are_copied_are_those_that_are_written_by_fields(
            parts in prop::collection::vec(
                prop_oneof![
                    4 => Just("a"), 2 => Just("é"), 6 => Just(","), 3 => Just("\""), 2 => Just("'"),
                    2 => Just("\",\""), 1 => Just("\"\""), 1 => Just("\r"), 1 => Just("\n"),
                    2 => Just("0123456789"), 1 => Just(",\"b,c\","), 1 => Just("\0"),
                ],
                1..20,
            ),
            quote in prop::option::of(prop_oneof![4 => Just(b'"'), 1 => Just(b'\'')]),
            always: bool,
        ) {
            let row = parts.concat();
            let quote_fields = if always { QuoteFields::Always } else { QuoteFields::AsNeeded };
            let options = CsvOutput { quote_fields, ..CsvOutput::default() };
            let mut writer = CsvWriter::new(&options).unwrap();
            let (mut copied, mut written) = (Vec::new(), Vec::new());
            writer.begin();
            if !writer.put_row(row.as_bytes(), b",", quote, &mut copied) {
                return Ok(());
            }
            writer.end(0, &mut copied);
            let mut reader = csv::ReaderBuilder::new();
            reader.has_headers(false).quoting(quote.is_some()).quote(quote.unwrap_or(b'"'));
            let mut fields = csv::ByteRecord::new();
            prop_assert!(reader.from_reader(row.as_bytes()).read_byte_record(&mut fields).unwrap());
            writer.begin();
            for field in &fields {
                writer.put(Item::Text(field), &mut written).unwrap();
            }
            writer.end(0, &mut written);
            prop_assert_eq!(String::from_utf8(copied).unwrap(), String::from_utf8(written).unwrap());
        }
    }

    proptest! {
        #[test]
        fn a_part_is_written_as_the_text_that_it_is(
            text in "[a,\"é\n\0]{0,60}",
            ends: [prop::sample::Index; 2],
            always: bool,
            delimiter in prop_oneof![Just(","), Just("\0"), Just("é")],
        ) {
            let [a, b] = ends.map(|end| end.index(text.len() + 1));
            let part = a.min(b)..a.max(b);
            let quote_fields = if always { QuoteFields::Always } else { QuoteFields::AsNeeded };
            let field_delimiter = delimiter.to_owned();
            let options = CsvOutput { quote_fields, field_delimiter, ..CsvOutput::default() };
            let writer = CsvWriter::new(&options).unwrap();
            let (mut as_part, mut as_text) = (b"x".to_vec(), b"x".to_vec());
            writer.put_part(text.as_bytes(), part.clone(), &mut as_part);
            writer.put_text(&text.as_bytes()[part], &mut as_text);
            prop_assert_eq!(as_part, as_text);
        }
    }

    #[test]
    fn quotes_are_dropped_unless_they_are_needed() {
        let copied = |row: &str| {
            let mut out = Vec::new();
            let mut writer = CsvWriter::new(&CsvOutput::default()).unwrap();
            writer.begin();
            let copied = writer.put_row(row.as_bytes(), b",", Some(b'"'), &mut out);
            copied.then(|| String::from_utf8(out).unwrap())
        };
        let check = |row, expected: Option<&str>| assert_eq!(copied(row).as_deref(), expected);
        check("1,two,3", Some("1,two,3"));
        check("1,\"two\",\"\",\"a,b\"", Some("1,two,,\"a,b\""));
        for row in ["1,\"a\"\"b\"", "1,a\"b\",c", "\"a\"b", "1,\"open", "\"\"", "a\rb"] {
            check(row, None);
        }
        // A row that was not copied is then written from its beginning.
        let (mut out, mut writer) = (Vec::new(), CsvWriter::new(&CsvOutput::default()).unwrap());
        writer.begin();
        assert!(!writer.put_row(b"\"\"", b",", Some(b'"'), &mut out));
        writer.put(Item::Text(b""), &mut out).unwrap();
        writer.end(0, &mut out);
        assert_eq!(out, b"\"\"\n");
    }
}
