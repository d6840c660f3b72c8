//! Arguments of `sluice storage`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use sluicegate_costmodel::storage::Operation;

use super::quantity::{Latency, bucket};
use super::{ConnectArgs, StatementArgs};
use crate::output::chart::ChartFormat;

const EXAMPLES: &str = "\
Examples:
  sluice storage -f tables.sql -c \"SELECT sum(x) FROM t WHERE y < 3\"
      Runs the query without pushdown, and says what a drive that scans, filters and projects would save
      it: each stage before and after, the critical path, and the speed-up with its bounds.
  sluice storage -f tables.sql -f queries.sql
      Several queries: a line for each, the highest Scan Ratio first. A comment `-- Q9` before a query
      names it; --query Q9 shows the stages of that one.
  sluice storage --stages q9.json
      The same for a query that has run anywhere.
  sluice storage --spark-log spark-events/app-20261124-0001 --query \"3: collect\"
      The same for the queries of a Spark application, from its event log.
  sluice storage --duckdb q9.json --duckdb q44.json
      The same for queries of DuckDB 1.1 or later, from their profiles: PRAGMA enable_profiling = 'json';
      PRAGMA profiling_output = 'q9.json'; and the query.
  sluice storage --datafusion q9.txt
      The same for a query of DataFusion, from what EXPLAIN ANALYZE VERBOSE prints, or EXPLAIN (ANALYZE,
      FORMAT pgjson).
  sluice storage --stages q9.json --device smart-ssd --slots 8
      Another drive, and no more than eight stages at once.
  sluice storage --stages q9.json --setup 10ms --only-if-beneficial --format csv > stages.csv
      A shorter set-up, and stages that would become slower stay where they are.
  sluice storage --stages q9.json --device icpe-2020-what-if
      What if the drive also aggregated, and dropped rows without a match in a small table?
  sluice storage --stages q9.json --offload decode
      A drive that decompresses and decodes, and leaves filters to the host.
  sluice storage -f tables.sql -f queries.sql --query Q9 -o q9.svg
      A Gantt chart of the stages: measured, and with the drive.
  sluice storage -f tables.sql -f queries.sql --model-tables scratch --rounds 5
      Does not predict, but tries: each query runs over its tables, over copies of them (what the writer's
      layout changes by itself) and over tables of only the rows and columns that its scans give.

A query runs --rounds times, and the run of the median time counts. Its times are measured by clocks of
our own around each operator, since DataFusion's metrics mean other things in other operators: thread time
is time inside an operator, less that of its inputs; what scans wait for the store is beside it.

A file of stages is what was measured of each stage, from the log of whatever engine ran the query:
  {\"version\": 1, \"name\": \"Q9\", \"cores\": 16, \"stages\": [
    {\"id\": 0, \"wall_seconds\": 10.0, \"thread_seconds\": 120.0, \"scan_seconds\": 80.0,
     \"filter_project_seconds\": 20.0, \"wait_seconds\": 5.0, \"read_bytes\": 4e9, \"result_bytes\": 2e7},
    {\"id\": 1, \"wall_seconds\": 2.0, \"thread_seconds\": 8.0, \"after\": [0]}]}
Thread seconds are those of all operators of a stage over all of its tasks; scan, filter and project are
parts of them. wait_seconds, 0 if left out, are those that its scans waited for storage without a thread at
work: beside the thread seconds, not in them. A drive takes them off, too: of a stage, the part of scan,
filter, project and waiting in thread seconds and waiting (sfp_percent) is left out of its wall seconds.
A stage starts when those it is `after` are over.

What a drive can do beyond scan, filter and project needs more fields of a stage; a missing one is 0:
  scanned_bytes             rows of its scans, decoded, before filters; without filters, a drive sends these
  aggregate_seconds         thread seconds of aggregates directly above scan, filter and project
  aggregate_dropped_bytes   bytes that they are given and do not pass on
  semi_joins                joins of scanned rows with small tables, a list of {\"build_bytes\": bytes of
                            the small table, \"seconds\": thread seconds, \"dropped_bytes\": bytes}, both of
                            the rows that have no match
They are measured of queries that run here; DuckDB's and DataFusion's logs have the aggregates. If the drive
has semi-joins, DataFusion's own filters from the keys of joins are off. `operators` and `tables`
of a stage are printed in JSON and CSV: its numbers of operators, {\"scan\": 1, \"filter\": 1}, and the rows that
its scans keep, [{\"table\": \"t\", \"rows\": 1000, \"kept\": 10}].

A file of a drive has the keys name, date, source, setup_seconds, media_bytes_per_second,
link_bytes_per_second and filter_bytes_per_second; and, if it differs from the paper's drive,
  offloads = [\"decode\", \"filter\"]   what it does: these two, and \"semi-join\" and \"aggregate\"
  decode_bytes_per_second = inf      bytes as stored; the paper's drive decodes at no cost
  semi_join_bytes = 10_485_760       the largest small table of a semi-join; the default is Spark's limit for
                                     tables that are sent to all machines
Decoding is 46 % of DuckDB's time for TPC-H over Parquet, and filters are 17 % (arXiv 2602.18775).

bound is the largest speed-up that any drive allows: the longest path of stages without scan, filter and
project is left. amdahl is Amdahl's law on the critical path as it was measured, which is no smaller.
thread_time_ratio is how many times the thread time is of that without scan, filter and project, and bounds
no speed-up. In CSV and JSON, an empty number or null is without limit. A quadrant is about a Scan Ratio of
50 % and more, and about cores that are busy for 50 % of the time and more (Fig. 8 of the paper, halved in the
middle). The roofline says how much fewer bytes over the drive's link and less work for the cores allow where
reading and computing overlap; it needs `cores`, read_bytes and result_bytes.

The model is that of \"Modeling Analytics for Computational Storage\" (ICPE 2020). Its formula is printed
without what remains of a stage; --formula printed computes that, to compare with the paper.";

/// Predict what computational storage would save a query
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StorageArgs {
    #[command(flatten)]
    pub(crate) statements: StatementArgs,
    /// Stages of a query that has run, as JSON; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "file"])]
    pub(crate) stages: Vec<PathBuf>,
    /// Event log of Apache Spark 3 or 4, a file or the folder of a rolled one; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with_all = ["command", "file"])]
    pub(crate) spark_log: Vec<PathBuf>,
    /// JSON profile of a query of DuckDB 1.1 or later; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "file"])]
    pub(crate) duckdb: Vec<PathBuf>,
    /// Output of DataFusion's EXPLAIN ANALYZE, as text or pgjson; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "file"])]
    pub(crate) datafusion: Vec<PathBuf>,
    /// Write what each scan gives to tables in this bucket, and compare: the method of model tables; the
    /// tables are removed
    #[arg(long, value_name = "BUCKET", value_parser = bucket, conflicts_with_all = ["stages", "spark_log", "duckdb", "datafusion"])]
    pub(crate) model_tables: Option<String>,
    /// Runs of each query; the median counts
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// The query whose stages are wanted, if there are several; the others do not run
    #[arg(long, value_name = "NAME")]
    pub(crate) query: Option<String>,
    /// The drive: icpe-2020, icpe-2020-what-if, ideal, smart-ssd, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "icpe-2020")]
    pub(crate) device: String,
    /// What the drive does: decode, filter (and project), semi-join, aggregate [default: the device's]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = operation)]
    pub(crate) offload: Vec<Operation>,
    /// From the command to the drive's first byte, once for each stage [default: the device's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) setup: Option<Latency>,
    /// Leave stages on the host that the drive would make slower
    #[arg(long)]
    pub(crate) only_if_beneficial: bool,
    /// Stages that may run at once [default: no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) slots: Option<NonZeroUsize>,
    /// How the rest of a stage is estimated
    #[arg(long, value_enum, default_value_t)]
    pub(crate) formula: FormulaArg,
    /// How stages are written: table, csv, json, or svg, a Gantt chart [default: by the extension of --output,
    /// else table]
    #[arg(long, value_enum, hide_possible_values = true)]
    pub(crate) format: Option<ChartFormat>,
    /// Write the stages to a file, which appears when it is complete
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// The formulas that estimate the rest of a stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormulaArg {
    /// The measured time without scan, filter and project, plus the drive's time
    #[default]
    Intended,
    /// As printed in the paper: without what remains
    Printed,
}

fn operation(text: &str) -> Result<Operation, String> {
    let known = Operation::ALL;
    known.into_iter().find(|it| it.name() == text).ok_or_else(|| {
        let names = known.map(Operation::name).join(", ");
        format!("is none of {names}")
    })
}
