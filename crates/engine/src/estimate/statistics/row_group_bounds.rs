//! The bounds of each row group of a Parquet object, to estimate which of them a scan reads.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use arrow::datatypes::Schema;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::physical_optimizer::pruning::PruningPredicate;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::ParquetMetaData;

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
    /// Returns the bounds in a footer for the columns of a table. Columns that are stored as other types have none.
    pub(super) fn from_footer(footer: &ParquetMetaData, declared: &Schema) -> Self {
        let (groups, stored) = (footer.row_groups(), footer.file_metadata().schema_descr());
        let columns = declared.fields().iter().filter_map(|field| {
            let known = StatisticsConverter::try_new(field.name(), declared, stored).ok()?;
            let bounds = ColumnBounds {
                least: known.row_group_mins(groups).ok()?,
                greatest: known.row_group_maxes(groups).ok()?,
                nulls: Arc::new(known.row_group_null_counts(groups).ok()?),
            };
            Some((field.name().clone(), bounds))
        });
        let rows = groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or_default());
        Self { columns: columns.collect(), rows: rows.collect() }
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

    /// Returns for each row group whether a scan with this predicate reads it.
    pub(super) fn kept(&self, predicate: &PruningPredicate) -> Vec<bool> {
        predicate.prune(self).unwrap_or_else(|_| vec![true; self.rows.len()])
    }
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
