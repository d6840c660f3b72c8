//! Checks the options of a CSV object.

use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::CsvInput;

/// The delimiters, quotes and comments of a CSV object.
#[derive(Debug)]
pub(super) struct Syntax {
    pub(super) field_delimiter: String,
    pub(super) record_delimiter: String,
    quote: Option<String>,
    /// The escape character; `None` if a quote is escaped by doubling it.
    escape: Option<String>,
    comment: Option<String>,
    pub(super) quoted_record_delimiters: bool,
}

impl Syntax {
    pub(super) fn new(options: &CsvInput) -> Result<Self, SelectError> {
        let invalid = |message: &'static str| {
            Err(SelectError::new(SelectErrorCode::InvalidRequestParameter, message))
        };
        if options.field_delimiter.chars().count() != 1 {
            return invalid("FieldDelimiter must be one character.");
        }
        if !(1..=2).contains(&options.record_delimiter.chars().count()) {
            return invalid("RecordDelimiter must be one or two characters.");
        }
        if options.record_delimiter == options.field_delimiter {
            return invalid("FieldDelimiter and RecordDelimiter must differ.");
        }
        let quote = options.quote.map(String::from);
        if quote.as_ref().is_some_and(|quote| {
            *quote == options.field_delimiter || options.record_delimiter.contains(quote.as_str())
        }) {
            return invalid("QuoteCharacter must differ from the delimiters.");
        }
        Ok(Self {
            field_delimiter: options.field_delimiter.clone(),
            record_delimiter: options.record_delimiter.clone(),
            escape: options.quote_escape.filter(|e| Some(*e) != options.quote).map(String::from),
            comment: options.comments.map(String::from),
            quoted_record_delimiters: options.allow_quoted_record_delimiter && quote.is_some(),
            quote,
        })
    }

    /// Returns the quote's length in bytes.
    pub(super) fn quote_bytes(&self) -> usize {
        self.quote.as_ref().map_or(1, String::len)
    }

    pub(super) fn quote_at(&self, bytes: &[u8], at: usize) -> bool {
        self.quote.as_ref().is_some_and(|quote| starts(bytes, at, quote))
    }

    /// Returns the byte that the bitmap of quotes marks.
    pub(super) fn first_quote_byte(&self) -> Option<u8> {
        self.quote.as_ref()?.as_bytes().first().copied()
    }

    /// Returns whether a quote is one byte, is escaped by doubling, and cannot stand where two record delimiters
    /// overlap.
    pub(super) fn has_plain_quotes(&self) -> bool {
        let mut delimiter = self.record_delimiter.chars();
        let overlaps = delimiter.next() == delimiter.next();
        self.quote_bytes() == 1 && self.doubles_quotes() && !overlaps
    }

    /// Returns whether a field whose closing quote ends at `at` ends there too, with a delimiter or the block.
    pub(super) fn ends_field(&self, block: &[u8], at: usize) -> bool {
        let rest = &block[at..];
        let is_end = |rest: &[u8]| rest.is_empty() || starts(rest, 0, &self.record_delimiter);
        is_end(rest)
            || starts(rest, 0, &self.field_delimiter)
            || (self.tolerates_cr() && rest[0] == b'\r' && is_end(&rest[1..]))
    }

    /// Returns whether a carriage return before a record delimiter belongs to it.
    pub(super) fn tolerates_cr(&self) -> bool {
        self.record_delimiter == "\n"
    }

    pub(super) fn doubles_quotes(&self) -> bool {
        self.escape.is_none()
    }

    /// Returns the position of the literal character, if an escape character is at `at`.
    pub(super) fn escaped(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let escape = self.escape.as_ref().filter(|escape| starts(bytes, at, escape))?;
        Some(at + escape.len()).filter(|literal| *literal < bytes.len())
    }

    /// Returns the position where the next quote or escape character inside quotes may start.
    pub(super) fn next_special(&self, bytes: &[u8]) -> Option<usize> {
        let first = |token: &Option<String>| token.as_ref()?.as_bytes().first().copied();
        match (first(&self.quote), first(&self.escape)) {
            (Some(quote), Some(escape)) => memchr::memchr2(quote, escape, bytes),
            (Some(one), None) | (None, Some(one)) => memchr::memchr(one, bytes),
            (None, None) => None,
        }
    }

    pub(super) fn first_comment_byte(&self) -> Option<u8> {
        self.comment.as_ref()?.as_bytes().first().copied()
    }

    #[inline]
    pub(super) fn is_comment(&self, record: &[u8]) -> bool {
        // The first byte nearly always decides, and comparing it needs no call.
        let Some(comment) = self.comment.as_ref().map(String::as_bytes) else { return false };
        record.first() == comment.first() && record.starts_with(comment)
    }
}

/// Returns whether `token` is at position `at`. The first byte nearly always decides, and comparing it needs no call.
#[inline]
fn starts(bytes: &[u8], at: usize, token: &str) -> bool {
    bytes.get(at) == token.as_bytes().first()
        && bytes.get(at..).is_some_and(|rest| rest.starts_with(token.as_bytes()))
}
