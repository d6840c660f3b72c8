//! Writes and parses the body of an answer in parts.

use std::fmt;
use std::ops::Range;

const TYPE: &str = "multipart/byteranges";
/// The largest header of a part that is accepted, in bytes.
const MAX_HEAD: usize = 4096;
/// The length of the longest boundary (RFC 2046).
const MAX_BOUNDARY: usize = 70;

/// Writes an answer in parts.
///
/// The caller inserts the object's bytes: each part is its [`head`](Self::head) followed by the bytes of the range,
/// and the [`end`](Self::end) follows the last part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MultipartBody {
    boundary: String,
    content_type: String,
    size: u64,
}

impl MultipartBody {
    /// Parts of an object with this type and size. The boundary consists of letters and digits, and must be
    /// unpredictable so that no object can contain it on purpose.
    #[must_use]
    pub fn new(boundary: String, content_type: String, size: u64) -> Self {
        Self { boundary, content_type, size }
    }

    /// The `Content-Type` header of the answer.
    #[must_use]
    pub fn content_type(&self) -> String {
        format!("{TYPE}; boundary={}", self.boundary)
    }

    /// The text before the bytes of a range, which must not be empty.
    #[must_use]
    pub fn head(&self, range: &Range<u64>) -> String {
        let Self { boundary, content_type, size } = self;
        let (first, last) = (range.start, range.end - 1);
        format!(
            "\r\n--{boundary}\r\nContent-Type: {content_type}\r\n\
             Content-Range: bytes {first}-{last}/{size}\r\n\r\n"
        )
    }

    /// The text after the bytes of the last range.
    #[must_use]
    pub fn end(&self) -> String {
        format!("\r\n--{}--\r\n", self.boundary)
    }

    /// The largest size of an answer with these ranges that [`found`] accepts, apart from text after the end.
    #[must_use]
    pub fn most_bytes(ranges: &[Range<u64>]) -> u64 {
        let heads = (ranges.len() as u64 + 1) * (MAX_HEAD + MAX_BOUNDARY) as u64;
        ranges.iter().map(|range| range.end - range.start).sum::<u64>() + heads
    }
}

/// The boundary in the `Content-Type` header of an answer; `None` if the answer is not in parts.
///
/// ```
/// use sluicegate_s3select::byteranges::boundary_of;
///
/// assert_eq!(boundary_of("multipart/byteranges; boundary=\"a b\"").as_deref(), Some("a b"));
/// assert_eq!(boundary_of("text/csv"), None);
/// ```
#[must_use]
pub fn boundary_of(content_type: &str) -> Option<String> {
    let mut fields = content_type.split(';');
    if !fields.next()?.trim().eq_ignore_ascii_case(TYPE) {
        return None;
    }
    let value = fields.find_map(|field| {
        let (name, value) = field.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then_some(value.trim())
    })?;
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let value = quoted.unwrap_or(value);
    let sound = !value.is_empty() && value.len() <= MAX_BOUNDARY && !value.contains(['"', '\\']);
    sound.then(|| value.to_owned())
}

/// Reports an answer that does not have the expected parts, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedMultipart(pub String);

impl fmt::Display for MalformedMultipart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MalformedMultipart {}

/// Finds the bytes of the ranges in the body of an answer, which must have one part for each range, in this order,
/// and no others.
///
/// # Errors
///
/// If the body does not have these parts.
pub fn found(
    body: &[u8],
    boundary: &str,
    ranges: &[Range<u64>],
    size: u64,
) -> Result<Vec<Range<usize>>, MalformedMultipart> {
    let mut reader = Reader { body, at: 0 };
    let delimiter = format!("--{boundary}");
    let mut found = Vec::with_capacity(ranges.len());
    // The line break belongs to the delimiter and is optional before the first one.
    reader.skip(b"\r\n");
    for (number, range) in ranges.iter().enumerate() {
        if number > 0 {
            reader.expect(b"\r\n", "the end of a part")?;
        }
        reader.expect(delimiter.as_bytes(), "a part")?;
        let head = reader.head()?;
        let named = content_range(head)?;
        let expected = (range.start, range.end - 1, size);
        if named != expected {
            return Err(MalformedMultipart(format!(
                "a part is about {named:?} and not {expected:?}"
            )));
        }
        found.push(reader.take(range.end - range.start)?);
    }
    reader.expect(b"\r\n", "the end of a part")?;
    reader.expect(delimiter.as_bytes(), "the end")?;
    reader.expect(b"--", "the end")?;
    Ok(found)
}

struct Reader<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        self.body.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: &[u8]) -> bool {
        let is_there = self.rest().starts_with(bytes);
        self.at += if is_there { bytes.len() } else { 0 };
        is_there
    }

    fn expect(&mut self, bytes: &[u8], what: &str) -> Result<(), MalformedMultipart> {
        if self.skip(bytes) {
            return Ok(());
        }
        let (at, length) = (self.at, self.body.len());
        Err(MalformedMultipart(format!("{what} was expected at byte {at} of {length}")))
    }

    /// Reads the rest of the delimiter's line and the header lines up to an empty one.
    fn head(&mut self) -> Result<&'a [u8], MalformedMultipart> {
        let rest = self.rest();
        let rest = &rest[..rest.len().min(MAX_HEAD)];
        let Some(end) = memchr::memmem::find(rest, b"\r\n\r\n") else {
            return Err(MalformedMultipart(format!(
                "the head of a part at byte {} has no end",
                self.at
            )));
        };
        self.at += end + 4;
        Ok(&rest[..end])
    }

    fn take(&mut self, bytes: u64) -> Result<Range<usize>, MalformedMultipart> {
        let rest = self.rest().len();
        match usize::try_from(bytes).ok().filter(|bytes| *bytes <= rest) {
            Some(bytes) => {
                let start = self.at;
                self.at += bytes;
                Ok(start..self.at)
            }
            None => Err(MalformedMultipart(format!("a part of {bytes} bytes ends after {rest}"))),
        }
    }
}

/// Parses the first byte, the last byte and the object's size from the header of a part.
fn content_range(head: &[u8]) -> Result<(u64, u64, u64), MalformedMultipart> {
    let head = std::str::from_utf8(head);
    let mut lines =
        head.map_err(|_| MalformedMultipart("the head of a part is no text".into()))?.split("\r\n");
    if lines.next().is_none_or(|line| !line.trim_matches([' ', '\t']).is_empty()) {
        return Err(MalformedMultipart("a part begins with another boundary".into()));
    }
    let mut values = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-range").then_some(value.trim())
    });
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(MalformedMultipart("a part does not say which range it is".into()));
    };
    let read = || {
        let (unit, rest) = value.split_once(' ')?;
        let (range, size) = rest.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let bytes = unit.eq_ignore_ascii_case("bytes");
        let numbers = (first.trim().parse().ok()?, last.parse().ok()?, size.trim().parse().ok()?);
        bytes.then_some(numbers)
    };
    read().ok_or_else(|| MalformedMultipart(format!("a part is the range {value:?}")))
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "one range is a list of ranges, too")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(object: &[u8], ranges: &[Range<u64>]) -> Vec<u8> {
        let parts = MultipartBody::new("b0undary".into(), "text/csv".into(), object.len() as u64);
        let mut body = Vec::new();
        for range in ranges {
            body.extend(parts.head(range).into_bytes());
            body.extend(&object[range.start as usize..range.end as usize]);
        }
        body.extend(parts.end().into_bytes());
        assert!(body.len() as u64 <= MultipartBody::most_bytes(ranges));
        body
    }

    const OBJECT: &[u8] = b"0123456789\r\n--b0undary\r\n";
    const RANGES: [Range<u64>; 3] = [1..3, 8..24, 4..5];

    #[test]
    fn parts_are_read_as_they_are_written() {
        let boundary = MultipartBody::new("b0undary".into(), String::new(), 0).content_type();
        assert_eq!(boundary_of(&boundary).as_deref(), Some("b0undary"));
        let body = written(OBJECT, &RANGES);
        let read = found(&body, "b0undary", &RANGES, 24).unwrap();
        for (part, range) in read.into_iter().zip(RANGES) {
            assert_eq!(body[part], OBJECT[range.start as usize..range.end as usize]);
        }
        // A body in another style: no empty line first, other headers, blanks, text after the end.
        let theirs = b"--x  \r\ncontent-range:bytes 1-2/24\r\nX: y\r\n\r\n12\r\n--x--\r\nepilogue";
        assert_eq!(found(theirs, "x", &RANGES[..1], 24).unwrap(), [43..45]);
    }

    #[test]
    fn an_answer_that_is_cut_short_is_none() {
        let body = written(OBJECT, &RANGES);
        for length in 0..body.len() - 2 {
            found(&body[..length], "b0undary", &RANGES, 24).unwrap_err();
        }
    }

    #[test]
    fn an_answer_to_another_question_is_none() {
        #[track_caller]
        fn check(body: &[u8], boundary: &str, ranges: &[Range<u64>], size: u64, why: &str) {
            let error = found(body, boundary, ranges, size).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let body = written(OBJECT, &RANGES);
        check(&body, "other", &RANGES, 24, "a part was expected at byte 2");
        check(&body, "b0undary", &RANGES, 25, "a part is about (1, 2, 24) and not (1, 2, 25)");
        check(&body, "b0undary", &RANGES[1..], 24, "a part is about (1, 2, 24)");
        check(&body, "b0undary", &RANGES[..2], 24, "the end was expected");
        check(&body, "b0undary", &[1..4], 24, "a part is about");
        check(b"--x\r\n\r\n12", "x", &RANGES, 24, "does not say which range");
        let twice = b"--x\r\nContent-Range: bytes 1-2/24\r\nContent-Range: bytes 1-2/24\r\n\r\n";
        check(twice, "x", &RANGES, 24, "does not say which range");
        check(b"--xy\r\nContent-Range: bytes 1-2/24\r\n\r\n", "x", &RANGES, 24, "another boundary");
        check(b"--x\r\nContent-Range: bytes 1-2/*\r\n\r\n", "x", &RANGES, 24, "the range \"bytes");
        check(&[b"--x\r\n".as_slice(), &[b'y'; 9000]].concat(), "x", &RANGES, 24, "has no end");
        for none in ["multipart/byteranges", "multipart/mixed; boundary=a", "a", ""] {
            assert_eq!(boundary_of(none), None, "{none}");
        }
        for none in ["\"\"", "", "\"a", &"a".repeat(71)] {
            assert_eq!(boundary_of(&format!("multipart/byteranges; boundary={none}")), None);
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            body in prop::collection::vec(any::<u8>(), 0..200),
            at in 0_usize..100,
            flipped in any::<u8>(),
        ) {
            let _ = found(&body, "b", &RANGES, 24);
            let mut damaged = written(OBJECT, &RANGES);
            let at = at % damaged.len();
            damaged[at] ^= flipped;
            let _ = found(&damaged, "b0undary", &RANGES, 24);
        }
    }
}
