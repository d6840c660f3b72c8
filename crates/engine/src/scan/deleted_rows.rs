//! Deleted rows of a file: what a deletion vector of Delta says, as the rows that a scan reads.

use std::ops::Range;

use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use object_store::path::Path;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use crate::{ErrorKind, UserError};

/// Returns the rows that are left of `rows` rows without the deleted ones, which are in ascending order.
///
/// # Errors
///
/// If a deleted row is none of the file's.
pub(crate) fn kept(object: &Path, deleted: &[u64], rows: u64) -> Result<RowSelection> {
    if let Some(last) = deleted.last().filter(|last| **last >= rows) {
        return Err(UserError {
            kind: ErrorKind::Data,
            message: format!(
                "`{object}` has {rows} rows, and its Delta table deletes row {last} of it"
            ),
            hint: Some("The log of the table or the file is damaged.".to_owned()),
        }
        .into());
    }
    let mut next = 0;
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for row in deleted.iter().copied().chain([rows]) {
        if row > next {
            ranges.push(next as usize..row as usize);
        }
        next = row + 1;
    }
    Ok(RowSelection::from_consecutive_ranges(ranges.into_iter(), rows as usize))
}

/// Returns the file limited to some of its rows.
pub(crate) fn with_selection(file: PartitionedFile, rows: RowSelection) -> PartitionedFile {
    file.with_extension(ParquetRowSelection::new(rows))
}

/// Returns the numbers of rows of a file that are read and skipped in turn, beginning with those that are read, or
/// none if all are read.
pub(crate) fn selection_of(file: &PartitionedFile) -> Vec<u64> {
    let Some(rows) = file.extension::<ParquetRowSelection>() else { return Vec::new() };
    let mut lengths = Vec::new();
    for RowSelector { row_count, skip } in rows.selection().iter() {
        let is_turn_of_skipped = lengths.len() % 2 == 1;
        match (*skip == is_turn_of_skipped, lengths.last_mut()) {
            (true, _) => lengths.push(*row_count as u64),
            (false, Some(last)) => *last += *row_count as u64,
            (false, None) => lengths.extend([0, *row_count as u64]),
        }
    }
    lengths
}

/// Returns the rows of [`selection_of`].
pub(crate) fn selected(lengths: &[u64]) -> RowSelection {
    let selectors = lengths.iter().enumerate().map(|(place, length)| match place % 2 {
        0 => RowSelector::select(*length as usize),
        _ => RowSelector::skip(*length as usize),
    });
    selectors.collect::<Vec<_>>().into()
}

/// Returns whether some rows of a scan's files are deleted.
pub(crate) fn reads_kept_rows(scan: &FileScanConfig) -> bool {
    scan.file_groups.iter().flat_map(FileGroup::iter).any(has_deleted_rows)
}

/// Returns whether some rows of the file are deleted.
pub(crate) fn has_deleted_rows(file: &PartitionedFile) -> bool {
    file.extension::<ParquetRowSelection>().is_some()
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_set;
    use proptest::proptest;

    use super::*;

    fn rows(selection: &RowSelection) -> Vec<u64> {
        let mut next = 0;
        let mut rows = Vec::new();
        for selector in selection.iter() {
            if !selector.skip {
                rows.extend(next..next + selector.row_count as u64);
            }
            next += selector.row_count as u64;
        }
        rows
    }

    proptest! {
        #[test]
        fn deleted_rows_are_skipped(deleted in btree_set(0_u64..40, 0..40)) {
            let deleted: Vec<u64> = deleted.into_iter().collect();
            let selection = kept(&Path::from("x"), &deleted, 40).unwrap();
            let expected: Vec<u64> = (0..40).filter(|row| !deleted.contains(row)).collect();
            assert_eq!(rows(&selection), expected);
            let file = with_selection(PartitionedFile::new("x", 1), selection);
            assert_eq!(rows(&selected(&selection_of(&file))), expected);
        }
    }

    #[test]
    fn a_row_that_is_none_of_the_file_is_an_error() {
        let error = kept(&Path::from("t/x.parquet"), &[1, 3], 3).unwrap_err().to_string();
        assert!(
            error.contains("`t/x.parquet` has 3 rows, and its Delta table deletes row 3"),
            "{error}"
        );
    }
}
