//! The interface of a data set that can be generated.

use std::fmt::{Debug, Display};
use std::io;

use arrow::datatypes::{DataType, SchemaRef};
use arrow::json::LineDelimitedWriter;
use arrow::record_batch::RecordBatchReader;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::properties::WriterProperties;

use crate::generate::Format;
use crate::upload::PartWriter;

/// A table of a data set, which [`generate`](crate::generate()) writes. This crate has
/// [`tpch::Table`](crate::tpch::Table), [`tpcds::Table`](crate::tpcds::Table),
/// [`bigdata::Table`](crate::bigdata::Table) and [`pushdowndb::Table`](crate::pushdowndb::Table).
pub trait DataTable: Copy + Ord + Debug + Display + Send + Sync + 'static {
    /// The name of the data set and of its folder.
    const DATA_SET: &'static str;
    /// The tables of the data set, by name.
    const ALL: &'static [Self];
    /// The approximate size in bytes of all tables as CSV at scale factor 1.
    const CSV_BYTES: f64 = 1e9;
    /// The least scale factor.
    const LEAST_SCALE: f64;
    /// The seed of the random numbers; `()` if the data set fixes it.
    type Seed: Copy + Default + PartialEq + Debug + Send + Sync + 'static;

    /// Returns the table's name in the queries.
    fn name(self) -> &'static str;

    /// Returns the columns of the table.
    fn schema(self) -> SchemaRef;

    /// Returns the number of rows at a scale factor.
    fn rows(self, scale: f64) -> u64;

    /// Returns the share of [`Self::CSV_BYTES`] that the table takes, in units that are the same for all tables of the
    /// data set. By default, these are rows.
    fn size(self, scale: f64) -> f64 {
        self.rows(scale) as f64
    }

    /// Returns the most objects that the rows can be divided among without an empty one.
    fn shares(self, scale: f64) -> u64;

    /// Returns the rows of a share, as batches of a few thousand.
    fn batches(share: Share<Self>) -> Box<dyn RecordBatchReader + Send>;

    /// Writes the rows of a share as CSV. Text that may contain a comma is quoted, and lines end in `\n`.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_csv(share: Share<Self>, header: bool, out: &mut PartWriter) -> io::Result<()> {
        let mut header = header;
        for batch in Self::batches(share) {
            let batch = batch.map_err(io::Error::other)?;
            let mut writer = arrow::csv::WriterBuilder::new().with_header(header).build(&mut *out);
            writer.write(&batch).map_err(io::Error::other)?;
            drop(writer);
            out.count(batch.num_rows() as u64);
            header = false;
        }
        Ok(())
    }

    /// Returns the columns as a SQL declaration: `n_nationkey BIGINT NOT NULL, n_name VARCHAR NOT NULL, …`.
    fn columns_sql(self) -> String {
        let schema = self.schema();
        let columns: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| {
                let null = if field.is_nullable() { "" } else { " NOT NULL" };
                format!("{} {}{null}", field.name(), sql_type(field.data_type()))
            })
            .collect();
        columns.join(", ")
    }

    /// Returns the statement that registers this table with DataFusion.
    ///
    /// `location` is the folder with the table's objects and ends in a slash: `s3://bucket/tpch/sf1/csv/nation/`.
    /// Columns are declared for text, as Parquet files contain them.
    fn create_external_table(self, format: &Format, location: &str) -> String {
        // A quote in a SQL string is doubled.
        let location = location.replace('\'', "''");
        match format {
            Format::Csv { header } => format!(
                "CREATE EXTERNAL TABLE {self} ({}) STORED AS CSV LOCATION '{location}' \
                 OPTIONS ('format.has_header' '{header}')",
                self.columns_sql(),
            ),
            Format::Json => format!(
                "CREATE EXTERNAL TABLE {self} ({}) STORED AS JSON LOCATION '{location}'",
                self.columns_sql(),
            ),
            Format::Parquet { .. } => {
                format!("CREATE EXTERNAL TABLE {self} STORED AS PARQUET LOCATION '{location}'")
            }
        }
    }
}

/// The `index`-th of `count` shares of a table, counted from 0: the rows of one object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share<T: DataTable> {
    /// The table to share.
    pub table: T,
    /// The scale factor of the table.
    pub scale: f64,
    /// The seed of its random numbers.
    pub seed: T::Seed,
    /// The number of this share, from 0.
    pub index: u32,
    /// The number of shares, at most [`DataTable::shares`].
    pub count: u32,
}

impl<T: DataTable> Share<T> {
    /// Returns the share with all rows of a table.
    #[must_use]
    pub fn whole(table: T, scale: f64, seed: T::Seed) -> Self {
        Self { table, scale, seed, index: 0, count: 1 }
    }

    /// Writes the rows as JSON, an object per line.
    pub(crate) fn write_json(self, out: &mut PartWriter) -> io::Result<()> {
        for batch in T::batches(self) {
            let batch = batch.map_err(io::Error::other)?;
            LineDelimitedWriter::new(&mut *out).write(&batch).map_err(io::Error::other)?;
            out.count(batch.num_rows() as u64);
        }
        Ok(())
    }

    /// Writes the rows as Parquet without an Arrow schema in the footer, so that every reader uses Parquet's own
    /// types.
    pub(crate) fn write_parquet(
        self,
        properties: WriterProperties,
        out: &mut PartWriter,
    ) -> io::Result<()> {
        let batches = T::batches(self);
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
}

fn sql_type(data_type: &DataType) -> String {
    match data_type {
        DataType::Int32 => "INT".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Date32 => "DATE".to_owned(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision}, {scale})"),
        _ => "VARCHAR".to_owned(),
    }
}
