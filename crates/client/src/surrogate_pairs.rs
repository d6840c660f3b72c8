//! Characters that JSON writes as two `\u` escapes, `\ud840\udc00`.
//!
//! arrow-json 59.3 decodes some of them as other characters. It combines the halves of the pair with OR where the
//! carry of an addition is needed, so all characters of the planes 2, 4, 6, … are wrong. This module rewrites the
//! text before arrow-json reads it: it replaces such a pair by the character itself in UTF-8, and appends spaces
//! after the string to keep the length of the text. Offsets of records and of line breaks therefore stay the same.

use std::fmt;

use bytes::Bytes;
use memchr::{memchr, memchr3};

/// The length of a pair of escapes, in bytes.
const PAIR: usize = 12;

/// A line break in a string in which a pair was rewritten. JSON does not allow line breaks in strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineBreak;

impl fmt::Display for LineBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON string holds a line break that is not escaped")
    }
}

impl std::error::Error for LineBreak {}

/// Rewrites the pairs of a JSON text that is passed in pieces.
#[derive(Debug, Clone, Default)]
pub struct SurrogatePairs {
    /// The end of the text so far, which may be the beginning of a pair.
    held: Vec<u8>,
    /// The number of spaces to append after the string.
    due: usize,
}

/// The escape at a backslash.
enum Escape {
    /// A pair that is rewritten to this character.
    Misread(char),
    /// Another escape of this length, in bytes.
    Other(usize),
    /// An escape whose end has not been received yet.
    Cut,
}

impl SurrogatePairs {
    /// Returns the number of bytes that were passed in and not yet returned.
    #[must_use]
    pub fn behind(&self) -> usize {
        self.held.len() + self.due
    }

    /// Rewrites the next bytes of the text. The last ones may be returned by the next call.
    ///
    /// # Errors
    ///
    /// If a string that was rewritten holds a line break.
    pub fn pass(&mut self, bytes: Bytes) -> Result<Bytes, LineBreak> {
        if self.behind() == 0 && memchr(b'\\', &bytes).is_none() {
            return Ok(bytes);
        }
        let text = if self.held.is_empty() {
            bytes
        } else {
            let mut text = std::mem::take(&mut self.held);
            text.extend_from_slice(&bytes);
            text.into()
        };
        // The rewritten copy of the text, from the first difference on.
        let mut out: Option<Vec<u8>> = (self.due > 0).then(Vec::new);
        let (mut copied, mut at) = (0, 0);
        loop {
            let rest = &text[at..];
            let found =
                if self.due > 0 { memchr3(b'"', b'\\', b'\n', rest) } else { memchr(b'\\', rest) };
            let Some(found) = found else {
                at = text.len();
                break;
            };
            at += found;
            match text[at] {
                b'"' => {
                    at += 1;
                    let out = out.get_or_insert_default();
                    out.extend_from_slice(&text[copied..at]);
                    out.resize(out.len() + std::mem::take(&mut self.due), b' ');
                    copied = at;
                }
                b'\n' => return Err(LineBreak),
                _ => match escape(&text[at..]) {
                    Escape::Misread(character) => {
                        let out = out.get_or_insert_default();
                        out.extend_from_slice(&text[copied..at]);
                        let mut utf8 = [0; 4];
                        out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
                        self.due += PAIR - utf8.len();
                        at += PAIR;
                        copied = at;
                    }
                    Escape::Other(length) => at += length,
                    Escape::Cut => break,
                },
            }
        }
        self.held.extend_from_slice(&text[at..]);
        Ok(match out {
            Some(mut out) => {
                out.extend_from_slice(&text[copied..at]);
                out.into()
            }
            None => text.slice(..at),
        })
    }

    /// Returns the rest at the end of the text.
    #[must_use]
    pub fn finish(&mut self) -> Bytes {
        let mut rest = std::mem::take(&mut self.held);
        rest.resize(rest.len() + std::mem::take(&mut self.due), b' ');
        rest.into()
    }
}

/// Classifies the escape at the start of the text.
fn escape(text: &[u8]) -> Escape {
    let digit = |at: usize| text.get(at).map(|byte| char::from(*byte).to_digit(16));
    let mut units = [0, 0];
    for (half, unit) in units.iter_mut().enumerate() {
        let start = 6 * half;
        match (text.get(start), text.get(start + 1)) {
            (Some(b'\\'), Some(b'u')) => {}
            (None, _) | (Some(b'\\'), None) => return Escape::Cut,
            // The first half is no pair, and the text after it is examined separately.
            _ if half > 0 => return Escape::Other(6),
            _ => return Escape::Other(2),
        }
        for place in start + 2..start + 6 {
            match digit(place) {
                Some(Some(digit)) => *unit = *unit << 4 | digit,
                Some(None) => return Escape::Other(2),
                None => return Escape::Cut,
            }
        }
        if half == 0 && !(0xD800..0xDC00).contains(unit) {
            return Escape::Other(6);
        }
    }
    let [high, low] = units;
    if !(0xDC00..0xE000).contains(&low) {
        return Escape::Other(6);
    }
    let above = (high - 0xD800) << 10 | (low - 0xDC00);
    let is_misread = above & 0x1_0000 != 0;
    match char::from_u32(above + 0x1_0000) {
        Some(character) if is_misread => Escape::Misread(character),
        _ => Escape::Other(PAIR),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::AsArray as _;
    use arrow::datatypes::{DataType, Field, Schema};
    use arrow::json::ReaderBuilder;
    use proptest::prelude::*;

    use super::*;

    fn rewrite(text: &[u8], cuts: &[usize]) -> Result<Vec<u8>, LineBreak> {
        let mut pairs = SurrogatePairs::default();
        let (mut out, mut at, mut cuts) = (Vec::new(), 0, cuts.iter().cycle());
        while at < text.len() {
            let end = (at + cuts.next().unwrap_or(&usize::MAX)).min(text.len());
            out.extend_from_slice(&pairs.pass(Bytes::copy_from_slice(&text[at..end]))?);
            at = end;
            assert_eq!(out.len() + pairs.behind(), at);
        }
        out.extend_from_slice(&pairs.finish());
        Ok(out)
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        for cut in [1, 2, 3, 7, 1000] {
            let out = rewrite(text.as_bytes(), &[cut]).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "in pieces of {cut}");
        }
        assert_eq!(text.len(), expected.len());
    }

    #[test]
    fn pairs_become_characters_and_spaces_behind_the_string() {
        check(r#"{"a":"x\ud840\udc00y"}"#, "{\"a\":\"x\u{20000}y\"        }");
        check(r#"["\uD840\uDC00\ud87e\udc1f\""]"#, "[\"\u{20000}\u{2f81f}\\\"\"                ]");
        check(r#"{"\ud840\udc00":1}"#, "{\"\u{20000}\"        :1}");
        for same in [
            r#""\ud83d\ude00""#,
            r#""\ud800\udc00""#,
            r#""\\ud840\\udc00""#,
            r#""\\\\ud840\udc00""#,
            r#""\ud840""#,
            r#""\ud840\n""#,
            r#""\ud840\ud840""#,
            r#""\ud8zz\udc00""#,
            r#""\ud840\u"#,
            r#""\"#,
            "",
        ] {
            check(same, same);
        }
        check(r#""\\\ud840\udc00""#, "\"\\\\\u{20000}\"        ");
        check(r#""\ud840\ud840\udc00""#, "\"\\ud840\u{20000}\"        ");
    }

    #[test]
    fn a_line_break_in_a_string_is_refused() {
        assert_eq!(rewrite(b"\"\\ud840\\udc00\n\"", &[5]), Err(LineBreak));
        assert!(rewrite(b"\"\\ud840\\udc00\"\n", &[5]).is_ok());
    }

    /// Tests the bug in arrow-json. This module can be removed when it is fixed there.
    #[test]
    fn arrow_json_misreads_pairs() {
        assert_eq!(read(br#"{"a":"\ud840\udc00"}"#), ["\u{10000}"]);
    }

    fn read(text: &[u8]) -> Vec<String> {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Utf8, true)]));
        let reader = ReaderBuilder::new(schema).build(text).unwrap();
        let batches: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
        let texts = batches.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter());
        texts.map(|text| text.unwrap_or_default().to_owned()).collect()
    }

    proptest! {
        #[test]
        fn what_arrow_json_reads_is_what_was_written(
            texts in prop::collection::vec(prop::collection::vec(any::<char>(), 0..6), 1..6),
            cuts in prop::collection::vec(1_usize..20, 1..9),
        ) {
            let mut object = String::new();
            for text in &texts {
                object.push_str("{\"a\":\"");
                let mut units = [0; 2];
                for character in text {
                    for unit in character.encode_utf16(&mut units) {
                        object.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                object.push_str("\"}\n");
            }
            let out = rewrite(object.as_bytes(), &cuts).unwrap();
            let breaks = |text: &[u8]| {
                text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect::<Vec<_>>()
            };
            prop_assert_eq!(breaks(&out), breaks(object.as_bytes()));
            let expected: Vec<String> = texts.iter().map(|text| text.iter().collect()).collect();
            prop_assert_eq!(read(&out), expected);
        }

        #[test]
        fn texts_without_pairs_stay_as_they_are(
            text in "[\\\\\"ud8c0-3 a\n]{0,40}",
            cuts in prop::collection::vec(1_usize..20, 1..9),
        ) {
            if let Ok(out) = rewrite(text.as_bytes(), &cuts) {
                prop_assert_eq!(out.len(), text.len());
                prop_assert_eq!(rewrite(text.as_bytes(), &[usize::MAX]).unwrap(), out);
            }
        }
    }
}
