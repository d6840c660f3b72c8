//! Converts lists and structs to JSON for CSV, which has no nested values.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow::datatypes::{DataType, Field, Schema};

use super::result_set::write_lines;
use crate::failure::Result;

/// Returns the batch with its nested values as JSON text.
pub(super) fn as_json(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| field.data_type().is_nested()) {
        return Ok(batch.clone());
    }
    let mut fields = Vec::with_capacity(schema.fields().len());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.capacity());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        match field.data_type().is_nested() {
            true => {
                fields.push(Field::new(field.name(), DataType::Utf8, true));
                columns.push(Arc::new(texts(column)?));
            }
            false => {
                fields.push(field.as_ref().clone());
                columns.push(Arc::clone(column));
            }
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
}

/// Converts each value to JSON; NULL stays NULL.
fn texts(column: &ArrayRef) -> Result<StringArray> {
    const BEFORE: &str = "{\"v\":";
    let alone = RecordBatch::try_from_iter_with_nullable([("v", Arc::clone(column), true)])?;
    let mut lines = Vec::new();
    write_lines(&alone, &mut lines)?;
    let lines = String::from_utf8_lossy(&lines);
    let values = lines.lines().map(|line| {
        let value = line.strip_prefix(BEFORE)?.strip_suffix('}')?;
        (value != "null").then_some(value)
    });
    Ok(values.collect())
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn lists_are_json() {
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
        ]);
        let columns: [(&str, ArrayRef); 2] =
            [("l", Arc::new(lists)), ("n", Arc::new(Int64Array::from(vec![1, 2, 3])))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let flat = as_json(&batch).unwrap();
        let expected = StringArray::from(vec![Some("[1,null]"), None, Some("[]")]);
        assert_eq!(flat.column(0).as_ref(), &expected as &dyn arrow::array::Array);
        assert_eq!(flat.column(1), batch.column(1));
    }
}
