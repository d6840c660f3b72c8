//! Samples of the generated rows at the scale factors of the paper, which are too large to generate whole.

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use sluicegate_workloads::{DataTable, Share, tpcds::Table};

/// The rows of a part of a sample.
const ROWS: u64 = 4_000;

/// Returns the rows of a sample of a table, and those whose value of a column is kept. The sample has so many parts, which
/// are spread evenly over the table.
pub(super) fn sampled(
    table: Table,
    scale: f64,
    parts: u32,
    column: &str,
    is_kept: impl Fn(Option<i64>) -> bool,
) -> (u64, u64) {
    let wanted = (table.shares(scale) * 12 / ROWS).clamp(1, u64::from(u32::MAX));
    let count = u32::try_from(wanted).unwrap_or(u32::MAX);
    let column = table.schema().index_of(column).unwrap_or_default();
    let (mut rows, mut kept) = (0, 0);
    for part in 0..parts {
        let index = (u64::from(part) * u64::from(count) / u64::from(parts)) as u32;
        let share = Share { index, count, ..Share::whole(table, scale, ()) };
        for batch in Table::batches(share).flatten() {
            let Ok(values) = cast(batch.column(column), &DataType::Int64) else { continue };
            let values = values.as_primitive::<Int64Type>();
            rows += batch.num_rows() as u64;
            kept += values.iter().filter(|it| is_kept(*it)).count() as u64;
        }
    }
    (rows, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_some_rows_of_store_2() {
        let (rows, kept) = sampled(Table::StoreSales, 1.0, 200, "ss_store_sk", |it| it == Some(2));
        assert!(rows > 100_000 && kept > 0 && kept < rows, "{kept} of {rows}");
    }
}
