//! Parses values, as defined by RFC 8259.
//!
//! A number with an exponent becomes a `float`, one with a point a `decimal`, and any other an `int`, as in
//! statements. A number that does not fit becomes another type that holds all its digits: a longer `int` and a
//! `float` with too many digits become a `decimal`, and `-0` becomes a `float`. Zeros at the end of a fraction are
//! dropped if a decimal has no room for them. A number with more than 38 other digits is rejected, because no type
//! holds it and a CAST could no longer see its digits.

use super::path::Filter;
use sluicegate_s3select::error::SelectErrorCode;
use sluicegate_s3select::value::decimal::MAX_DIGITS;
use sluicegate_s3select::value::{Decimal, Value, cast};

/// The most levels that arrays and objects nest.
pub(super) const MAX_DEPTH: usize = 128;

/// The reason that no value was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParseFailure {
    /// The bytes end too early; more may help.
    Incomplete,
    /// Invalid JSON: its position and a description.
    Invalid(usize, &'static str),
    /// Text that is not UTF-8.
    Encoding(usize),
    /// Text with half of a surrogate pair, which no string can hold; it does no harm if the text is not read.
    Surrogate(usize),
    /// Several fields that a step of FROM matches.
    Ambiguous(usize),
    /// Values that take more memory than is allowed.
    TooLarge(usize),
}

pub(super) type Parsed<T> = Result<T, ParseFailure>;

impl ParseFailure {
    /// Returns the position, the error code and a description.
    #[cold]
    pub(super) fn explain(self) -> (usize, SelectErrorCode, &'static str) {
        let syntax = SelectErrorCode::JSONParsingError;
        match self {
            Self::Incomplete => (0, syntax, "it ends too early"),
            Self::Surrogate(at) => (at, syntax, "a string holds half of a surrogate pair"),
            Self::Ambiguous(at) => {
                let what = "several fields have the name that FROM goes through";
                (at, SelectErrorCode::AmbiguousFieldName, what)
            }
            Self::TooLarge(at) => {
                let what = "its arrays and objects take more than 128 MiB of memory";
                (at, SelectErrorCode::OverMaxRecordSize, what)
            }
            Self::Invalid(at, what) => (at, syntax, what),
            Self::Encoding(at) => {
                (at, SelectErrorCode::InvalidTextEncoding, "a string is not UTF-8")
            }
        }
    }
}

/// The overhead of an allocation in bytes, including reference counts.
const ALLOCATION_BYTES: usize = 32;

/// The most memory that a bracket, comma or colon accounts for, beside text. An object's entry is counted twice,
/// while it is collected and when it is shared, with the allocations of its name and value.
pub(super) const MARK_BYTES: usize = 2 * size_of::<(String, Value)>() + 2 * ALLOCATION_BYTES;

/// Parses values from bytes.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    /// True if nothing follows the bytes.
    complete: bool,
    /// The memory allowed for values, and the memory that complete ones take.
    room: usize,
    taken: usize,
    /// The members so far of the open arrays and objects, the outermost first.
    elements: Vec<Value>,
    fields: Vec<(String, Value)>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(bytes: &'a [u8], complete: bool) -> Self {
        let (elements, fields) = (Vec::new(), Vec::new());
        Self { bytes, at: 0, complete, room: usize::MAX, taken: 0, elements, fields }
    }

    /// Limits the memory of the values.
    pub(super) fn with_room(self, room: usize) -> Self {
        Self { room, ..self }
    }

    /// Returns the number of bytes read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns the memory that the parsed values take, in bytes.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Fails if there is no room for `bytes` more bytes.
    fn has_room(&self, bytes: usize) -> Parsed<()> {
        let collected = size_of_val(&self.elements[..]) + size_of_val(&self.fields[..]);
        if self.taken + collected + bytes > self.room {
            return Err(ParseFailure::TooLarge(self.at));
        }
        Ok(())
    }

    /// Reserves room for a value before it is built.
    fn take(&mut self, bytes: usize) -> Parsed<()> {
        self.has_room(bytes)?;
        self.taken += bytes;
        Ok(())
    }

    pub(super) fn skip_space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Parses a value, with only those fields of its objects that the filter selects.
    pub(super) fn value(&mut self, filter: Filter<'_>) -> Parsed<Value> {
        self.nested(filter, MAX_DEPTH)
    }

    /// Parses a value that may nest `depth` more levels.
    pub(super) fn nested(&mut self, filter: Filter<'_>, depth: usize) -> Parsed<Value> {
        self.skip_space();
        match self.peek()? {
            b'{' => self.object(filter, self.deeper(depth)?),
            b'[' => self.array(filter, self.deeper(depth)?),
            b'"' if filter.wants_all() => {
                let text = self.string()?;
                self.take(text.len() + ALLOCATION_BYTES)?;
                Ok(Value::String(text))
            }
            // No path leads into text.
            b'"' => self.string_bytes().map(|_| Value::Null),
            b't' => self.word(b"true").map(|()| Value::Bool(true)),
            b'f' => self.word(b"false").map(|()| Value::Bool(false)),
            b'n' => self.word(b"null").map(|()| Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.invalid("a JSON value was expected")),
        }
    }

    fn object(&mut self, filter: Filter<'_>, depth: usize) -> Parsed<Value> {
        let start = self.fields.len();
        self.members(b'}', |parser| {
            let key = parser.key()?;
            let (name, filter) = match parser.unescape(key) {
                Err(ParseFailure::Surrogate(_)) if !filter.wants_all() => {
                    (char::REPLACEMENT_CHARACTER.to_string(), filter.unnamed_field())
                }
                name => {
                    let name = name?;
                    let filter = filter.field(&name);
                    (name, filter)
                }
            };
            match filter {
                Some(filter) => {
                    parser.take(name.len() + ALLOCATION_BYTES)?;
                    let value = parser.nested(filter, depth)?;
                    parser.has_room(size_of::<(String, Value)>())?;
                    parser.fields.push((name, value));
                }
                None => parser.skip(depth)?,
            }
            Ok(())
        })?;
        self.take(size_of_val(&self.fields[start..]) + ALLOCATION_BYTES)?;
        Ok(Value::Struct(self.fields.drain(start..).collect()))
    }

    fn array(&mut self, filter: Filter<'_>, depth: usize) -> Parsed<Value> {
        let start = self.elements.len();
        let mut index = 0;
        self.members(b']', |parser| {
            match filter.element(index) {
                Some(filter) => {
                    let value = parser.nested(filter, depth)?;
                    // Elements in between, and those after the last one, are never read.
                    let passed = start + index - parser.elements.len();
                    parser.has_room((passed + 1) * size_of::<Value>())?;
                    parser.elements.resize(start + index, Value::Null);
                    parser.elements.push(value);
                }
                None => parser.skip(depth)?,
            }
            index += 1;
            Ok(())
        })?;
        self.take(size_of_val(&self.elements[start..]) + ALLOCATION_BYTES)?;
        Ok(Value::List(self.elements.drain(start..).collect()))
    }

    /// Reads the members of an array or object by calling `member` for each.
    fn members(
        &mut self,
        close: u8,
        mut member: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        self.at += 1;
        self.skip_space();
        if self.peek()? == close {
            self.at += 1;
            return Ok(());
        }
        loop {
            member(self)?;
            self.skip_space();
            let mark = self.peek()?;
            if mark != b',' && mark != close {
                return Err(self.invalid("a comma or a closing bracket was expected"));
            }
            self.at += 1;
            if mark == close {
                return Ok(());
            }
        }
    }

    /// Parses a name and the colon after it.
    pub(super) fn key(&mut self) -> Parsed<&'a [u8]> {
        self.skip_space();
        let key = self.string_bytes()?;
        self.skip_space();
        if self.peek()? != b':' {
            return Err(self.invalid(": was expected after a name"));
        }
        self.at += 1;
        Ok(key)
    }

    /// Returns to a position.
    pub(super) fn rewind(&mut self, position: usize) {
        self.at = position;
    }

    /// Moves past one byte.
    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    /// Skips a value without building it.
    pub(super) fn skip(&mut self, depth: usize) -> Parsed<()> {
        self.skip_space();
        match self.peek()? {
            b'{' => {
                let depth = self.deeper(depth)?;
                self.members(b'}', |parser| {
                    parser.key()?;
                    parser.skip(depth)
                })
            }
            b'[' => {
                let depth = self.deeper(depth)?;
                self.members(b']', |parser| parser.skip(depth))
            }
            b'"' => self.string_bytes().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'-' | b'0'..=b'9' => self.number_bytes().map(drop),
            _ => Err(self.invalid("a JSON value was expected")),
        }
    }

    pub(super) fn deeper(&self, depth: usize) -> Parsed<usize> {
        depth.checked_sub(1).ok_or_else(|| self.invalid("arrays and objects nest too deeply"))
    }

    pub(super) fn peek(&self) -> Parsed<u8> {
        self.bytes.get(self.at).copied().ok_or(ParseFailure::Incomplete)
    }

    pub(super) fn invalid(&self, what: &'static str) -> ParseFailure {
        ParseFailure::Invalid(self.at, what)
    }

    fn word(&mut self, word: &[u8]) -> Parsed<()> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        if word.starts_with(rest) {
            return Err(ParseFailure::Incomplete);
        }
        Err(self.invalid("a JSON value was expected"))
    }

    /// Parses the text of a number. It must not extend to the end of the bytes if more bytes follow.
    fn number_bytes(&mut self) -> Parsed<&'a [u8]> {
        let start = self.at;
        let rest = &self.bytes[start..];
        let is_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let text = &rest[..rest.iter().take_while(|byte| is_number(byte)).count()];
        if text.len() == rest.len() && !self.complete {
            return Err(ParseFailure::Incomplete);
        }
        if !is_json_number(text) {
            return Err(self.invalid("a number is malformed"));
        }
        self.at += text.len();
        Ok(text)
    }

    fn number(&mut self) -> Parsed<Value> {
        let text = self.number_bytes()?;
        let exponent = text.iter().any(|byte| matches!(byte, b'e' | b'E'));
        let negative = text.starts_with(b"-");
        if !exponent && let Some(int) = cast::parse_int(text).filter(|int| *int != 0 || !negative) {
            return Ok(Value::Int(int));
        }
        let decimal = Decimal::parse_exact(text).filter(|d| d.unscaled() != 0 || !negative);
        if !exponent && let Some(decimal) = decimal {
            return Ok(Value::Decimal(decimal));
        }
        let Some(float) = cast::parse_float(text).filter(|float| float.is_finite()) else {
            return Err(self.invalid("a number is too large"));
        };
        match decimal {
            Some(decimal)
                if Decimal::from_f64(float).is_none_or(|d| d.compare(decimal).is_ne()) =>
            {
                Ok(Value::Decimal(decimal))
            }
            None if significant_digits(text) > MAX_DIGITS as usize => {
                Err(self.invalid("a number has more than 38 digits"))
            }
            _ => Ok(Value::Float(float)),
        }
    }

    /// Returns the text between the quotes, with its escapes.
    fn string_bytes(&mut self) -> Parsed<&'a [u8]> {
        if self.peek()? != b'"' {
            return Err(self.invalid("a string was expected"));
        }
        let start = self.at + 1;
        let mut from = start;
        loop {
            let rest = self.bytes.get(from..).unwrap_or_default();
            let Some(mark) = memchr::memchr2(b'"', b'\\', rest) else {
                return Err(ParseFailure::Incomplete);
            };
            if rest[mark] == b'"' {
                let text = &self.bytes[start..from + mark];
                self.at = from + mark + 1;
                return Ok(text);
            }
            from += mark + 2;
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let text = self.string_bytes()?;
        self.unescape(text)
    }

    /// Resolves the escapes of a string that was just read.
    pub(super) fn unescape(&self, raw: &[u8]) -> Parsed<String> {
        let Ok(text) = std::str::from_utf8(raw) else {
            return Err(ParseFailure::Encoding(self.at));
        };
        if raw.iter().any(|byte| *byte < b' ') {
            return Err(self.invalid("a string holds a control character"));
        }
        if !raw.contains(&b'\\') {
            return Ok(text.to_owned());
        }
        let mut out = String::with_capacity(raw.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                out.push(c);
                continue;
            }
            out.push(match chars.next() {
                Some(c @ ('"' | '\\' | '/')) => c,
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => self.unicode(&mut chars)?,
                _ => return Err(self.invalid("a string holds an unknown escape")),
            });
        }
        Ok(out)
    }

    /// Parses the character of `\uXXXX`, or of a pair of them.
    fn unicode(&self, chars: &mut std::str::Chars<'_>) -> Parsed<char> {
        let malformed = || self.invalid("a string holds a malformed \\u escape");
        let surrogate = || ParseFailure::Surrogate(self.at);
        let first = code_unit(chars).ok_or_else(malformed)?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first).ok_or_else(surrogate);
        }
        *chars = chars.as_str().strip_prefix("\\u").ok_or_else(surrogate)?.chars();
        let second = code_unit(chars).ok_or_else(malformed)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(surrogate());
        }
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
            .ok_or_else(surrogate)
    }
}

/// Returns the number if [`Parser::value`] parses the text to an `int`.
#[inline]
pub(super) fn int(text: &[u8]) -> Option<i64> {
    match text {
        [b'1'..=b'9', ..] | [b'0'] | [b'-', b'1'..=b'9', ..] => cast::parse_int(text),
        _ => None,
    }
}

/// Returns the number if [`Parser::value`] parses the text to a `decimal` with a point.
pub(super) fn decimal(text: &[u8]) -> Option<Decimal> {
    let is_fraction = text.contains(&b'.') && !text.iter().any(|byte| matches!(byte, b'e' | b'E'));
    if !is_fraction || !is_json_number(text) {
        return None;
    }
    Decimal::parse_exact(text).filter(|decimal| decimal.unscaled() != 0 || text[0] != b'-')
}

/// Returns the first byte that is not a space.
#[inline]
pub(super) fn first_byte(text: &[u8]) -> Option<u8> {
    text.iter().copied().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// Counts the digits of a number without the zeros at both ends.
fn significant_digits(number: &[u8]) -> usize {
    let mantissa = number.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default();
    let is_digit = |byte: &u8| matches!(byte, b'1'..=b'9');
    let first = mantissa.iter().position(is_digit).unwrap_or(mantissa.len());
    let behind = mantissa.iter().rposition(is_digit).map_or(first, |last| last + 1);
    mantissa[first..behind].iter().filter(|byte| byte.is_ascii_digit()).count()
}

/// Parses four hexadecimal digits.
fn code_unit(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    let (digits, rest) = chars.as_str().split_at_checked(4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    *chars = rest.chars();
    u32::from_str_radix(digits, 16).ok()
}

/// Returns whether the text is `[-] (0 | 1-9 digits) [. digits] [e [sign] digits]`.
fn is_json_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let places = digits(fraction);
        if places == 0 {
            return false;
        }
        rest = &fraction[places..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', digits @ ..] => digits,
            _ => exponent,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}
