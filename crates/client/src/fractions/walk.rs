//! A walk through JSON values of any layout, in a text that is passed in pieces.

use std::mem;

use arrow::datatypes::{DataType, Fields};
use memchr::memchr2;

/// The part of a schema that leads to whole numbers. [`Tree::ROOT`] is a record.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    /// A value without whole numbers.
    Other,
    Whole,
    /// An object, with the nodes of its fields by name.
    Struct(Vec<(String, usize)>),
    List(usize),
}

impl Tree {
    const OTHER: usize = 0;
    const ROOT: usize = 1;
    /// The node of an array of records, which may be the whole text.
    const RECORDS: usize = 2;

    pub(super) fn from_fields(fields: &Fields) -> Self {
        let nodes = vec![Node::Other, Node::Struct(Vec::new()), Node::List(Self::ROOT)];
        let mut tree = Self { nodes };
        let fields = tree.fields(fields);
        tree.nodes[Self::ROOT] = Node::Struct(fields);
        tree
    }

    fn fields(&mut self, fields: &Fields) -> Vec<(String, usize)> {
        let node = |field: &arrow::datatypes::FieldRef| {
            (field.name().clone(), self.add(field.data_type()))
        };
        fields.iter().map(node).collect()
    }

    fn add(&mut self, data_type: &DataType) -> usize {
        let node = match data_type {
            whole if whole.is_integer() => Node::Whole,
            DataType::Struct(fields) => Node::Struct(self.fields(fields)),
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                Node::List(self.add(item.data_type()))
            }
            _ => return Self::OTHER,
        };
        self.nodes.push(node);
        self.nodes.len() - 1
    }
}

/// A fraction in place of a whole number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FractionMatch {
    /// The offset of its end in the bytes passed.
    pub(super) at: usize,
    pub(super) column: String,
    pub(super) value: String,
}

/// The position in a text.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The objects and arrays that are open.
    open: Vec<Open>,
    /// The number of open values below [`DEEPEST`], which contain no columns.
    deeper: usize,
    token: Token,
    /// The key or the number that is being read.
    read: Vec<u8>,
    /// True if the text so far is not valid JSON.
    broken: bool,
}

#[derive(Debug)]
struct Open {
    node: usize,
    is_object: bool,
    /// For an object, true if a key is next; otherwise `field` is the index of the value's field, if the schema has
    /// it.
    key_next: bool,
    field: Option<usize>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Token {
    #[default]
    Between,
    Key,
    Text,
    /// After a backslash in a key.
    EscapedInKey,
    EscapedInText,
    Number,
}

/// The maximum depth of columns.
const DEEPEST: usize = 1024;
/// The maximum length of a key that is compared, in bytes.
const LONGEST_KEY: usize = 64 << 10;

impl Walk {
    /// Returns true if no value is open and everything before was JSON.
    pub(super) fn is_between_values(&self) -> bool {
        self.open.is_empty() && self.token == Token::Between && !self.broken
    }

    /// Continues with the next bytes of the text, up to the end of the outermost open value or of the bytes. Returns
    /// the number of bytes consumed.
    ///
    /// # Errors
    ///
    /// Returns the first fraction in place of a whole number.
    pub(super) fn pass(&mut self, tree: &Tree, bytes: &[u8]) -> Result<usize, FractionMatch> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match self.token {
                Token::Between => {
                    at += 1;
                    if self.between(tree, *byte) {
                        return Ok(at);
                    }
                }
                Token::EscapedInKey | Token::EscapedInText => {
                    let in_key = self.token == Token::EscapedInKey;
                    self.keep(in_key, &[*byte]);
                    self.token = if in_key { Token::Key } else { Token::Text };
                    at += 1;
                }
                Token::Key | Token::Text => {
                    let in_key = self.token == Token::Key;
                    let rest = &bytes[at..];
                    let end = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                    self.keep(in_key, &rest[..end]);
                    at += end + 1;
                    match rest.get(end) {
                        Some(b'\\') => {
                            self.keep(in_key, b"\\");
                            self.token =
                                if in_key { Token::EscapedInKey } else { Token::EscapedInText };
                        }
                        Some(_) => {
                            self.token = Token::Between;
                            if in_key {
                                self.end_key(tree);
                            }
                        }
                        None => {}
                    }
                }
                Token::Number if is_of_number(*byte) => {
                    self.read.push(*byte);
                    at += 1;
                }
                Token::Number => {
                    self.token = Token::Between;
                    self.end_number(tree, at)?;
                }
            }
        }
        Ok(bytes.len())
    }

    /// Handles a byte outside of strings and numbers. Returns true if it closes the outermost value.
    fn between(&mut self, tree: &Tree, byte: u8) -> bool {
        match byte {
            b'"' => {
                let is_key = self.open.last().is_some_and(|open| open.key_next);
                self.read.clear();
                self.token = if is_key { Token::Key } else { Token::Text };
            }
            b'{' | b'[' if self.open.len() == DEEPEST => self.deeper += 1,
            b'}' | b']' if self.deeper > 0 => self.deeper -= 1,
            b'{' | b'[' => {
                let is_object = byte == b'{';
                let mut node = self.value(tree);
                if self.open.is_empty() && !is_object {
                    node = Tree::RECORDS;
                }
                self.open.push(Open { node, is_object, key_next: is_object, field: None });
            }
            b'}' | b']' => {
                let closed = self.open.pop();
                self.broken |= closed.is_none_or(|it| it.is_object != (byte == b'}'));
                return self.open.is_empty();
            }
            // Each item of an array may have a line of its own.
            b',' => {
                if let Some(open) = self.open.last_mut() {
                    (open.key_next, open.field) = (open.is_object, None);
                }
            }
            b':' => match self.open.last_mut() {
                Some(open) => open.key_next = false,
                None => self.broken = true,
            },
            b'-' | b'0'..=b'9' => {
                self.read.clear();
                self.read.push(byte);
                self.token = Token::Number;
            }
            _ => {}
        }
        false
    }

    fn keep(&mut self, in_key: bool, bytes: &[u8]) {
        if in_key && self.read.len() <= LONGEST_KEY {
            self.read.extend_from_slice(bytes);
        }
    }

    /// Returns the node of the next value.
    fn value(&self, tree: &Tree) -> usize {
        let Some(open) = self.open.last() else { return Tree::ROOT };
        if self.deeper > 0 {
            return Tree::OTHER;
        }
        match (&tree.nodes[open.node], open.field) {
            (Node::Struct(fields), Some(field)) if open.is_object => fields[field].1,
            (Node::List(item), _) if !open.is_object => *item,
            _ => Tree::OTHER,
        }
    }

    fn end_key(&mut self, tree: &Tree) {
        let key = mem::take(&mut self.read);
        let Some(open) = self.open.last_mut() else { return };
        if let Node::Struct(fields) = &tree.nodes[open.node] {
            open.field = if key.contains(&b'\\') {
                let quoted = [b"\"", key.as_slice(), b"\""].concat();
                let name = serde_json::from_slice::<String>(&quoted).ok();
                fields.iter().position(|(field, _)| Some(field) == name.as_ref())
            } else {
                fields.iter().position(|(field, _)| field.as_bytes() == key)
            };
        }
        self.read = key;
    }

    fn end_number(&mut self, tree: &Tree, at: usize) -> Result<(), FractionMatch> {
        if !matches!(tree.nodes[self.value(tree)], Node::Whole) || !has_fraction(&self.read) {
            return Ok(());
        }
        let mut column = String::new();
        for open in &self.open {
            if let (Node::Struct(fields), Some(field)) = (&tree.nodes[open.node], open.field) {
                let dot = if column.is_empty() { "" } else { "." };
                column = format!("{column}{dot}{}", fields[field].0);
            }
        }
        let value = String::from_utf8_lossy(&self.read).into_owned();
        Err(FractionMatch { at, column, value })
    }
}

pub(super) fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')
}

/// Returns true if the number has a fractional part. A whole number such as `2.0` has none.
pub(super) fn has_fraction(number: &[u8]) -> bool {
    let is_whole = number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
    let value = || std::str::from_utf8(number).ok()?.parse::<f64>().ok();
    !is_whole && value().is_some_and(|value| value.fract() != 0.0)
}
