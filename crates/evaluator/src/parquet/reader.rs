//! Reads the selected columns and row groups of a Parquet object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use parquet::arrow::arrow_reader::RowGroups as _;

use super::batches::Batches;
use super::dictionary_columns::{CodedColumn, DictionaryBudget};
use super::late_filter::LateRows;
use super::lengths::CheckedRowGroups;
use super::measure::value_bytes;
use super::pages::RowRanges;
use super::schema::{NamedColumn, ParquetFile};
use super::{bloom_filter, convert, dictionary, guarded, pages, parquet_error, pruning};
use crate::batch::{BatchReader, Codes, Columns};
use crate::cancellation::Cancellation;
use crate::memory_budget::{self, Reservation};
use crate::output::RowWriter;
use crate::scan_range::ByteRange;
use crate::selection::Rows;
use crate::statement::Statement;
use crate::vector::Vector;
use sluicegate_s3select::error::SelectError;

/// The most memory of a batch's values besides their texts, in bytes.
const BATCH_BYTES: u64 = 64 << 20;

/// Reads one Parquet object in batches.
pub(crate) struct ParquetReader {
    chunks: Chunks,
    /// The row groups still to be read, with the rows of each that may match.
    groups: std::vec::IntoIter<(usize, RowRanges)>,
    /// Finds the rows that pass the filter before the other columns are read.
    late: Option<LateRows>,
    /// True if the first batch is an empty one. Finding the first row may take a whole row group, which is too much
    /// while the statement is prepared.
    is_fresh: bool,
    batch: ColumnBatch,
    /// The number of rows in earlier row groups, the rows read of the current one, and how many of these are in
    /// earlier batches.
    rows_before: u64,
    rows: RowRanges,
    read: usize,
    /// The bytes read of the column chunks so far, and the same bytes decompressed.
    scanned: u64,
    processed: u64,
}

/// Some columns of an object, to be read one row group at a time.
pub(super) struct Chunks {
    file: ParquetFile,
    roots: BTreeSet<usize>,
    max_rows: usize,
}

/// The memory of a leaf's reader, and of the statement for it, besides pages and values. A half is the library's
/// buffer for 1,024 codes of a dictionary.
const LEAF_BYTES: u64 = 8 << 10;
/// The memory of each level around a leaf.
const LEVEL_BYTES: u64 = 2 << 10;

/// Reads rows of a row group.
pub(super) struct GroupReader {
    /// All columns without codes.
    others: Batches,
    /// The position of each column by its root.
    places: BTreeMap<usize, ColumnLocation>,
    coded: Vec<CodedColumn>,
    /// The reserved memory of the columns' readers. It is freed after them.
    _held: Reservation,
}

/// The position of a column, among those with or without codes.
#[derive(Debug, Clone, Copy)]
enum ColumnLocation {
    Coded(usize),
    Other(usize),
}

/// A batch of the current row group, if there is one.
pub(super) struct ColumnBatch {
    columns: Arc<Vec<NamedColumn>>,
    has_binary: bool,
    batch: RecordBatch,
    group: Option<GroupReader>,
}

impl ParquetReader {
    /// Reads the columns that the statement named, for the rows that may match.
    pub(crate) fn new(
        mut file: ParquetFile,
        range: ByteRange,
        statement: &Arc<Statement>,
        max_rows: usize,
    ) -> Result<Self, SelectError> {
        let roots: BTreeSet<usize> = file.columns.iter().map(|column| column.root).collect();
        let conditions = statement.filter.map(|filter| statement.program.conditions(filter));
        let conditions = conditions.unwrap_or_default();
        let chosen = file.groups_in(range).into_iter().map(|(group, _)| group).collect();
        let mut chosen = guarded(|| Ok(pruning::prune(&file, chosen, &conditions)))?;
        let mut for_pruning = 0;
        chosen.retain(|group| {
            if bloom_filter::rules_out(&file, *group, &conditions, &mut for_pruning) {
                return false;
            }
            let in_dictionary = dictionary::rules_out(&file, *group, &conditions);
            for_pruning += in_dictionary.unwrap_or(0);
            in_dictionary.is_none()
        });
        if statement.filter.is_some() && !chosen.is_empty() {
            pages::load(&mut file);
        }
        let rows = |group: &usize| Ok((*group, pages::rows(&file, *group, &conditions)));
        let mut groups = guarded(|| chosen.iter().map(rows).collect::<Result<Vec<_>, _>>())?;
        groups.retain(|(_, rows)| !rows.is_empty());
        let late = LateRows::new(&file, statement, &roots, max_rows);
        let chunks = Chunks::new(file, roots, max_rows);
        Ok(Self {
            is_fresh: late.is_some(),
            late,
            batch: chunks.no_batch(),
            chunks,
            groups: groups.into_iter(),
            rows_before: 0,
            rows: RowRanges::new(),
            read: 0,
            scanned: for_pruning,
            processed: for_pruning,
        })
    }

    /// Begins the next row group and returns whether there is one.
    fn begin_group(&mut self) -> Result<bool, SelectError> {
        let Some((group, mut rows)) = self.groups.next() else { return Ok(false) };
        let Self { chunks, late, .. } = self;
        let pays = late.as_mut().is_some_and(LateRows::pays);
        let (mut scanned, mut processed) = (0, 0);
        let mut count = |rows: &RowRanges, wanted: &dyn Fn(usize) -> bool| {
            let bytes = chunks.bytes(group, rows, wanted);
            (scanned, processed) = (scanned + bytes.0, processed + bytes.1);
        };
        match late {
            Some(late) if pays => {
                count(&rows, &|root| late.reads(root));
                rows = late.rows(group, &rows);
                if !rows.is_empty() {
                    count(&rows, &|root| !late.reads(root));
                }
            }
            _ => count(&rows, &|_| true),
        }
        self.scanned += scanned;
        self.processed += processed;
        if !rows.is_empty() {
            self.batch.open(&self.chunks, group, &rows)?;
        }
        let groups = self.chunks.file.metadata.metadata().row_groups();
        // The counts in the footer were not checked.
        self.rows_before = groups[..group]
            .iter()
            .fold(0, |rows, group| rows.saturating_add(group.num_rows().unsigned_abs()));
        (self.rows, self.read) = (rows, 0);
        Ok(true)
    }
}

impl Chunks {
    /// Creates a reader for these columns with at most `max_rows` rows in a batch.
    pub(super) fn new(file: ParquetFile, roots: BTreeSet<usize>, max_rows: usize) -> Self {
        // Every column takes memory for a whole batch, and so does every part of a nested one.
        let schema = file.metadata.parquet_schema();
        let row_bytes = roots
            .iter()
            .flat_map(|root| file.leaves(*root))
            .fold(0_u64, |all, leaf| all.saturating_add(value_bytes(&schema.column(leaf))));
        let fitting = usize::try_from(BATCH_BYTES / row_bytes.max(1)).unwrap_or(usize::MAX);
        let max_rows = max_rows.min(fitting).max(1);
        Self { file, roots, max_rows }
    }

    /// Returns a batch without rows.
    pub(super) fn no_batch(&self) -> ColumnBatch {
        let fields = self.file.schema().fields();
        ColumnBatch {
            columns: Arc::clone(&self.file.columns),
            has_binary: self.roots.iter().any(|root| {
                let data_type = fields[*root].data_type();
                matches!(data_type, DataType::Binary | DataType::FixedSizeBinary(_))
            }),
            batch: no_rows(),
            group: None,
        }
    }

    pub(super) fn reads(&self, root: usize) -> bool {
        self.roots.contains(&root)
    }

    /// Opens the given rows of a row group.
    fn open(&self, group: usize, rows: &RowRanges) -> Result<GroupReader, SelectError> {
        let schema = self.file.metadata.parquet_schema();
        let leaves = self.roots.iter().flat_map(|root| self.file.leaves(*root));
        let levels = leaves.map(|leaf| schema.column(leaf).path().parts().len() as u64);
        let room = levels.map(|levels| LEAF_BYTES + levels.saturating_sub(1) * LEVEL_BYTES).sum();
        let held =
            self.file.reader.reserve_for_range(room).ok_or_else(memory_budget::out_of_memory)?;
        let row_groups = CheckedRowGroups::of_file(&self.file, group);
        let count = row_groups.num_rows();
        let (mut places, mut coded) = (BTreeMap::new(), Vec::new());
        let is_whole = matches!(&rows[..], [range] if *range == (0..count));
        if is_whole {
            let mut room = DictionaryBudget::default();
            for root in &self.roots {
                if let Some(column) = self.coded(&row_groups, group, *root, &mut room) {
                    places.insert(*root, ColumnLocation::Coded(coded.len()));
                    coded.push(column);
                }
            }
        }
        let others: Vec<usize> =
            self.roots.iter().copied().filter(|root| !places.contains_key(root)).collect();
        places.extend(
            others.iter().enumerate().map(|(place, root)| (*root, ColumnLocation::Other(place))),
        );
        let others = Batches::open(&self.file, group, others, rows, self.max_rows)?;
        Ok(GroupReader { others, places, coded, _held: held })
    }

    /// Returns a column as dictionary codes, if it is stored that way and using them pays.
    fn coded(
        &self,
        groups: &CheckedRowGroups,
        group: usize,
        root: usize,
        room: &mut DictionaryBudget,
    ) -> Option<CodedColumn> {
        let metadata = self.file.metadata.metadata().row_group(group);
        let leaf = self.file.leaves(root).next()?;
        CodedColumn::open(groups, (leaf, metadata.column(leaf)), self.file.field(root), room)
    }

    /// Returns the bytes of the wanted columns that hold these rows of a row group, and the same bytes decompressed.
    fn bytes(&self, group: usize, rows: &RowRanges, wanted: &dyn Fn(usize) -> bool) -> (u64, u64) {
        let metadata = self.file.metadata.metadata();
        let chunks = metadata.row_group(group).columns();
        let (mut scanned, mut processed) = (0, 0);
        for root in self.roots.iter().filter(|root| wanted(**root)) {
            for leaf in self.file.leaves(*root) {
                let chunk = &chunks[leaf];
                let bytes = pages::bytes_read(metadata, group, leaf, rows);
                let all = u128::from(chunk.compressed_size().unsigned_abs().max(1));
                let decompressed = u128::from(chunk.uncompressed_size().unsigned_abs());
                scanned += bytes;
                // The decompressed sizes of single pages are unknown before they are read.
                processed += (decompressed * u128::from(bytes) / all) as u64;
            }
        }
        (scanned, processed)
    }
}

fn no_rows() -> RecordBatch {
    RecordBatch::new_empty(Arc::new(Schema::empty()))
}

impl ColumnBatch {
    /// Begins to read rows of a row group.
    pub(super) fn open(
        &mut self,
        chunks: &Chunks,
        group: usize,
        rows: &RowRanges,
    ) -> Result<(), SelectError> {
        self.group = None;
        self.group = Some(chunks.open(group, rows)?);
        Ok(())
    }

    /// Drops the current row group.
    pub(super) fn close(&mut self) {
        (self.batch, self.group) = (no_rows(), None);
    }

    /// Reads the next batch and returns whether the row group had more rows.
    pub(super) fn next(&mut self) -> Result<bool, SelectError> {
        self.batch = no_rows();
        let Some(group) = &mut self.group else { return Ok(false) };
        let Some(batch) = group.others.next()? else {
            self.group = None;
            return Ok(false);
        };
        for column in &mut group.coded {
            column.read(batch.num_rows())?;
        }
        self.batch = batch;
        Ok(true)
    }

    /// Returns a column of the batch, with its row group and position.
    fn column_location(
        &self,
        column: usize,
    ) -> Option<(&NamedColumn, &GroupReader, ColumnLocation)> {
        let (column, group) = (self.columns.get(column)?, self.group.as_ref()?);
        Some((column, group, *group.places.get(&column.root)?))
    }
}

impl Columns for ColumnBatch {
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
        let place = match self.column_location(column) {
            Some((_, group, ColumnLocation::Coded(place))) => {
                let Codes { values, codes, .. } = group.coded[place].codes();
                out.gather(values, codes, rows);
                return Ok(());
            }
            Some((column, _, ColumnLocation::Other(place))) => Some((column, place)),
            None => None,
        };
        let (column, place) = place.ok_or_else(|| parquet_error("a column is missing"))?;
        let (schema, array) = (self.batch.schema_ref(), self.batch.column(place));
        let field = schema.field(place);
        if column.path.is_empty() {
            return convert::fill(array, field, rows, out);
        }
        let values = out.values(self.rows()).0;
        rows.try_for_each(|row| {
            values[row] = convert::part(array, field, row, &column.path)?;
            Ok(())
        })
    }

    fn codes(&self, column: usize) -> Option<Codes<'_>> {
        match self.column_location(column)? {
            (_, group, ColumnLocation::Coded(place)) => Some(group.coded[place].codes()),
            (_, _, ColumnLocation::Other(_)) => None,
        }
    }
}

impl Columns for ParquetReader {
    fn rows(&self) -> usize {
        self.batch.rows()
    }

    fn block(&self) -> &[u8] {
        self.batch.block()
    }

    fn is_utf8(&self) -> bool {
        self.batch.is_utf8()
    }

    fn read_column(
        &self,
        column: usize,
        rows: Rows<'_>,
        out: &mut Vector,
    ) -> Result<(), SelectError> {
        self.batch.read_column(column, rows, out)
    }

    fn codes(&self, column: usize) -> Option<Codes<'_>> {
        self.batch.codes(column)
    }
}

impl BatchReader for ParquetReader {
    fn next_batch(&mut self) -> Result<bool, SelectError> {
        if std::mem::take(&mut self.is_fresh) {
            return Ok(true);
        }
        self.read += self.batch.rows();
        loop {
            if self.batch.next()? {
                return Ok(true);
            }
            if !self.begin_group()? {
                return Ok(false);
            }
            if self.batch.group.is_none() {
                // Return an empty batch, so that the caller regains control.
                return Ok(true);
            }
        }
    }

    fn write_row(&self, _: usize, _: &mut RowWriter) -> Result<(), SelectError> {
        // All columns of a row are named, so there is nothing left to write.
        Ok(())
    }

    fn locate(&self, row: usize) -> String {
        let rows = self.rows.iter().cloned().flatten();
        let row = rows.skip(self.read).nth(row).unwrap_or(row);
        format!("row {}", self.rows_before.saturating_add(row as u64 + 1))
    }

    fn stop_behind(&mut self, _: usize) {}

    fn bytes_read(&self) -> (u64, u64) {
        (self.scanned, self.processed)
    }

    fn stop_with(&mut self, cancellation: &Cancellation) {
        if let Some(late) = &mut self.late {
            late.stop_with(cancellation);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array, StructArray};
    use arrow::datatypes::Field;
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::source::ObjectSource;
    use crate::tests::write_parquet;

    /// Writes a column of structs nested `levels` deep, with field names of `name` bytes.
    fn nested(levels: usize, name: usize) -> Result<ParquetFile, SelectError> {
        let name = "n".repeat(name);
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![7; 5]));
        let column = (0..levels).fold(numbers, |inner, _| {
            let field = Arc::new(Field::new(&name, inner.data_type().clone(), false));
            Arc::new(StructArray::from(vec![(field, inner)]))
        });
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let object = write_parquet(&batch, WriterProperties::builder().build());
        let object: Arc<dyn ObjectSource> = Arc::new(object);
        ParquetFile::open(&object)
    }

    #[test]
    fn a_footer_with_a_deep_schema_is_refused() {
        assert!(nested(100, 1).is_ok());
        let error = nested(130, 1).err().unwrap();
        assert!(error.message.contains("more than 128 levels"), "{error:?}");
        let error = nested(100, 10_000).err().unwrap();
        assert!(error.message.contains("paths of more than 16 MiB"), "{error:?}");
    }

    #[test]
    fn a_batch_has_few_rows_if_they_repeat_long_names_or_many_levels() {
        let rows = |levels, name| {
            Chunks::new(nested(levels, name).unwrap(), BTreeSet::from([0]), 8192).max_rows
        };
        assert_eq!(rows(1, 10), 8192);
        assert!((600..700).contains(&rows(1, 100_000)));
        assert!((2000..2100).contains(&rows(127, 1)));
        assert_eq!(rows(1, 2_000_000), 33);
    }
}
