//! Splits records whose quotes must be removed one by one.
//!
//! A quote opens a quoted field only as the field's first character. Inside quotes, the escape character makes the
//! next one literal; if quote and escape are the same character, that is doubling. Text between the closing quote and
//! the delimiter belongs to the field, and a quote in an unquoted field is an ordinary character. The `csv` crate
//! follows the same rules.

use super::structure::Structure;
use super::syntax::Syntax;
use crate::vector::Span;

/// The end of a record whose quoted fields may contain record delimiters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordEnd {
    /// The position of the last byte of the record delimiter.
    Mark(usize),
    /// The block ends before the record does, outside of quotes.
    Open,
    /// The block ends before the record does, inside quotes.
    OpenQuote,
}

/// Finds the end of the record at `start`.
pub(super) fn record_end(
    block: &[u8],
    start: usize,
    syntax: &Syntax,
    structure: &Structure,
) -> RecordEnd {
    let mut at = start;
    loop {
        if syntax.quote_at(block, at) {
            match closing_quote(block, at, syntax) {
                Some(behind) => at = behind,
                None => return RecordEnd::OpenQuote,
            }
        }
        let record = structure.next_record_mark(at + syntax.record_delimiter.len() - 1);
        let field = structure.next_field_mark(at + syntax.field_delimiter.len() - 1);
        match (field, record) {
            // A match for the field delimiter may be the beginning of a record delimiter.
            (Some(field), Some(record)) if field + syntax.record_delimiter.len() <= record => {
                at = field + 1;
            }
            (Some(field), None) => at = field + 1,
            (_, Some(record)) => return RecordEnd::Mark(record),
            (None, None) => return RecordEnd::Open,
        }
    }
}

/// Returns the position after the quote that closes the one at `at`.
fn closing_quote(block: &[u8], at: usize, syntax: &Syntax) -> Option<usize> {
    let mut at = at + syntax.quote_bytes();
    while let Some(n) = block.get(at..).and_then(|rest| syntax.next_special(rest)) {
        at += n;
        if syntax.doubles_quotes() && syntax.quote_at(block, at) {
            let behind = at + syntax.quote_bytes();
            if !syntax.quote_at(block, behind) {
                return Some(behind);
            }
            at = behind + syntax.quote_bytes();
        } else if let Some(literal) = syntax.escaped(block, at) {
            at = literal + 1;
        } else if syntax.quote_at(block, at) {
            return Some(at + syntax.quote_bytes());
        } else {
            at += 1;
        }
    }
    None
}

/// The error for a quoted field that is not closed before its record ends.
#[derive(Debug)]
pub(super) struct Unclosed;

/// Splits the record at `start..end` into fields. Quotes and escapes are removed in place, as a field's value is
/// never longer than its text.
pub(super) fn split(
    block: &mut [u8],
    start: usize,
    end: usize,
    syntax: &Syntax,
    fields: &mut Vec<Span>,
) -> Result<(), Unclosed> {
    let mut at = start;
    loop {
        let (value_start, value_end, behind) = if syntax.quote_at(&block[..end], at) {
            unquote(&mut block[..end], at, syntax).ok_or(Unclosed)?
        } else {
            let behind = find(&block[at..end], &syntax.field_delimiter).map_or(end, |n| at + n);
            (at, behind, behind)
        };
        fields.push(Span::new(value_start as u32, (value_end - value_start) as u32));
        if behind >= end {
            return Ok(());
        }
        at = behind + syntax.field_delimiter.len();
    }
}

/// Removes the quotes of the field at `at`. Returns the range of its value, and the position of its delimiter or of
/// the end of `record`.
fn unquote(record: &mut [u8], at: usize, syntax: &Syntax) -> Option<(usize, usize, usize)> {
    let start = at + syntax.quote_bytes();
    let behind_quote = closing_quote(record, at, syntax)?;
    let close = behind_quote - syntax.quote_bytes();
    let (mut read, mut write) = (start, start);
    // Most values contain nothing to remove.
    if syntax.next_special(&record[start..close]).is_none() {
        (read, write) = (close, close);
    }
    while read < close {
        if syntax.doubles_quotes() {
            // Here, a quote can only be the first of a pair: keep it and skip the second.
            if syntax.quote_at(record, read) {
                let n = syntax.quote_bytes();
                record.copy_within(read..read + n, write);
                write += n;
                read += 2 * n;
                continue;
            }
        } else if let Some(literal) = syntax.escaped(record, read) {
            read = literal;
        }
        record[write] = record[read];
        read += 1;
        write += 1;
    }
    // Text after the closing quote belongs to the value.
    let behind = find(&record[behind_quote..], &syntax.field_delimiter)
        .map_or(record.len(), |n| behind_quote + n);
    if behind > behind_quote {
        record.copy_within(behind_quote..behind, write);
    }
    Some((start, write + (behind - behind_quote), behind))
}

fn find(text: &[u8], delimiter: &str) -> Option<usize> {
    match delimiter.as_bytes() {
        [byte] => memchr::memchr(*byte, text),
        bytes => memchr::memmem::find(text, bytes),
    }
}
