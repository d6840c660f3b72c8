//! Late materialization: columns that do not cross the switch are fetched for the rows that did.

use std::fmt;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use datafusion::physical_expr::expressions::Column;

use super::words::Field;

/// The columns that no packet holds. The workers keep them, and the master fetches them by the row's identifier,
/// which every packet carries (Cheetah, §7.1). The master fetches them for every row that the switch forwarded,
/// before its own operator. It would fetch less if it first computed the answer from the packets and then fetched
/// only the rows of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateColumns {
    columns: Vec<usize>,
    names: Vec<String>,
}

impl LateColumns {
    /// Returns the columns of `schema` that cannot be decoded from `fields`, which are all columns without a
    /// one-to-one code.
    pub(crate) fn new(fields: &[Field], schema: &Schema) -> Self {
        let carried = |at: usize| {
            fields.iter().flat_map(|field| field.carried(schema)).any(|expr| {
                expr.downcast_ref::<Column>().is_some_and(|column| column.index() == at)
            })
        };
        let columns: Vec<usize> = (0..schema.fields().len()).filter(|at| !carried(*at)).collect();
        let names = columns.iter().map(|at| schema.field(*at).name().clone()).collect();
        Self { columns, names }
    }

    /// Returns the indexes of these columns.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Returns true if packets hold whole rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the bytes of the values that are fetched for the rows of `batch`. A NULL has none.
    pub(crate) fn bytes(&self, batch: &RecordBatch) -> usize {
        self.columns.iter().map(|at| value_bytes(batch.column(*at).as_ref())).sum()
    }
}

impl fmt::Display for LateColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(", "))
    }
}

/// Returns the bytes of an array's values, without offsets and validity.
fn value_bytes(array: &dyn Array) -> usize {
    let present = array.len() - array.null_count();
    match array.data_type() {
        DataType::Boolean => present,
        DataType::Utf8 => spread(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => spread(array.as_string::<i64>().value_offsets()),
        DataType::Binary => spread(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => spread(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => viewed(array, array.as_string_view().lengths()),
        DataType::BinaryView => viewed(array, array.as_binary_view().lengths()),
        other => match other.primitive_width() {
            Some(width) => present * width,
            None => array.to_data().get_slice_memory_size().unwrap_or(0),
        },
    }
}

fn spread<T: Copy + TryInto<usize>>(offsets: &[T]) -> usize {
    let at = |offset: Option<&T>| offset.and_then(|at| (*at).try_into().ok()).unwrap_or(0);
    at(offsets.last()) - at(offsets.first())
}

fn viewed(array: &dyn Array, lengths: impl Iterator<Item = u32>) -> usize {
    let lengths = lengths.map(|length| length as usize);
    match array.nulls() {
        None => lengths.sum(),
        Some(valid) => {
            lengths.zip(valid).map(|(length, valid)| if valid { length } else { 0 }).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray, StringViewArray};

    use super::*;

    #[test]
    fn values_are_counted_and_nulls_are_not() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("abc"), None, Some("é")]));
        let views: ArrayRef = Arc::new(StringViewArray::from(vec![
            Some("a text that does not fit into a view"),
            None,
            Some("short"),
        ]));
        assert_eq!(value_bytes(&numbers), 16);
        assert_eq!(value_bytes(&texts), 5);
        assert_eq!(value_bytes(&texts.slice(1, 2)), 2);
        assert_eq!(value_bytes(&views), 36 + 5);
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts), ("v", views)]);
        let late = LateColumns::new(&[], batch.as_ref().unwrap().schema_ref());
        assert_eq!(late.to_string(), "n, t, v");
        assert_eq!(late.bytes(&batch.unwrap()), 16 + 5 + 41);
    }
}
