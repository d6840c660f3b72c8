//! Where the JSON objects of a text begin and end.

use std::ops::Range;

/// Finds JSON objects that follow each other in a text that is fed to it piece by piece.
///
/// The records cover the text up to the end of the last object: what stands between two belongs to the
/// second. That a text is JSON at all is for DataFusion's reader to say; so is the number of its rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonRecords {
    /// How many objects and arrays are open.
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// Bytes that were read.
    read: u64,
    /// The first byte of the record that is being read.
    start: u64,
}

impl JsonRecords {
    /// Whether an object or array has begun and not ended.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.depth > 0
    }

    /// Reads on; `found` is given the bytes of each object that ends.
    pub fn feed(&mut self, input: &[u8], mut found: impl FnMut(Range<u64>)) {
        for byte in input {
            self.read += 1;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        found(self.start..self.read);
                        self.start = self.read;
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        for piece in [1, 2, 3, 1000] {
            let mut records = JsonRecords::default();
            let mut found = Vec::new();
            for piece in text.as_bytes().chunks(piece) {
                records.feed(piece, |record| found.push(record));
            }
            let found: Vec<_> = found
                .into_iter()
                .map(|record| &text[record.start as usize..record.end as usize])
                .collect();
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn objects_end_where_their_braces_do() {
        check("", &[]);
        check("{\"a\":1}\n{\"a\":2}\n", &["{\"a\":1}", "\n{\"a\":2}"]);
        check("{\"a\":{\"b\":[{}]}} {}", &["{\"a\":{\"b\":[{}]}}", " {}"]);
        check(r#"{"}":"{\"}"}{"a":"\\"}"#, &[r#"{"}":"{\"}"}"#, r#"{"a":"\\"}"#]);
        check("{\"a\":\"é\"}\r\n\r\n{}", &["{\"a\":\"é\"}", "\r\n\r\n{}"]);
        check("}{}{", &["}{}"]);
    }
}
