//! Finds where the JSON objects of a text begin and end.

use std::ops::Range;

/// Finds JSON objects that follow each other in a text that arrives in pieces.
///
/// The records cover the text up to the end of the last object: bytes between two objects belong to the second.
/// Invalid JSON is not detected here but by DataFusion's reader, which also counts the rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonRecords {
    /// The number of open objects and arrays.
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The number of bytes read.
    read: u64,
    /// The first byte of the record that is being read.
    start: u64,
}

impl JsonRecords {
    /// Returns true if an object or array is open.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.depth > 0
    }

    /// Reads the next bytes; `found` is called with the range of each object that ends.
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
