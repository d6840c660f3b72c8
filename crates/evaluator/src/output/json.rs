//! Writes rows as JSON objects.

use super::Item;
use sluicegate_s3select::value::{Value, write_int};

#[derive(Debug)]
pub(super) struct JsonWriter {
    record_delimiter: Vec<u8>,
    fields: usize,
}

impl JsonWriter {
    pub(super) fn new(record_delimiter: &str) -> Self {
        Self { record_delimiter: record_delimiter.as_bytes().to_vec(), fields: 0 }
    }

    pub(super) fn begin(&mut self, out: &mut Vec<u8>) {
        self.fields = 0;
        out.push(b'{');
    }

    pub(super) fn put(&mut self, key: &[u8], item: Item<'_>, out: &mut Vec<u8>) {
        if matches!(item, Item::Value(Value::Missing)) {
            return;
        }
        if self.fields > 0 {
            out.push(b',');
        }
        self.fields += 1;
        out.extend_from_slice(key);
        match item {
            Item::Text(text) => write_string(text, out),
            Item::Value(value) => value.write_json(out),
            Item::Int(int) => write_int(int, out),
            Item::Decimal(decimal) => decimal.write(out),
            Item::Timestamp(time) => Value::Timestamp(time).write_json(out),
        }
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        out.push(b'}');
        out.extend_from_slice(&self.record_delimiter);
    }
}

/// Appends text as a JSON string.
pub(super) fn write_string(text: &[u8], out: &mut Vec<u8>) {
    sluicegate_s3select::value::write_json_string(text, out);
}
