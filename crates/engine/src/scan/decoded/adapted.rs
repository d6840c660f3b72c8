//! Gives the rows of a file the columns of its table, by name.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow::compute::nullif;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_expr_adapter::{BatchAdapter, BatchAdapterFactory};

/// Finds the columns of a table in the rows of one file, and converts their types. Columns that the file lacks are
/// NULL.
pub(super) struct Adapter {
    /// The columns of the table that are read.
    columns: SchemaRef,
    /// The adapter for the columns of the rows so far, which are the same in all rows of a file.
    known: Option<(SchemaRef, BatchAdapter)>,
}

impl Adapter {
    /// Creates an adapter to these columns.
    pub(super) fn new(columns: SchemaRef) -> Self {
        Self { columns, known: None }
    }

    /// Converts rows.
    ///
    /// # Errors
    ///
    /// If a column has values that its type in the table does not hold.
    pub(super) fn adapt(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let adapted = self.adapt_columns(rows)?;
        if !adapted.columns().iter().any(|column| column.data_type().is_nested()) {
            return Ok(adapted);
        }
        let columns = adapted.columns().iter().map(masked).collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new(adapted.schema(), columns)?)
    }

    fn adapt_columns(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        if self.columns.fields().is_empty() {
            let count = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
            let columns = self.columns.clone();
            return Ok(RecordBatch::try_new_with_options(columns, Vec::new(), &count)?);
        }
        let schema = rows.schema();
        if rows.schema_ref() == &self.columns {
            return Ok(rows.clone());
        }
        if !matches!(&self.known, Some((known, _)) if *known == schema) {
            let adapter = BatchAdapterFactory::new(self.columns.clone()).make_adapter(&schema)?;
            self.known = Some((schema, adapter));
        }
        match &self.known {
            Some((_, adapter)) => adapter.adapt_batch(rows),
            None => Ok(rows.clone()),
        }
    }
}

/// Makes the fields of objects NULL where the object is. Writers may leave any value there, and `place['city']` returns
/// it.
fn masked(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Struct(fields) => {
            let object = column.as_struct();
            let nulls = object.nulls().filter(|nulls| nulls.null_count() > 0);
            let is_null = nulls.map(|nulls| BooleanArray::new(!nulls.inner(), None));
            let values = object.columns().iter().map(|value| {
                let value = match &is_null {
                    Some(is_null) => nullif(value, is_null)?,
                    None => Arc::clone(value),
                };
                masked(&value)
            });
            let values = values.collect::<Result<Vec<_>>>()?;
            let length = object.len();
            let nulls = object.nulls().cloned();
            let object = StructArray::try_new_with_length(fields.clone(), values, nulls, length)?;
            Ok(Arc::new(object))
        }
        DataType::List(item) if item.data_type().is_nested() => {
            let list = column.as_list::<i32>();
            let (item, offsets, values, nulls) = (
                Arc::clone(item),
                list.offsets().clone(),
                masked(list.values())?,
                list.nulls().cloned(),
            );
            Ok(Arc::new(ListArray::try_new(item, offsets, values, nulls)?))
        }
        _ => Ok(Arc::clone(column)),
    }
}
