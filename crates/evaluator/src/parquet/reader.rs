//! Reads the chosen columns and row groups of a Parquet object.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups, RowSelection};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};

use super::lengths::CheckedRowGroups;
use super::schema::{NamedColumn, ParquetFile};
use super::source::ParquetSource;
use super::{convert, dictionary, guarded, pages, parquet_error, pruning};
use crate::batch::BatchReader;
use crate::output::{Item, Key, RowWriter};
use crate::program::Condition;
use crate::scan_range::ByteRange;
use crate::selection::Rows;
use crate::vector::Vector;
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::Value;

/// A batch-wise reader of one Parquet object.
pub(crate) struct ParquetReader {
    reader: ParquetRecordBatchReader,
    batch: RecordBatch,
    /// The named columns, each with its place among the columns of a batch.
    columns: Vec<(NamedColumn, usize)>,
    keys: Vec<Key>,
    groups: Vec<Group>,
    /// How many of `groups` were begun, and the rows of those.
    begun: usize,
    rows_begun: u64,
    /// Rows of the batches before this one.
    rows_before: u64,
    /// Bytes of the column chunks of the groups begun, as far as they are read, and the same
    /// decompressed.
    scanned: u64,
    processed: u64,
    has_binary: bool,
}

/// A row group that is read: how many of its rows, and the bytes of its chosen column chunks that
/// these are in.
#[derive(Default)]
struct Group {
    rows: u64,
    scanned: u64,
    processed: u64,
}

impl ParquetReader {
    /// `star` asks for all columns, else those that the statement named are read.
    pub(crate) fn new(
        mut file: ParquetFile,
        star: bool,
        range: ByteRange,
        conditions: &[Condition],
        max_rows: usize,
    ) -> Result<Self, SelectError> {
        let width = file.schema().fields().len();
        let roots: BTreeSet<usize> = if star {
            (0..width).try_for_each(|root| file.check_type(root))?;
            (0..width).collect()
        } else {
            file.columns.iter().map(|column| column.root).collect()
        };
        let metadata = Arc::clone(file.metadata.metadata());
        let started = |group: &usize| {
            let columns = metadata.row_group(*group).columns();
            let start = columns.iter().map(|chunk| chunk.byte_range().0).min();
            start.is_some_and(|start| (range.start..range.end).contains(&start))
        };
        let chosen = (0..metadata.num_row_groups()).filter(started).collect();
        let mut chosen = guarded(|| Ok(pruning::prune(&file, chosen, conditions)))?;
        let mut in_dictionaries = 0;
        chosen.retain(|group| match dictionary::rules_out(&file, *group, conditions) {
            Some(read) => {
                in_dictionaries += read;
                false
            }
            None => true,
        });
        if !conditions.is_empty() && !chosen.is_empty() {
            pages::load(&mut file);
        }
        let metadata = Arc::clone(file.metadata.metadata());
        let rows = |group: &usize| Ok((*group, pages::rows(&file, *group, conditions)));
        let mut chosen = guarded(|| chosen.iter().map(rows).collect::<Result<Vec<_>, _>>())?;
        chosen.retain(|(_, rows)| !rows.is_empty());
        let parquet_schema = file.metadata.parquet_schema();
        let groups = chosen.iter().map(|(group, rows)| {
            let rows_read = rows.iter().map(|range| range.len() as u64).sum();
            let mut read = Group { rows: rows_read, ..Group::default() };
            for (leaf, chunk) in metadata.row_group(*group).columns().iter().enumerate() {
                if roots.contains(&parquet_schema.get_column_root_idx(leaf)) {
                    let bytes = pages::bytes_read(&metadata, *group, leaf, rows);
                    let all = u128::from(chunk.compressed_size().unsigned_abs().max(1));
                    let decompressed = u128::from(chunk.uncompressed_size().unsigned_abs());
                    read.scanned += bytes;
                    // Pages tell their own sizes only when they are read.
                    read.processed += (decompressed * u128::from(bytes) / all) as u64;
                }
            }
            read
        });
        let groups = groups.collect();
        let mut before = 0;
        let mut ranges = Vec::new();
        for (group, rows) in &chosen {
            ranges.extend(rows.iter().map(|range| before + range.start..before + range.end));
            before += metadata.row_group(*group).num_rows().unsigned_abs() as usize;
        }
        let selection = RowSelection::from_consecutive_ranges(ranges.into_iter(), before);
        let chosen = chosen.into_iter().map(|(group, _)| group).collect();
        let columns = file.columns.iter().map(|column| {
            let place = roots.iter().position(|root| *root == column.root).unwrap_or_default();
            (column.clone(), place)
        });
        let columns = columns.collect();
        let fields = file.schema().fields();
        let keys = fields.iter().map(|field| Key::new(field.name())).collect();
        let has_binary = roots
            .iter()
            .any(|root| *fields[*root].data_type() == arrow::datatypes::DataType::Binary);
        let mask = ProjectionMask::roots(parquet_schema, roots.iter().copied());
        let source = if metadata.offset_index().is_some() {
            ParquetSource::located_pages(&file.source)
        } else {
            ParquetSource::pages(&file.source)
        };
        let row_groups = CheckedRowGroups {
            source: Arc::new(source),
            metadata: Arc::clone(&metadata),
            groups: chosen,
        };
        // Its columns take memory for a whole batch.
        let max_rows = max_rows.min(row_groups.num_rows());
        let reader = guarded(|| {
            parquet_to_arrow_field_levels(parquet_schema, mask, None)
                .and_then(|levels| {
                    let rows = Some(selection);
                    ParquetRecordBatchReader::try_new_with_row_groups(
                        &levels,
                        &row_groups,
                        max_rows,
                        rows,
                    )
                })
                .map_err(parquet_error)
        })?;
        Ok(Self {
            reader,
            batch: RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty())),
            columns,
            keys,
            groups,
            begun: 0,
            rows_begun: 0,
            rows_before: 0,
            scanned: in_dictionaries,
            processed: in_dictionaries,
            has_binary,
        })
    }
}

impl BatchReader for ParquetReader {
    fn next_batch(&mut self) -> Result<bool, SelectError> {
        self.rows_before += self.batch.num_rows() as u64;
        let Some(batch) = guarded(|| self.reader.next().transpose().map_err(parquet_error))? else {
            return Ok(false);
        };
        self.batch = batch;
        let end = self.rows_before + self.batch.num_rows() as u64;
        while self.rows_begun < end
            && let Some(group) = self.groups.get(self.begun)
        {
            self.begun += 1;
            self.rows_begun += group.rows;
            self.scanned += group.scanned;
            self.processed += group.processed;
        }
        Ok(true)
    }

    fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn block(&self) -> &[u8] {
        &[]
    }

    fn is_utf8(&self) -> bool {
        !self.has_binary
    }

    fn read_column(
        &self,
        column: usize,
        rows: Rows<'_>,
        out: &mut Vector,
    ) -> Result<(), SelectError> {
        let Some((column, place)) = self.columns.get(column) else {
            return Err(parquet_error("a column is missing"));
        };
        let array = self.batch.column(*place);
        if column.path.is_empty() {
            return convert::fill(array, out);
        }
        let values = out.values(self.rows()).0;
        rows.try_for_each(|row| {
            values[row] = part(convert::value(array, row)?, &column.path);
            Ok(())
        })
    }

    fn write_row(&self, row: usize, out: &mut RowWriter) -> Result<(), SelectError> {
        for (array, key) in self.batch.columns().iter().zip(&self.keys) {
            out.put(key, Item::Value(&convert::value(array, row)?))?;
        }
        Ok(())
    }

    fn locate(&self, row: usize) -> String {
        format!("row {} of those read", self.rows_before + row as u64 + 1)
    }

    fn stop_behind(&mut self, _: usize) {}

    fn bytes_read(&self) -> (u64, u64) {
        (self.scanned, self.processed)
    }
}

/// Goes into a nested value; MISSING where there is no such part.
fn part(value: Value, path: &[PathStep]) -> Value {
    let Some((step, rest)) = path.split_first() else { return value };
    let inner = match (step, value) {
        (PathStep::Field(name), Value::Struct(fields)) => {
            fields.into_iter().find(|(field, _)| name.matches(field)).map(|(_, value)| value)
        }
        (PathStep::Index(index), Value::List(values)) => {
            usize::try_from(*index).ok().and_then(|index| values.into_iter().nth(index))
        }
        _ => None,
    };
    inner.map_or(Value::Missing, |inner| part(inner, rest))
}
