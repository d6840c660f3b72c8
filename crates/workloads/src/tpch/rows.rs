//! One object's share of a table, row by row.

use std::io::{self, Write};

use arrow::record_batch::RecordBatchReader;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::properties::WriterProperties;
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
use crate::upload::PartWriter;

/// The `index`-th of `count` shares of a table, counted from 1 as `dbgen` does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) table: Table,
    pub(super) scale: f64,
    pub(super) index: i32,
    pub(super) count: i32,
}

impl Share {
    /// Writes the rows as CSV. Text that may hold a comma is quoted, lines end in `\n`.
    pub(super) fn write_csv(self, header: bool, out: &mut PartWriter) -> io::Result<()> {
        macro_rules! write_rows {
            ($generator:ident, $csv:ident) => {{
                if header {
                    writeln!(out, "{}", $csv::header())?;
                }
                for row in $generator::new(self.scale, self.index, self.count).iter() {
                    writeln!(out, "{}", $csv::new(row))?;
                    out.count(1);
                }
            }};
        }
        match self.table {
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

    /// Writes the rows as Parquet, with no Arrow schema in the footer: any reader sees what
    /// Parquet's own types say.
    pub(super) fn write_parquet(
        self,
        properties: WriterProperties,
        out: &mut PartWriter,
    ) -> io::Result<()> {
        let batches = self.batches();
        let options =
            ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let mut writer = ArrowWriter::try_new_with_options(out, batches.schema(), options)?;
        for batch in batches {
            let batch = batch.map_err(io::Error::other)?;
            writer.write(&batch)?;
            writer.inner_mut().count(batch.num_rows() as u64);
        }
        writer.close()?;
        Ok(())
    }

    /// The rows as batches of a few thousand.
    pub(super) fn batches(self) -> Box<dyn RecordBatchReader + Send> {
        let Self { table, scale, index, count } = self;
        match table {
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
}
