//! Detects keys of JSON that first occur after the sampled records, so that neither columns nor fields of columns
//! have their names, and adds a note.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use arrow::datatypes::{DataType, Fields, Schema};
use memchr::{memchr, memchr2};
use object_store::ObjectStore;

use crate::context::notes::Notes;
use crate::text::byte_observer::{ByteObserver, watched};
use crate::text::located_errors::TextLayout;

/// Wraps the store of one JSON file, or a part of it, so that its keys are compared with the columns.
pub(crate) fn noted(
    store: Arc<dyn ObjectStore>,
    columns: &Schema,
    layout: TextLayout,
    notes: &Arc<Notes>,
    object: &str,
) -> Arc<dyn ObjectStore> {
    let keys = Keys::new(columns.fields(), layout == TextLayout::JsonArray);
    let (notes, object) = (Arc::clone(notes), object.to_owned());
    watched(store, UndeclaredKeys { keys, begun: false, is_told: false, notes, object })
}

#[derive(Debug)]
struct UndeclaredKeys {
    keys: Keys,
    /// True once the first line has begun: a part of a file begins with the end of a line of the part before.
    begun: bool,
    is_told: bool,
    notes: Arc<Notes>,
    object: String,
}

impl ByteObserver for UndeclaredKeys {
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

/// Finds keys of records that are not columns, and nested keys that are not fields of a column, in a text that
/// arrives in pieces.
#[derive(Debug)]
struct Keys {
    shapes: Vec<Shape>,
    /// The shape of a whole record, or of the array of all records.
    root: ShapeId,
    /// The objects and arrays that are open, the innermost last.
    open: Vec<Open>,
    /// True if the next text is a key.
    before_key: bool,
    /// The key whose value comes next, and the shape of the value.
    last_key: (Vec<u8>, Option<ShapeId>),
    within: LexerState,
    /// The bytes of a key that continues in the next piece.
    begun: Vec<u8>,
}

/// The shape of an object or array, by the columns' types.
#[derive(Debug)]
enum Shape {
    /// The names of the fields, with the shapes of those values that are objects or arrays.
    Object(HashMap<Vec<u8>, Option<ShapeId>>),
    Array(Option<ShapeId>),
}

/// An index into [`Keys::shapes`].
type ShapeId = usize;

/// An object or array that is open.
#[derive(Debug)]
struct Open {
    is_object: bool,
    /// The shape by the columns' types. If it is none, keys are not compared.
    shape: Option<ShapeId>,
    /// The key of which this is the value; empty in an array and for a record.
    key: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LexerState {
    Nothing,
    Key,
    Text,
    /// Behind a backslash; true within a key, false within another text.
    Escape(bool),
}

impl Keys {
    fn new(columns: &Fields, in_array: bool) -> Self {
        let mut shapes = Vec::new();
        let record = object(columns, &mut shapes);
        let root = if in_array { added(Shape::Array(Some(record)), &mut shapes) } else { record };
        Self {
            shapes,
            root,
            open: Vec::new(),
            before_key: false,
            last_key: (Vec::new(), None),
            within: LexerState::Nothing,
            begun: Vec::new(),
        }
    }

    /// Handles the start of an object or array.
    fn begin(&mut self, is_object: bool) {
        let (key, shape) = match self.open.last() {
            None => (Vec::new(), Some(self.root)),
            Some(Open { is_object: true, .. }) => std::mem::take(&mut self.last_key),
            Some(Open { is_object: false, shape, .. }) => (
                Vec::new(),
                shape.and_then(|shape| match &self.shapes[shape] {
                    Shape::Array(element) => *element,
                    Shape::Object(_) => None,
                }),
            ),
        };
        // A value of another kind than its column fails when it is parsed.
        let shape =
            shape.filter(|shape| matches!(self.shapes[*shape], Shape::Object(_)) == is_object);
        self.before_key = is_object;
        self.open.push(Open { is_object, shape, key });
    }

    /// Returns the path of a key that is no column and no field of a column; otherwise stores the shape of its value.
    fn compare(&mut self, key: Vec<u8>) -> Option<Vec<u8>> {
        let shape = self.open.last().and_then(|open| open.shape);
        let fields = shape.and_then(|shape| match &self.shapes[shape] {
            Shape::Object(fields) => Some(fields),
            Shape::Array(_) => None,
        });
        // Keys with escapes are not compared: decoded, they may be columns.
        let value = match fields {
            Some(fields) if !key.contains(&b'\\') => match fields.get(&key) {
                Some(value) => *value,
                None => {
                    let parents = self
                        .open
                        .iter()
                        .map(|open| open.key.as_slice())
                        .filter(|key| !key.is_empty());
                    return Some(parents.chain([key.as_slice()]).collect::<Vec<_>>().join(&b'.'));
                }
            },
            _ => None,
        };
        self.last_key = (key, value);
        None
    }

    /// Passes the next piece of the text and returns the path of the first undeclared key in it.
    fn pass(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self.within {
                LexerState::Escape(of_key) => {
                    if of_key {
                        self.begun.push(rest[0]);
                    }
                    self.within = if of_key { LexerState::Key } else { LexerState::Text };
                    at += 1;
                }
                LexerState::Key | LexerState::Text => {
                    let of_key = self.within == LexerState::Key;
                    let end = memchr2(b'"', b'\\', rest);
                    if of_key {
                        self.begun.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
                    }
                    let end = end?;
                    at += end + 1;
                    if rest[end] == b'\\' {
                        self.within = LexerState::Escape(of_key);
                        if of_key {
                            self.begun.push(b'\\');
                        }
                        continue;
                    }
                    self.within = LexerState::Nothing;
                    if !of_key {
                        continue;
                    }
                    let key = std::mem::take(&mut self.begun);
                    if let Some(path) = self.compare(key) {
                        return Some(path);
                    }
                }
                LexerState::Nothing => {
                    match rest[0] {
                        b'"' if self.before_key => {
                            (self.within, self.before_key) = (LexerState::Key, false);
                        }
                        b'"' => self.within = LexerState::Text,
                        b'{' => self.begin(true),
                        b'[' => self.begin(false),
                        b'}' | b']' => {
                            self.open.pop();
                            self.before_key = false;
                        }
                        b',' => {
                            self.before_key = self.open.last().is_some_and(|open| open.is_object)
                        }
                        _ => {}
                    }
                    at += 1;
                }
            }
        }
        None
    }
}

/// Adds the shape of objects with these fields.
fn object(fields: &Fields, shapes: &mut Vec<Shape>) -> ShapeId {
    let fields = fields
        .iter()
        .map(|field| (field.name().as_bytes().to_vec(), shape(field.data_type(), shapes)))
        .collect();
    added(Shape::Object(fields), shapes)
}

/// Adds the shape of values of a type, if they are objects or arrays.
fn shape(data_type: &DataType, shapes: &mut Vec<Shape>) -> Option<ShapeId> {
    match data_type {
        DataType::Struct(fields) => Some(object(fields, shapes)),
        DataType::List(element) | DataType::LargeList(element) => {
            let element = shape(element.data_type(), shapes);
            Some(added(Shape::Array(element), shapes))
        }
        _ => None,
    }
}

fn added(shape: Shape, shapes: &mut Vec<Shape>) -> ShapeId {
    shapes.push(shape);
    shapes.len() - 1
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Field;

    use super::*;

    /// Returns the columns `a` and `b` without nesting, `o` with the fields `x` and `y`, and `l`, a list of objects
    /// with the field `x`.
    fn columns() -> Fields {
        let x = Field::new("x", DataType::Int64, true);
        let y = Field::new("y", DataType::new_list(DataType::Utf8, true), true);
        let object = DataType::Struct(vec![x.clone(), y].into());
        let objects = DataType::new_list(DataType::Struct(vec![x].into()), true);
        let columns = [("a", DataType::Utf8), ("b", DataType::Utf8), ("o", object), ("l", objects)];
        columns.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec().into()
    }

    #[track_caller]
    fn check(text: &str, in_array: bool, expected: Option<&str>) {
        for piece in 1..=text.len() {
            let columns = columns();
            let mut keys = Keys::new(&columns, in_array);
            let found = text.as_bytes().chunks(piece).find_map(|piece| keys.pass(piece));
            let found = found.map(|key| String::from_utf8(key).unwrap());
            assert_eq!(found.as_deref(), expected, "{text} in pieces of {piece}");
        }
    }

    #[test]
    fn keys_of_records_are_compared() {
        check("{\"a\":1,\"b\":\"c\"}\n{\"b\":[1,2],\"a\":null}", false, None);
        check("{\"a\":1}\n{\"c\":1}", false, Some("c"));
        check("{\"a\":{\"c\":1,\"d\":{}},\"b\":[{\"c\":\"x\"},\"y\",[\"z\"]]}", false, None);
        check("{\"a\":\"\\\",\\\"c\\\":\",\"b\":\"\\\\\"}", false, None);
        check("{\"a\" : \"x\" ,\n \"b\" : [\"x\" , \"y\"] ,\n \"e\" : 1}", false, Some("e"));
        check("{\"\\u0061\":1}", false, None);
        check("[{\"a\":1},{\"b\":2},{\"d\":3}]", true, Some("d"));
        check("[{\"a\":[{\"c\":1}]}]", true, None);
        check("{\"ü\":1}", false, Some("ü"));
        check("", false, None);
    }

    #[test]
    fn keys_within_a_column_are_compared_with_its_fields() {
        check("{\"o\":{\"x\":1,\"y\":[\"z\"]},\"l\":[{\"x\":1},{\"x\":2}]}", false, None);
        check("{\"o\":{\"x\":1}}\n{\"a\":1,\"o\":{\"x\":2,\"z\":1}}", false, Some("o.z"));
        check("{\"l\":[{\"x\":1},{\"z\":1}]}", false, Some("l.z"));
        check("[{\"l\":[{\"x\":1}]},{\"o\":{\"y\":[],\"z\":[]},\"q\":1}]", true, Some("o.z"));
        check("{\"o\":{\"x\":{\"q\":1},\"y\":[{\"q\":1}]},\"a\":1}", false, None);
        check("{\"o\":[{\"q\":1}],\"l\":{\"q\":1},\"b\":1}", false, None);
        check("{\"\\u006f\":{\"q\":1},\"c\":1}", false, Some("c"));
    }
}
