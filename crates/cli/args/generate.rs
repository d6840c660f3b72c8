//! The arguments of `sluice generate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Subcommand, ValueEnum};
use sluicegate_workloads::{DataTable, Format, bigdata, pushdowndb, tpcds, tpch};

use super::quantity::threads;
use super::{Destination, StoreArgs};

const EXAMPLES: &str = "\
Examples:
  sluice generate tpch --scale 0.1 --to ./data --ddl tables.sql
      100 MB of CSV into a folder, and the statements that make tables of it.
  sluice generate tpcds --scale 1 --to s3://bench/tpcds --format parquet
      1 GB as Parquet into a bucket, which is created if it is missing.";

/// Generate a data set
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum GenerateCommand {
    Tpch(Box<TpchArgs>),
    Tpcds(Box<TpcdsArgs>),
    Bigdata(Box<BigdataArgs>),
    Pushdowndb(Box<PushdowndbArgs>),
    Queries(QueriesArgs),
}

const QUERIES_EXAMPLES: &str = "\
Examples:
  sluice generate queries tpch 5,18
      The text of two queries of TPC-H.
  sluice generate queries tpcds 44 --parameters icpe-2020
      Query 44 of TPC-DS about store 2, as in the paper on computational storage.
  sluice generate queries bigdata --scale 0.01 > queries.sql
      All seven queries over the Big Data benchmark, with bounds for this scale; then
      sluice sql -f tables.sql -f queries.sql";

/// Print the queries of a data set
#[derive(Debug, clap::Args)]
#[command(after_help = QUERIES_EXAMPLES)]
pub(crate) struct QueriesArgs {
    /// The data set
    #[arg(value_enum, value_name = "DATA_SET")]
    pub(crate) data_set: DataSet,
    /// Numbers of the queries, separated by commas [default: all]
    #[arg(value_delimiter = ',', value_name = "NUMBERS")]
    pub(crate) numbers: Vec<usize>,
    /// Scale factor of the tables, on which some queries' bounds depend
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", allow_negative_numbers = true,
          value_parser = super::quantity::scale)]
    pub(crate) scale: f64,
    /// Values in the queries of TPC-DS
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub(crate) parameters: QueryParameters,
}

/// The values in queries of TPC-DS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryParameters {
    /// The specification's validation parameters
    #[default]
    Validation,
    /// Where the paper names one (ICPE 2020): store 2 in query 44, not store 4
    #[value(name = "icpe-2020")]
    Icpe2020,
}

/// The data sets with queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataSet {
    /// The 22 queries of TPC-H
    Tpch,
    /// The 99 queries of TPC-DS
    Tpcds,
    /// Cheetah's seven queries over the Big Data benchmark
    Bigdata,
    /// The ten items of PushdownDB's Figure 10
    Pushdowndb,
}

const TPCH_EXAMPLES: &str = "\
Examples:
  sluice generate tpch --scale 1 --to s3://bench/tpch --objects 8 --ddl tables.sql
      1 GB of CSV into a bucket, which is created if it is missing; then
      sluice sql -f tables.sql -c \"SELECT count(*) FROM lineitem\"
  sluice generate tpch --scale 0.1 --format parquet --tables lineitem,part --to ./data
      Two tables as Parquet into a folder.

Memory stays bounded at any scale. Running the same command again writes the same bytes.";

/// The eight tables of TPC-H, at any scale
#[derive(Debug, clap::Args)]
#[command(after_help = TPCH_EXAMPLES)]
pub(crate) struct TpchArgs {
    #[command(flatten)]
    pub(crate) tables: TableArgs<tpch::Table>,
}

const TPCDS_EXAMPLES: &str = "\
Examples:
  sluice generate tpcds --scale 1 --to s3://bench/tpcds --objects 8 --ddl tables.sql
      1 GB of CSV into a bucket, which is created if it is missing; then
      sluice sql -f tables.sql -c \"SELECT count(*) FROM store_sales WHERE ss_store_sk IS NULL\"
  sluice generate tpcds --scale 0.1 --format parquet --tables web_sales,date_dim --to ./data
      Two tables as Parquet into a folder.

Derived from TPC-DS: results are not comparable to published TPC-DS results. Tables of fixed size have
100 MB of CSV at any scale. Memory stays bounded at any scale. Running the same command again writes the
same bytes.";

/// The 24 tables of TPC-DS, at any scale
#[derive(Debug, clap::Args)]
#[command(after_help = TPCDS_EXAMPLES)]
pub(crate) struct TpcdsArgs {
    #[command(flatten)]
    pub(crate) tables: TableArgs<tpcds::Table>,
}

const BIGDATA_EXAMPLES: &str = "\
Examples:
  sluice generate bigdata --scale 0.01 --to ./data --format parquet --ddl tables.sql
      180,000 pages and 317,000 visits into a folder; then
      sluice sql -f tables.sql -c \"SELECT DISTINCT userAgent FROM uservisits\"
  sluice generate bigdata --to s3://bench/bigdata --objects 8 --seed 7
      As many rows as in Cheetah's measurements (SIGMOD 2020), from another seed.

Scale 1 is 18 million rankings and 31.7 million visits. Memory stays bounded at any scale. Running
the same command again writes the same bytes.";

/// The two tables of the Big Data benchmark (web pages and visits), at any scale
#[derive(Debug, clap::Args)]
#[command(after_help = BIGDATA_EXAMPLES)]
pub(crate) struct BigdataArgs {
    /// Seed of the random rows
    #[arg(long, default_value_t = bigdata::Seed::default().0, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) tables: TableArgs<bigdata::Table>,
}

const PUSHDOWNDB_EXAMPLES: &str = "\
Examples:
  sluice generate pushdowndb --scale 0.1 --tables skewed --to ./data --ddl tables.sql
      640,000 rows into a folder; then
      sluice sql -f tables.sql -c \"SELECT g5, sum(f0) FROM skewed GROUP BY g5\"
  sluice generate pushdowndb --scale 10 --tables skewed,uniform --objects 100 --to s3://bench
      As many rows and objects as in the paper (ICDE 2020).
  sluice generate pushdowndb --tables floats_1,floats_10,floats_20 --format parquet --to ./data
      The tables of its Figure 11: 100 MB of CSV a column.

skewed and uniform have ten columns of groups, g0 to g9, and ten of values, f0 to f9. In
uniform, the groups are 2, 4, …, 1024 of the same size. At scale 1 they have 6.4 million rows
each, and the tables of floats 14.3 million. Memory stays bounded at any scale. Running the
same command again writes the same bytes.";

/// The tables of PushdownDB's micro-benchmarks (group-bys, columns of floats), at any scale
#[derive(Debug, clap::Args)]
#[command(after_help = PUSHDOWNDB_EXAMPLES)]
pub(crate) struct PushdowndbArgs {
    /// Seed of the random rows
    #[arg(long, default_value_t = pushdowndb::Seed::default().0, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) tables: TableArgs<pushdowndb::Table>,
}

/// Arguments of every data set: its tables, their format and their destination.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs<T>
where
    T: DataTable + FromStr<Err: std::error::Error + Send + Sync>,
{
    /// Scale factor: 1 is about 1 GB of CSV for TPC-H and TPC-DS, 5 GB for PushdownDB's tables, and 7 GB
    /// for the Big Data benchmark
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", allow_negative_numbers = true,
          value_parser = super::quantity::scale)]
    pub(crate) scale: f64,
    /// How the objects are encoded
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DataFormat,
    /// Objects per table; tables of fixed size are always one object
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true)]
    pub(crate) objects: NonZeroUsize,
    /// Tables, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) tables: Vec<T>,
    /// Destination: s3://bucket/prefix or a folder
    #[arg(long, value_name = "PLACE")]
    pub(crate) to: Destination,
    /// Write the CREATE EXTERNAL TABLE statements to a file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) ddl: Option<PathBuf>,
    /// Threads that generate rows [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The encodings of generated objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// Comma-separated with a header line
    #[default]
    Csv,
    /// A JSON object per line
    Json,
    /// Parquet, compressed with Snappy
    Parquet,
}

impl DataFormat {
    /// The format's name in sentences.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::Parquet => "Parquet",
        }
    }
}

impl From<DataFormat> for Format {
    fn from(format: DataFormat) -> Self {
        match format {
            DataFormat::Csv => Self::csv(),
            DataFormat::Json => Self::Json,
            DataFormat::Parquet => Self::parquet(),
        }
    }
}
