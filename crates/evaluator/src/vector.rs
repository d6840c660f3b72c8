//! The values of one expression for the rows of a batch.

use arrow::buffer::Buffer;

use super::selection::Rows;
use sluicegate_s3select::value::{Decimal, Timestamp, Value};

/// The position of a text value in its [`Heap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    /// MISSING: the field does not exist.
    pub(crate) const MISSING: Self = Self { start: u32::MAX, len: 0 };
    /// SQL's NULL.
    pub(crate) const NULL: Self = Self { start: u32::MAX - 1, len: 0 };

    #[inline(always)]
    pub(crate) fn new(start: u32, len: u32) -> Self {
        Self { start, len }
    }

    /// Returns whether there is no text: NULL or MISSING.
    #[inline(always)]
    pub(crate) fn is_absent(self) -> bool {
        self.start >= u32::MAX - 1
    }

    #[inline(always)]
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    /// Returns the text. It is empty for a span outside `heap`, as spans of absent values are.
    #[inline(always)]
    pub(crate) fn slice(self, heap: &[u8]) -> &[u8] {
        heap.get(self.start()..self.start() + self.len()).unwrap_or_default()
    }

    /// Returns whether the value is present, NULL or MISSING.
    #[inline(always)]
    pub(crate) fn tag(self) -> Tag {
        match self.start {
            u32::MAX => Tag::Missing,
            start if start == Self::NULL.start => Tag::Null,
            _ => Tag::Present,
        }
    }

    pub(crate) fn absent(tag: Tag) -> Self {
        if tag == Tag::Missing { Self::MISSING } else { Self::NULL }
    }
}

/// The presence of a row's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum Tag {
    #[default]
    Present,
    Null,
    Missing,
}

/// The tags of a vector's rows; no storage while all are present.
#[derive(Debug, Default)]
pub(crate) struct Tags(Vec<Tag>);

impl Tags {
    #[inline(always)]
    pub(crate) fn all_present(&self) -> bool {
        self.0.is_empty()
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> Tag {
        if self.0.is_empty() { Tag::Present } else { self.0[row] }
    }

    /// Marks a row of a batch of `rows` rows.
    #[inline(never)]
    pub(crate) fn set(&mut self, row: usize, tag: Tag, rows: usize) {
        if self.0.is_empty() {
            self.0.resize(rows, Tag::Present);
        }
        self.0[row] = tag;
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The bytes that spans of a vector point into.
#[derive(Debug, Clone, Default)]
pub(crate) enum Heap {
    /// The block of the object that the batch was read from.
    #[default]
    Block,
    /// Bytes made for this vector.
    Owned(Vec<u8>),
    /// Bytes owned elsewhere, such as a constant or an Arrow buffer.
    Shared(Buffer),
}

impl Heap {
    #[inline]
    pub(crate) fn bytes<'a>(&'a self, block: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Block => block,
            Self::Owned(bytes) => bytes,
            Self::Shared(buffer) => buffer,
        }
    }
}

/// SQL's truth values, and MISSING.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum Truth {
    #[default]
    False,
    True,
    Null,
    Missing,
}

impl From<bool> for Truth {
    #[inline(always)]
    fn from(truth: bool) -> Self {
        if truth { Self::True } else { Self::False }
    }
}

impl From<Tag> for Truth {
    #[inline(always)]
    fn from(tag: Tag) -> Self {
        if tag == Tag::Missing { Self::Missing } else { Self::Null }
    }
}

/// The values, by representation. Element `r` is row `r` of the batch; elements of rows that an expression was not
/// evaluated for are arbitrary.
#[derive(Debug)]
pub(crate) enum Data {
    /// One value for every row.
    Constant(Value),
    /// Truth values; these need no tags.
    Bool(Vec<Truth>),
    /// Integers of 64 bits.
    Int(Vec<i64>),
    /// Floating-point numbers of 64 bits.
    Float(Vec<f64>),
    /// Decimals, each with its own scale.
    Decimal(Vec<Decimal>),
    /// Timestamps with tags for absent ones.
    Timestamp(Vec<Timestamp>),
    /// Text, with absence in the spans. It need not be UTF-8 unless its producer checked it.
    Text(Vec<Span>, Heap),
    /// Values of any type, including NULL and MISSING.
    Dynamic(Vec<Value>),
}

/// The representation of an expression's values, known before it runs. If it is unknown, the kind is `Dynamic`, and
/// each batch has the representation that suits its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Float,
    Decimal,
    Timestamp,
    Text,
    Dynamic,
}

/// The values of one expression.
#[derive(Debug)]
pub(crate) struct Vector {
    pub(crate) data: Data,
    pub(crate) tags: Tags,
}

impl Default for Vector {
    fn default() -> Self {
        Self { data: Data::Constant(Value::Missing), tags: Tags::default() }
    }
}

/// Gives the vector the representation `$variant` with space for `$rows` rows, reusing its memory.
macro_rules! reuse {
    ($name:ident, $variant:ident, $type:ty, $default:expr) => {
        #[doc = concat!("Space for `rows` values as `", stringify!($variant), "`, all present.")]
        pub(crate) fn $name(&mut self, rows: usize) -> (&mut [$type], &mut Tags) {
            self.tags.clear();
            if !matches!(self.data, Data::$variant(..)) {
                self.data = Data::$variant(Vec::new());
            }
            let Data::$variant(values) = &mut self.data else { return (&mut [], &mut self.tags) };
            if values.len() < rows {
                values.resize(rows, $default);
            }
            (&mut values[..rows], &mut self.tags)
        }
    };
}

impl Vector {
    /// Returns the number of bytes of text made for this vector.
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.data {
            Data::Text(_, Heap::Owned(text)) => text.capacity(),
            Data::Dynamic(values) => values.iter().map(text_bytes_of).sum(),
            _ => 0,
        }
    }

    pub(crate) fn constant(value: Value) -> Self {
        Self { data: Data::Constant(value), tags: Tags::default() }
    }

    reuse!(bools, Bool, Truth, Truth::False);
    reuse!(ints, Int, i64, 0);
    reuse!(floats, Float, f64, 0.0);
    reuse!(decimals, Decimal, Decimal, Decimal::ZERO);
    reuse!(timestamps, Timestamp, Timestamp, Timestamp::EPOCH);
    reuse!(values, Dynamic, Value, Value::Missing);

    /// Makes space for `rows` texts in `heap`.
    pub(crate) fn texts(&mut self, rows: usize, heap: Heap) -> &mut [Span] {
        self.tags.clear();
        match &mut self.data {
            Data::Text(_, old) => *old = heap,
            data => *data = Data::Text(Vec::new(), heap),
        }
        let Data::Text(spans, _) = &mut self.data else { return &mut [] };
        if spans.len() < rows {
            spans.resize(rows, Span::default());
        }
        &mut spans[..rows]
    }

    /// Gives each of `rows` the value at its position in `codes`. The codes must be within `values`.
    pub(crate) fn gather(&mut self, values: &Self, codes: &[u32], rows: Rows<'_>) {
        let batch_rows = codes.len();
        macro_rules! copy {
            ($from:expr, $to:expr) => {{
                let (from, to) = ($from, $to);
                rows.for_each(|row| to[row] = from[codes[row] as usize].clone());
            }};
        }
        match &values.data {
            Data::Constant(value) => *self = Self::constant(value.clone()),
            Data::Bool(from) => copy!(from, self.bools(batch_rows).0),
            Data::Int(from) => copy!(from, self.ints(batch_rows).0),
            Data::Float(from) => copy!(from, self.floats(batch_rows).0),
            Data::Decimal(from) => copy!(from, self.decimals(batch_rows).0),
            Data::Timestamp(from) => copy!(from, self.timestamps(batch_rows).0),
            Data::Text(from, heap) => copy!(from, self.texts(batch_rows, heap.clone())),
            Data::Dynamic(from) => copy!(from, self.values(batch_rows).0),
        }
        if !values.tags.all_present() {
            rows.for_each(|row| match values.tags.get(codes[row] as usize) {
                Tag::Present => {}
                tag => self.tags.set(row, tag, batch_rows),
            });
        }
    }

    /// Appends the first `count` values of another vector after the first `before` values of this one. Returns false
    /// if the representations differ, or if that of `other` is constant or dynamic.
    pub(crate) fn append(&mut self, before: usize, other: &Self, count: usize) -> bool {
        let rows = before + count;
        macro_rules! extend {
            ($variant:ident, $from:expr) => {{
                if before == 0 {
                    self.data = Data::$variant(Vec::new());
                }
                let Data::$variant(to) = &mut self.data else { return false };
                to.truncate(before);
                to.extend_from_slice(&$from[..count]);
            }};
        }
        match &other.data {
            Data::Bool(from) => extend!(Bool, from),
            Data::Int(from) => extend!(Int, from),
            Data::Float(from) => extend!(Float, from),
            Data::Decimal(from) => extend!(Decimal, from),
            Data::Timestamp(from) => extend!(Timestamp, from),
            Data::Text(from, heap) => {
                if before == 0 {
                    self.data = Data::Text(Vec::new(), Heap::Owned(Vec::new()));
                }
                let Data::Text(to, Heap::Owned(text)) = &mut self.data else { return false };
                to.truncate(before);
                let bytes = heap.bytes(&[]);
                for span in &from[..count] {
                    let part = span.slice(bytes);
                    if text.len() + part.len() > Span::NULL.start() {
                        return false;
                    }
                    let start = text.len() as u32;
                    to.push(if span.is_absent() { *span } else { Span::new(start, span.len) });
                    text.extend_from_slice(part);
                }
            }
            Data::Constant(_) | Data::Dynamic(_) => return false,
        }
        if before == 0 {
            self.tags.clear();
        } else if !self.tags.all_present() {
            self.tags.0.resize(rows, Tag::Present);
        }
        if !other.tags.all_present() {
            (0..count).for_each(|row| match other.tags.get(row) {
                Tag::Present => {}
                tag => self.tags.set(before + row, tag, rows),
            });
        }
        true
    }

    /// Lets copies of the vector share its texts.
    pub(crate) fn share_text(&mut self) {
        if let Data::Text(_, heap) = &mut self.data
            && let Heap::Owned(text) = heap
        {
            *heap = Heap::Shared(Buffer::from_vec(std::mem::take(text)));
        }
    }

    /// Returns the size of the values in bytes, without memory that single values own.
    pub(crate) fn bytes(&self) -> usize {
        let values = match &self.data {
            Data::Constant(_) => 0,
            Data::Bool(values) => size_of_val(&values[..]),
            Data::Int(values) => size_of_val(&values[..]),
            Data::Float(values) => size_of_val(&values[..]),
            Data::Decimal(values) => size_of_val(&values[..]),
            Data::Timestamp(values) => size_of_val(&values[..]),
            Data::Text(values, heap) => size_of_val(&values[..]) + heap.bytes(&[]).len(),
            Data::Dynamic(values) => size_of_val(&values[..]),
        };
        values + size_of_val(&self.tags.0[..])
    }

    /// Sets the heap of texts after they were written.
    pub(crate) fn set_heap(&mut self, heap: Heap) {
        if let Data::Text(_, old) = &mut self.data {
            *old = heap;
        }
    }

    /// Returns the value of a row; `block` is that of its batch. Text that is not UTF-8 gives `None`.
    pub(crate) fn value(&self, row: usize, block: &[u8]) -> Option<Value> {
        match self.tags.get(row) {
            Tag::Present => {}
            Tag::Null => return Some(Value::Null),
            Tag::Missing => return Some(Value::Missing),
        }
        Some(match &self.data {
            Data::Constant(value) => value.clone(),
            Data::Bool(truths) => match truths[row] {
                Truth::False => Value::Bool(false),
                Truth::True => Value::Bool(true),
                Truth::Null => Value::Null,
                Truth::Missing => Value::Missing,
            },
            Data::Int(ints) => Value::Int(ints[row]),
            Data::Float(floats) => Value::Float(floats[row]),
            Data::Decimal(decimals) => Value::Decimal(decimals[row]),
            Data::Timestamp(timestamps) => Value::Timestamp(timestamps[row]),
            Data::Text(spans, heap) => match spans[row].tag() {
                Tag::Null => Value::Null,
                Tag::Missing => Value::Missing,
                Tag::Present => {
                    let text = spans[row].slice(heap.bytes(block));
                    Value::String(std::str::from_utf8(text).ok()?.into())
                }
            },
            Data::Dynamic(values) => values[row].clone(),
        })
    }

    /// Returns whether a row's value is present, NULL or MISSING.
    #[inline]
    pub(crate) fn tag(&self, row: usize) -> Tag {
        match &self.data {
            Data::Constant(value) => tag_of(value),
            Data::Bool(truths) => match truths[row] {
                Truth::False | Truth::True => Tag::Present,
                Truth::Null => Tag::Null,
                Truth::Missing => Tag::Missing,
            },
            Data::Text(spans, _) => spans[row].tag(),
            Data::Dynamic(values) => tag_of(&values[row]),
            _ => self.tags.get(row),
        }
    }
}

/// Returns the number of bytes of text in a value.
pub(crate) fn text_bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::List(values) => values.iter().map(text_bytes_of).sum(),
        Value::Struct(fields) => fields.iter().map(|(_, value)| text_bytes_of(value)).sum(),
        _ => 0,
    }
}

/// Returns whether a value is present, NULL or MISSING.
pub(crate) fn tag_of(value: &Value) -> Tag {
    match value {
        Value::Missing => Tag::Missing,
        Value::Null => Tag::Null,
        _ => Tag::Present,
    }
}
