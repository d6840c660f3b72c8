//! Generates one object's share of a table, row by row.

use std::io::{self, Write};

use arrow::record_batch::RecordBatchReader;
use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use super::table::Table;
use crate::table::Share;
use crate::upload::PartWriter;

/// Returns the part of a table, counted from 1, and the number of parts, in the terms of `dbgen`.
fn part(share: &Share<Table>) -> (i32, i32) {
    // Both are at most 10,000.
    (share.index as i32 + 1, share.count as i32)
}

/// Writes the rows as CSV. Text that may contain a comma is quoted, and lines end in `\n`.
pub(super) fn write_csv(
    share: &Share<Table>,
    header: bool,
    out: &mut PartWriter,
) -> io::Result<()> {
    let (index, count) = part(share);
    macro_rules! write_rows {
        ($generator:ident, $csv:ident) => {{
            if header {
                writeln!(out, "{}", $csv::header())?;
            }
            for row in $generator::new(share.scale, index, count).iter() {
                writeln!(out, "{}", $csv::new(row))?;
                out.count(1);
            }
        }};
    }
    match share.table {
        Table::Customer => write_rows!(CustomerGenerator, CustomerCsv),
        Table::Lineitem => write_rows!(LineItemGenerator, LineItemCsv),
        Table::Nation => write_rows!(NationGenerator, NationCsv),
        Table::Orders => write_rows!(OrderGenerator, OrderCsv),
        Table::Part => write_rows!(PartGenerator, PartCsv),
        Table::Partsupp => write_rows!(PartSuppGenerator, PartSuppCsv),
        Table::Region => write_rows!(RegionGenerator, RegionCsv),
        Table::Supplier => write_rows!(SupplierGenerator, SupplierCsv),
    }
    Ok(())
}

/// Returns the rows as batches of a few thousand.
pub(super) fn batches(share: &Share<Table>) -> Box<dyn RecordBatchReader + Send> {
    let ((index, count), scale) = (part(share), share.scale);
    match share.table {
        Table::Customer => {
            Box::new(CustomerArrow::new(CustomerGenerator::new(scale, index, count)))
        }
        Table::Lineitem => {
            Box::new(LineItemArrow::new(LineItemGenerator::new(scale, index, count)))
        }
        Table::Nation => Box::new(NationArrow::new(NationGenerator::new(scale, index, count))),
        Table::Orders => Box::new(OrderArrow::new(OrderGenerator::new(scale, index, count))),
        Table::Part => Box::new(PartArrow::new(PartGenerator::new(scale, index, count))),
        Table::Partsupp => {
            Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, index, count)))
        }
        Table::Region => Box::new(RegionArrow::new(RegionGenerator::new(scale, index, count))),
        Table::Supplier => {
            Box::new(SupplierArrow::new(SupplierGenerator::new(scale, index, count)))
        }
    }
}
