//! The bounds of each row group of a Parquet object, to estimate which of them a scan reads.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow::datatypes::Schema;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::physical_optimizer::pruning::PruningPredicate;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::ParquetMetaData;

use crate::scan::stored_types::StoredTypes;

/// The bounds of a column in each row group; NULL where they are unknown.
#[derive(Debug)]
struct ColumnBounds {
    least: ArrayRef,
    greatest: ArrayRef,
    nulls: ArrayRef,
}

/// The bounds of the columns, and the rows, of each row group of an object.
#[derive(Debug)]
pub(super) struct RowGroupBounds {
    columns: HashMap<String, ColumnBounds>,
    rows: UInt64Array,
}

impl RowGroupBounds {
    /// Returns the bounds in a footer for the columns of a table. Columns that are stored as other types than declared
    /// have none, and neither has an object of one row group, which is read or left out as a whole.
    pub(super) fn from_footer(footer: &ParquetMetaData, declared: &Schema) -> Self {
        let groups = footer.row_groups();
        let rows = groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or_default());
        let rows = UInt64Array::from_iter_values(rows);
        let columns = match groups {
            [] | [_] => None,
            _ => Self::columns(footer, declared),
        };
        Self { columns: columns.unwrap_or_default(), rows }
    }

    fn columns(
        footer: &ParquetMetaData,
        declared: &Schema,
    ) -> Option<HashMap<String, ColumnBounds>> {
        let stored = footer.file_metadata().schema_descr();
        // The converter finds a column by its position in the schema, which must be that of the file.
        let schema = parquet_to_arrow_schema(stored, None).ok()?;
        let types = StoredTypes::from_footer(footer).ok()?;
        let known = declared.fields().iter().filter(|field| types.check(field).is_ok());
        let columns = known.filter_map(|field| {
            let known = StatisticsConverter::try_new(field.name(), &schema, stored).ok()?;
            let groups = footer.row_groups();
            let bounds = ColumnBounds {
                least: compact(known.row_group_mins(groups).ok()?),
                greatest: compact(known.row_group_maxes(groups).ok()?),
                nulls: compact(Arc::new(known.row_group_null_counts(groups).ok()?)),
            };
            Some((field.name().clone(), bounds))
        });
        Some(columns.collect())
    }

    /// Returns the bounds of row groups with so many rows, without any column.
    #[cfg(test)]
    pub(super) fn of_rows(rows: Vec<u64>) -> Self {
        Self { columns: HashMap::new(), rows: rows.into() }
    }

    /// Returns the rows of each row group.
    pub(super) fn rows(&self) -> &[u64] {
        self.rows.values()
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_size(&self) -> usize {
        let of_column = |(name, it): (&String, &ColumnBounds)| {
            let arrays = [&it.least, &it.greatest, &it.nulls];
            name.len() + arrays.iter().map(|it| it.get_array_memory_size()).sum::<usize>()
        };
        self.rows.get_array_memory_size() + self.columns.iter().map(of_column).sum::<usize>()
    }

    /// Returns for each row group whether a scan with this predicate reads it.
    pub(super) fn kept(&self, predicate: &PruningPredicate) -> Vec<bool> {
        let kept = (!self.columns.is_empty()).then(|| predicate.prune(self).ok()).flatten();
        kept.unwrap_or_else(|| vec![true; self.rows.len()])
    }
}

/// Gives back the room that the builder of an array reserved.
fn compact(mut array: ArrayRef) -> ArrayRef {
    array.shrink_to_fit();
    array
}

impl PruningStatistics for RowGroupBounds {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        Some(Arc::clone(&self.columns.get(&column.name)?.least))
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        Some(Arc::clone(&self.columns.get(&column.name)?.greatest))
    }

    fn num_containers(&self) -> usize {
        self.rows.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        Some(Arc::clone(&self.columns.get(&column.name)?.nulls))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(self.rows.clone()))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

#[cfg(test)]
pub(super) mod tests {
    use arrow::array::{Int64Array, RecordBatch, StringArray};
    use arrow::datatypes::{DataType, Field};
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::{BinaryExpr, col, lit};
    use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    use super::*;

    /// Returns the footer of 30 rows in three row groups: a text that is longer than a number, and a number.
    pub(in super::super) fn footer() -> ParquetMetaData {
        let texts = (0..30).map(|row| format!("a text that is longer than a number, {row:02}"));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..30));
        let batch = RecordBatch::try_from_iter([("s", texts), ("n", numbers)]).unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10)).build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap()
    }

    /// The columns of a table may be in another order than those of the file, or some of them, or of other types.
    #[test]
    fn bounds_are_those_of_the_column_of_the_name() {
        let text = ("s", DataType::Utf8View);
        let kept = |fields: &[(&str, DataType)], column: &str, value: ScalarValue| {
            let fields = fields.iter().map(|(name, of)| Field::new(*name, of.clone(), true));
            let declared = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            let bounds = RowGroupBounds::from_footer(&footer(), &declared);
            assert!(bounds.memory_size() < 4_000, "{}", bounds.memory_size());
            let column = col(column, &declared).unwrap();
            let filter: Arc<dyn PhysicalExpr> =
                Arc::new(BinaryExpr::new(column, Operator::GtEq, lit(value)));
            let predicate = PruningPredicateBuilder::new().with_file_schema(declared);
            bounds.kept(&predicate.try_build(filter).unwrap())
        };
        let last =
            ScalarValue::Utf8View(Some("a text that is longer than a number, 20".to_owned()));
        for declared in [
            vec![text.clone(), ("n", DataType::Int64)],
            vec![("n", DataType::Int64), text.clone()],
            vec![("n", DataType::Int64)],
        ] {
            assert_eq!(kept(&declared, "n", 15_i64.into()), [false, true, true], "{declared:?}");
        }
        let reordered = [("other", DataType::Int64), text];
        assert_eq!(kept(&reordered, "s", last), [false, false, true]);
        let number = ScalarValue::Decimal128(Some(1500), 10, 2);
        let as_decimal = [("s", DataType::Decimal128(10, 2)), ("n", DataType::Decimal128(10, 2))];
        for column in ["s", "n"] {
            assert_eq!(kept(&as_decimal, column, number.clone()), [true; 3], "{column}");
        }
        assert_eq!(kept(&[("none", DataType::Int64)], "none", 15_i64.into()), [true; 3]);
    }
}
