//! Columns of truth values.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, BooleanBufferBuilder, NullBufferBuilder};

use super::super::Item;
use super::column::{Column, Taken, put_absent, put_decoded};
use crate::batch::Codes;
use crate::vector::{Data, Truth, Vector};
use sluicegate_s3select::value::Value;

/// Collects truth values.
pub(super) struct BooleanColumn {
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
}

impl BooleanColumn {
    pub(super) fn new() -> Self {
        Self { values: BooleanBufferBuilder::new(0), nulls: NullBufferBuilder::new(0) }
    }

    fn put_truth(&mut self, truth: Truth) {
        self.values.append(truth == Truth::True);
        self.nulls.append(matches!(truth, Truth::True | Truth::False));
    }
}

impl Column for BooleanColumn {
    fn put(&mut self, item: Item<'_>) -> Option<()> {
        self.put_truth(match item {
            Item::Value(Value::Bool(truth)) => Truth::from(*truth),
            Item::Value(Value::Null | Value::Missing) => Truth::Null,
            _ => return None,
        });
        Some(())
    }

    fn put_typed(&mut self, vector: &Vector, rows: Taken<'_>, _: &[u8], _: usize) -> Option<()> {
        match &vector.data {
            Data::Bool(truths) => rows.iter().for_each(|row| self.put_truth(truths[row])),
            _ => put_absent(vector, rows, || self.put_truth(Truth::Null))?,
        }
        Some(())
    }

    fn put_codes(&mut self, codes: Codes<'_>, rows: Taken<'_>, most: usize) -> Option<()> {
        put_decoded(self, codes, rows, most)
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(BooleanArray::new(self.values.finish(), self.nulls.finish()))
    }
}
