//! The data files of a version.

use delta_kernel::scan::Scan;
use delta_kernel::scan::state::ScanFile;
use delta_kernel::{Engine, KernelError, KernelResult};
use url::Url;

use crate::columns::Column;

/// A data file of a version, in Parquet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Its URL.
    pub url: Url,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written, in milliseconds since 1970 in UTC.
    pub written_ms: i64,
    /// The number of its rows, including deleted ones, if the log tells.
    pub rows: Option<u64>,
    /// The text of the value of each partition column, in the order of the table's columns; `None` is NULL.
    pub partition_values: Vec<Option<String>>,
    /// The positions of its deleted rows, from 0, in ascending order.
    pub deleted: Vec<u64>,
}

/// Returns the files of a scan, in the order of their URLs.
pub(crate) fn of(
    scan: &Scan,
    engine: &dyn Engine,
    columns: &[Column],
) -> KernelResult<Vec<DataFile>> {
    let mut found: Vec<ScanFile> = Vec::new();
    for part in scan.scan_metadata(engine)? {
        found = part?.visit_scan_files(found, |found, file| found.push(file))?;
    }
    let root = scan.table_root();
    let partitions: Vec<&Column> = columns.iter().filter(|column| column.is_partition).collect();
    let file = |file: ScanFile| {
        let mut deleted = file.dv_info.get_row_indexes(engine, root)?.unwrap_or_default();
        deleted.sort_unstable();
        let size = u64::try_from(file.size)
            .map_err(|_| KernelError::generic(format!("{} has a negative size", file.path)))?;
        // An empty text is NULL, says the protocol.
        let value = |column: &&Column| {
            let value = file.partition_values.get(&column.stored_name).cloned();
            value.filter(|value| !value.is_empty())
        };
        Ok(DataFile {
            url: root.join(&file.path)?,
            size,
            written_ms: file.modification_time,
            rows: file.stats.as_ref().map(|stats| stats.num_records),
            partition_values: partitions.iter().map(value).collect(),
            deleted,
        })
    };
    let mut files = found.into_iter().map(file).collect::<KernelResult<Vec<DataFile>>>()?;
    files.sort_by(|one, other| one.url.cmp(&other.url));
    Ok(files)
}
