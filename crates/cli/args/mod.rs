//! The command line's arguments. `connect` and the commands interpret them.

mod calibrate;
mod connect;
mod connection;
mod destination;
mod endpoint;
mod generate;
pub(crate) mod help;
mod index;
mod model;
pub(crate) mod parameters;
pub(crate) mod quantity;
mod query;
mod reference;
mod reproduce;
pub(crate) mod route;
mod serve;
mod serve_sql;
mod simulation;
pub(crate) mod source;
mod statistics;
mod storage;
pub(crate) mod sweep;
pub(crate) mod switch;
pub(crate) mod time;
pub(crate) mod topology;
pub(crate) mod udp;
mod validate;
mod worker;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use sluicegate_costmodel::BytesPerSecond;

pub(crate) use self::calibrate::CalibrateArgs;
pub(crate) use self::connect::{ConnectArgs, KINDS, ScanArg, StoreArgs};
pub(crate) use self::connection::{
    ConnectAddArgs, ConnectCommand, ConnectListArgs, ConnectTestArgs,
};
pub(crate) use self::destination::Destination;
pub(crate) use self::endpoint::{ConformanceArgs, EndpointCommand, ProbeArgs};
pub(crate) use self::generate::{
    DataFormat, DataSet, GenerateCommand, QueriesArgs, QueryParameters, TableArgs,
};
pub(crate) use self::index::{
    CreateArgs, DropArgs, IndexCommand, IndexStore, ListArgs, VerifyArgs,
};
pub(crate) use self::model::ModelArgs;
use self::quantity::{Price, max_rows, scale};
pub(crate) use self::query::QueryArg;
pub(crate) use self::reference::{ReferenceArgs, ReferenceOf};
pub(crate) use self::reproduce::ReproduceArgs;
pub(crate) use self::serve::ServeArgs;
pub(crate) use self::serve_sql::ServeSqlArgs;
pub(crate) use self::simulation::SimulationArgs;
pub(crate) use self::statistics::{
    StatisticsCommand, StatisticsDropArgs, StatisticsListArgs, StatisticsShowArgs,
};
pub(crate) use self::storage::{FormulaArg, StorageArgs};
pub(crate) use self::validate::ValidateArgs;
pub(crate) use self::worker::{WorkerArgs, WorkersArgs};
use crate::output::Format;

const EXAMPLES: &str = "\
Examples:
  sluice demo
      See it work: a store, tables, and the same queries with and without pushdown.
  sluice sql \"SELECT * FROM 'data/*.csv' LIMIT 10\"
      Query files of this machine; CSV, JSON and Parquet need no definition.
  sluice sql \"SELECT count(*) FROM 's3://bucket/file.csv'\"
      Query a store; endpoint and credentials come from the AWS environment and profiles.
  sluice sql --endpoint http://127.0.0.1:9000
      Open a prompt on a store of your own.

`sluice help COMMAND` has more examples.";

/// SQL over an S3 store, with the work done inside the store.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(propagate_version = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Report errors also in the words of the libraries below
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
}

/// The commands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoArgs),
    Sql(Box<SqlArgs>),
    Explain(Box<ExplainArgs>),
    Model(Box<ModelArgs>),
    Validate(ValidateArgs),
    Storage(Box<StorageArgs>),
    #[command(subcommand)]
    Connect(ConnectCommand),
    #[command(subcommand)]
    Endpoint(EndpointCommand),
    #[command(subcommand)]
    Index(IndexCommand),
    #[command(subcommand)]
    Statistics(StatisticsCommand),
    Calibrate(Box<CalibrateArgs>),
    Serve(Box<ServeArgs>),
    ServeSql(Box<ServeSqlArgs>),
    Worker(Box<WorkerArgs>),
    #[command(subcommand)]
    Generate(GenerateCommand),
    Reproduce(ReproduceArgs),
    Switch(Box<switch::SwitchArgs>),
    Completions(CompletionsArgs),
    Reference(ReferenceArgs),
}

/// The default scale factor of the demo, which then takes seconds.
const DEFAULT_SCALE: f64 = 0.1;

const DEMO_EXAMPLES: &str = "\
Examples:
  sluice demo
      Scale 0.1 behind a link of 1 Gbit/s; takes seconds and leaves no files.
  sluice demo --scale 1 --link 100mbit
      Ten times the data behind a tenth of the link.
  sluice demo --format parquet
      The same over Parquet; json: over lines of JSON.
  sluice demo --keep
      Keep the data, and print the commands that serve and query it.
  sluice demo --svg demo.svg
      The seconds and the bytes of each query as a chart, for a page or a talk.";

/// Show what pushdown saves: the ten items of PushdownDB's Figure 10, with pushdown off and on
#[derive(Debug, clap::Args)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Scale factor of TPC-H and of the skewed table: 1 is about 1 GB of CSV of each
    #[arg(long, default_value_t = DEFAULT_SCALE, value_name = "FACTOR", allow_negative_numbers = true,
          value_parser = scale)]
    pub(crate) scale: f64,
    /// Rate of the link between store and client: 1gbit, 100mbit, 50MB/s, unlimited
    #[arg(long, default_value = "1gbit", value_name = "RATE")]
    pub(crate) link: BytesPerSecond,
    /// How the objects are encoded
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DataFormat,
    /// Keep the folder with the data, and print how to serve it
    #[arg(long)]
    pub(crate) keep: bool,
    /// Also draw the seconds and the bytes of each query with pushdown off and on, as a chart
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

const SQL_EXAMPLES: &str = "\
Examples:
  sluice sql -c \"SELECT count(*) FROM 's3://bucket/file.csv'\"
      A file without a table definition; its columns are inferred.
  sluice sql -f tables.sql -c \"SELECT * FROM lineitem LIMIT 5\" --format csv
      Tables defined in a file, then a query over them.
  sluice sql --stats -c \"SELECT sum(x) FROM 's3://bucket/t/'\"
      The requests, bytes and cost of the statement, after the answer, on stderr.
  sluice sql -c \"SELECT * FROM 's3://bucket/t.csv' WHERE x > 5\" --output big.parquet
      The answer as a file, in the format of its extension.
  sluice sql -f report.sql --output report.csv --profile-html report.html
      The answer, and a page with a picture of how it came to be: bytes, requests in time, dollars.
  sluice sql --max-cost 0.01 < report.sql
      Statements from stdin; one that is predicted to cost more than a cent does not run.
  sluice sql --workers http://10.0.0.1:9100,http://10.0.0.2:9100 -f report.sql
      The same on several machines, each of which reads its share (`sluice worker --help`).

Tables:
  CREATE EXTERNAL TABLE t (a BIGINT, b DATE) STORED AS CSV
    LOCATION 's3://bucket/folder/' OPTIONS ('format.has_header' 'true');
  FROM 's3://bucket/file.csv.gz' WHERE x > 5; -- format and compression by the name
  SUMMARIZE 's3://bucket/file.csv';           -- what each column is like; DESCRIBE: its type
  SELECT * FROM read_csv('s3://bucket/data.txt', delim => ';', header => false);
                              -- also read_json, read_parquet; glob('s3://bucket/*.csv') lists
  SELECT * FROM read_csv('export.csv', skip => 2, encoding => 'latin-1', nullstr => 'NA',
    decimal_separator => ',', dateformat => '%d.%m.%Y', types => {'id': 'BIGINT'});
  COPY t TO 's3://bucket/out/' STORED AS PARQUET OPTIONS (overwrite true);  -- or (append true)
                              -- PARTITIONED BY (x) before OPTIONS; of no rows it replaces nothing
  COPY t TO 's3://bucket/t.parquet' (FORMAT parquet, COMPRESSION zstd);
  SET sluice.scan = 'get';    -- fetch objects; 'select' pushes down; 'index' looks into indexes
                              -- (`sluice index create`); 'auto' chooses
  ANALYZE TABLE lineitem;     -- read a table to know its values (`sluice statistics --help`)
  SET sluice.group_by = 's3'; -- group in the store: by its GROUP BY, or as 'case' does in a
                              -- store that has none; 'case': by CASE for each group;
                              -- 'hybrid': only the largest groups; 'filtered' and 'server'
                              -- group here; 'auto' chooses
  SET sluice.join = 'bloom';  -- send the keys of joins as a list, a Bloom filter or bounds;
                              -- 'filtered', 'baseline'; 'auto' decides when they arrive
  SET sluice.join_keys = 2000000; -- the most keys of a join that are sent where it lists none
  SET sluice.transfer = false;    -- keys go to the other side of their join only, no further
  SET sluice.top_k = 'sampling';  -- ORDER BY … LIMIT asks a sample first which rows need not be
                              -- sent; 'late': then sort columns only, and whole rows of the
                              -- answer last; 'filtered' and 'server' sort here; 'auto' chooses
  SET sluice.group_by_sample = 4096;  -- rows of a file that tell its groups, or how many there are
  SET sluice.range_bytes = 8388608;   -- the least bytes of a range with a request of its own
  SET sluice.select_partitions = 8;   -- objects or ranges that Select is asked about at a time, to 256
  SHOW sluice.scan;           -- SHOW ALL VERBOSE lists every option, with what it does
  EXPLAIN SELECT …            -- the plan, the alternatives, and why others are not possible
  EXPLAIN ANALYZE SELECT …    -- the plan with what each node counted and sent; VERBOSE: whole";

/// Run SQL statements, or open a prompt
///
/// Statements end with `;`. Files run first, then each -c, in order; without either they are read
/// from stdin, and if that is a terminal, from a prompt. The first error ends the run.
#[derive(Debug, clap::Args)]
#[command(after_help = SQL_EXAMPLES)]
pub(crate) struct SqlArgs {
    #[command(flatten)]
    pub(crate) statements: StatementArgs,
    /// How answers are written [default: by the extension of --output, else table]
    #[arg(long, value_enum, ignore_case = true)]
    pub(crate) format: Option<Format>,
    /// Write the answer to a file, which appears when it is complete; `-` is stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Maximum number of rows in a table; 0 shows all [default: 40 on a terminal, else 1000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = max_rows)]
    pub(crate) max_rows: Option<usize>,
    /// Print the requests, bytes and cost of each statement on stderr
    #[arg(long)]
    pub(crate) stats: bool,
    /// Write the requests, bytes, cost, prediction and strategies of each statement to a file, a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub(crate) stats_json: Option<PathBuf>,
    /// Open a prompt after the statements of -f and -c
    #[arg(long, short)]
    pub(crate) interactive: bool,
    /// Open the prompt without running sluice/init.sql of your configuration folder (XDG_CONFIG_HOME, else
    /// ~/.config) first
    #[arg(long)]
    pub(crate) no_init: bool,
    /// Do not show the progress of long statements; without a terminal on stderr it is never shown
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Draw what the statements did on a page, which needs no network
    ///
    /// Its numbers are counted and measured, beside those predicted. The file appears when all statements
    /// have run, a section for each. A statement that fails is on it with its error, and is the last.
    #[arg(long, value_name = "FILE", value_parser = html_file)]
    pub(crate) profile_html: Option<PathBuf>,
    /// Do not run statements whose predicted cost in dollars is higher
    #[arg(long, value_name = "USD", help_heading = "Prediction", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<Price>,
    #[command(flatten)]
    pub(crate) workers: WorkersArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// The statements to run: options, files and plain arguments.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct StatementArgs {
    /// Statements to run; may be repeated
    #[arg(long, short, value_name = "SQL")]
    pub(crate) command: Vec<String>,
    /// Run this file first, before any -c; `-` is stdin; may be repeated
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Statements to run after those of -c, without an option
    #[arg(value_name = "SQL")]
    pub(crate) statements: Vec<String>,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  sluice explain -c \"SELECT sum(x) FROM 's3://bucket/t.csv' WHERE y < 3\"
      The plan, and every way to run its scans and aggregates, with the SQL that would be sent to
      the store and predicted numbers, or the reason why it is not possible.
  sluice explain -f tables.sql -c \"SELECT …\" --hardware home-100mbit --prices s3-express-us-east-1
      The same over another link and at other prices.
  sluice explain -f report.sql --html plan.html
      A page with a picture of each plan instead: what runs in the store and what here, and how many
      bytes come over; one section for each statement.

Schemas, listings and statistics are read from the store; queries do not run. Statements that
define tables or set options take effect, so that queries after them can be explained.";

/// Show the plan of a query, what it would send to the store, and its predicted time and cost
#[derive(Debug, clap::Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) statements: StatementArgs,
    /// Draw the plans on a page, which needs no network, instead of printing them
    ///
    /// The file appears when it is complete. Its numbers are predicted. A statement that fails is on
    /// it with its error, and is the last.
    #[arg(long, value_name = "FILE", value_parser = html_file)]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) workers: WorkersArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  sluice completions bash > ~/.local/share/bash-completion/completions/sluice
  sluice completions zsh > ~/.zfunc/_sluice
  sluice completions fish > ~/.config/fish/completions/sluice.fish";

/// Print a script that completes the commands and options in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// Parses the name of a page. Another ending may be that of a script or of data, which the page would overwrite.
fn html_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension
        .is_some_and(|it| ["html", "htm"].iter().any(|html| it.eq_ignore_ascii_case(html)))
    {
        true => Ok(path),
        false => Err("the name of a page ends in .html".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[track_caller]
    fn refused(args: &[&str], expected: &str) {
        let error = Args::try_parse_from(args).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn bad_quantities_are_refused_with_an_example() {
        refused(&["sluice", "demo", "--link", "fast"], "a rate such as 1Gbit");
        refused(&["sluice", "sql", "--memory-limit", "much"], "a number of bytes such as");
        refused(&["sluice", "sql", "--max-cost", "cheap"], "a sum of dollars such as 0.05");
        refused(&["sluice", "sql", "--max-cost", "-1"], "a sum of dollars such as 0.05");
        refused(&["sluice", "demo", "--scale", "abc"], "a scale factor such as 0.1");
        refused(&["sluice", "demo", "--scale", "-1"], "a scale factor such as 0.1");
        refused(&["sluice", "serve", "--dir", "d", "--latency", "5"], "a delay such as 10ms");
        refused(&["sluice", "serve", "--dir", "d", "--listen", "9000"], "an address such as");
        refused(&["sluice", "serve", "--dir", "d", "--upload-expiry", "7"], "an age such as 7d");
        refused(
            &["sluice", "serve", "--dir", "d", "--scrub", "--anonymous"],
            "cannot be used with",
        );
        refused(&["sluice", "serve", "--dir", "d", "--client-timeout", "5"], "a time such as 30s");
        refused(&["sluice", "serve", "--dir", "d", "--max-uploads", "0"], "--max-uploads");
        refused(&["sluice", "serve", "--dir", "d", "--max-upload-size", "0"], "1 byte or more");
        refused(&["sluice", "serve", "--dir", "d", "--least-rate", "unlimited"], "not `unlimited`");
        refused(&["sluice", "serve", "--dir", "d", "--host", "me:9000"], "a name without a port");
        refused(&["sluice", "generate", "tpch", "--to", "x", "--tables", "line"], "no TPC-H table");
        refused(&["sluice", "generate", "tpcds", "--to", "x", "--tables", "sales"], "store_sales");
        refused(
            &["sluice", "generate", "tpch", "--to", "gs://x"],
            "s3://bucket/prefix or a folder",
        );
        refused(&["sluice", "sql", "--store", "dell"], "get-only");
        refused(&["sluice", "sql", "--profile", "prod"], "name it with --aws-profile");
        refused(&["sluice", "sql", "--threads", "0"], "--threads");
        refused(&["sluice", "endpoint", "probe"], "--bucket");
        refused(&["sluice", "endpoint", "probe", "--object", "data.csv"], "s3://bucket/key");
        refused(&["sluice", "calibrate"], "--bucket");
        refused(&["sluice", "calibrate", "--bucket", "b", "--size", "1KiB"], "64KiB");
        refused(&["sluice", "calibrate", "--bucket", "b", "--rounds", "0"], "--rounds");
        refused(&["sluice", "sql", "--nonsense"], "--nonsense");
        refused(&["sluice", "sql", "--profile-html", "report.sql"], "ends in .html");
        refused(&["sluice", "explain", "--html", "SELECT 1"], "ends in .html");
    }

    #[test]
    fn statements_may_be_repeated() {
        let args =
            Args::try_parse_from(["sluice", "sql", "-c", "a", "-c", "b", "-f", "x"]).unwrap();
        let Command::Sql(sql) = args.command else { panic!("not sql") };
        assert_eq!(sql.statements.command, ["a", "b"]);
        assert_eq!(sql.connect.scan, ScanArg::Auto);
    }
}
