//! Keys of JSON that first come after the records which tell the columns: they are no columns, and a note says so.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;

use arrow::datatypes::Schema;
use memchr::{memchr, memchr2};
use object_store::ObjectStore;

use super::named::TextLayout;
use super::watched::{Watch, watched};
use crate::notes::Notes;

/// A store that one file of JSON, or a part of it, is read from while its keys are compared with the columns.
pub(crate) fn noted(
    store: Arc<dyn ObjectStore>,
    columns: &Schema,
    layout: TextLayout,
    notes: &Arc<Notes>,
    object: &str,
) -> Arc<dyn ObjectStore> {
    let columns = columns.fields().iter().map(|field| field.name().as_bytes().to_vec()).collect();
    let keys = Keys::new(columns, layout == TextLayout::JsonArray);
    let (notes, object) = (Arc::clone(notes), object.to_owned());
    watched(store, UndeclaredKeys { keys, begun: false, is_told: false, notes, object })
}

#[derive(Debug)]
struct UndeclaredKeys {
    keys: Keys,
    /// Whether the first line has begun: a part of a file begins with the end of one before it.
    begun: bool,
    is_told: bool,
    notes: Arc<Notes>,
    object: String,
}

impl Watch for UndeclaredKeys {
    type Error = Infallible;

    fn pass(&mut self, at: u64, bytes: &[u8]) -> Result<(), Infallible> {
        let mut bytes = bytes;
        if self.is_told {
            return Ok(());
        }
        if !self.begun && at > 0 {
            let Some(end) = memchr(b'\n', bytes) else { return Ok(()) };
            bytes = &bytes[end + 1..];
        }
        self.begun = true;
        if let Some(key) = self.keys.pass(bytes) {
            self.is_told = true;
            self.notes.add(format!(
                "the key `{}` of {} first comes after the records that tell the columns, and is none: \
                 read_json('…', sample_size => 100000) looks at more records, and CREATE EXTERNAL TABLE t (…) \
                 declares columns",
                String::from_utf8_lossy(&key),
                self.object
            ));
        }
        Ok(())
    }
}

/// Finds keys of records that are no columns, in a text that is handed over piece by piece.
#[derive(Debug)]
struct Keys {
    columns: HashSet<Vec<u8>>,
    /// How many objects and arrays are open where keys of records are.
    records: u32,
    depth: u32,
    /// Whether the next text, if it is in a record, is a key.
    before_key: bool,
    within: Within,
    /// A key that goes on in the next piece.
    begun: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Key,
    Text,
    /// Behind a backslash in a key or another text.
    Escape(bool),
}

impl Keys {
    fn new(columns: HashSet<Vec<u8>>, in_array: bool) -> Self {
        Self {
            columns,
            records: if in_array { 2 } else { 1 },
            depth: 0,
            before_key: false,
            within: Within::Nothing,
            begun: Vec::new(),
        }
    }

    /// The first key that is no column.
    fn pass(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self.within {
                Within::Escape(of_key) => {
                    if of_key {
                        self.begun.push(rest[0]);
                    }
                    self.within = if of_key { Within::Key } else { Within::Text };
                    at += 1;
                }
                Within::Key | Within::Text => {
                    let of_key = self.within == Within::Key;
                    let end = memchr2(b'"', b'\\', rest);
                    if of_key {
                        self.begun.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
                    }
                    let end = end?;
                    at += end + 1;
                    if rest[end] == b'\\' {
                        self.within = Within::Escape(of_key);
                        if of_key {
                            self.begun.push(b'\\');
                        }
                        continue;
                    }
                    self.within = Within::Nothing;
                    if !of_key {
                        continue;
                    }
                    let key = std::mem::take(&mut self.begun);
                    // What is escaped may be a column.
                    if !self.columns.contains(&key) && !key.contains(&b'\\') {
                        return Some(key);
                    }
                }
                Within::Nothing => {
                    match rest[0] {
                        b'"' if self.before_key && self.depth == self.records => {
                            (self.within, self.before_key) = (Within::Key, false);
                        }
                        b'"' => self.within = Within::Text,
                        open @ (b'{' | b'[') => {
                            self.depth += 1;
                            self.before_key = open == b'{';
                        }
                        b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                        b',' => self.before_key = self.depth == self.records,
                        _ => {}
                    }
                    at += 1;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, in_array: bool, expected: Option<&str>) {
        for piece in 1..=text.len() {
            let columns = ["a", "b", "ü"].map(|name| name.as_bytes().to_vec());
            let mut keys = Keys::new(columns.into(), in_array);
            let found = text.as_bytes().chunks(piece).find_map(|piece| keys.pass(piece));
            let found = found.map(|key| String::from_utf8(key).unwrap());
            assert_eq!(found.as_deref(), expected, "{text} in pieces of {piece}");
        }
    }

    #[test]
    fn keys_of_records_are_compared() {
        check("{\"a\":1,\"b\":\"c\"}\n{\"b\":[1,2],\"a\":null}", false, None);
        check("{\"a\":1}\n{\"c\":1}", false, Some("c"));
        check(
            "{\"a\":{\"c\":1,\"d\":{}},\"b\":[{\"c\":\"x\"},\"y\",[\"z\"]],\"ü\":1}",
            false,
            None,
        );
        check("{\"a\":\"\\\",\\\"c\\\":\",\"b\":\"\\\\\"}", false, None);
        check("{\"a\" : \"x\" ,\n \"b\" : [\"x\" , \"y\"] ,\n \"e\" : 1}", false, Some("e"));
        check("{\"\\u0061\":1}", false, None);
        check("[{\"a\":1},{\"b\":2},{\"d\":3}]", true, Some("d"));
        check("[{\"a\":[{\"c\":1}]}]", true, None);
        check("", false, None);
    }
}
