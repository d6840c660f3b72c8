//! What was typed, as it was typed. What it means is for `connect` and the commands.

pub(crate) mod switch;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use sluicegate_costmodel::{Bytes, BytesPerSecond};
use sluicegate_workloads::{DataTable, bigdata, tpch};

use crate::commands::generate::Destination;
use crate::output::Format;
use crate::quantity::{Address, Latency, ObjectUrl, Price};

const EXAMPLES: &str = "\
Examples:
  sluice demo
      See it work: a store, TPC-H, and the same queries with and without pushdown.
  sluice sql -c \"SELECT count(*) FROM 's3://bucket/file.csv'\"
      Ask a store; the AWS environment variables and profiles say which and who you are.
  sluice sql --endpoint http://127.0.0.1:9000
      Ask your own store, statement by statement.

`sluice help COMMAND` has more examples.";

/// SQL over an S3 store, with the work done inside the store.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoArgs),
    Sql(Box<SqlArgs>),
    Explain(Box<ExplainArgs>),
    #[command(subcommand)]
    Endpoint(EndpointCommand),
    Serve(ServeArgs),
    #[command(subcommand)]
    Generate(GenerateCommand),
    Switch(Box<switch::SwitchArgs>),
    Completions(CompletionsArgs),
}

const DEMO_EXAMPLES: &str = "\
Examples:
  sluice demo
      Scale 0.1 behind a link of 1 Gbit/s; takes seconds, leaves nothing behind.
  sluice demo --scale 1 --link 100mbit
      Ten times the data behind a tenth of the link.
  sluice demo --keep
      Keep the data, and learn how to serve and query it yourself.";

/// Show what pushdown saves: TPC-H in a store of its own, queried with pushdown off and on
#[derive(Debug, clap::Args)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct DemoArgs {
    /// TPC-H scale factor: 1 is about 1 GB of CSV
    #[arg(long, default_value_t = 0.1, value_name = "FACTOR")]
    pub(crate) scale: f64,
    /// Rate of the link between store and client: 1gbit, 100mbit, 50MB/s, unlimited
    #[arg(long, default_value = "1gbit", value_name = "RATE")]
    pub(crate) link: BytesPerSecond,
    /// Keep the folder with the data, and say how to serve it
    #[arg(long)]
    pub(crate) keep: bool,
}

const SQL_EXAMPLES: &str = "\
Examples:
  sluice sql -c \"SELECT count(*) FROM 's3://bucket/file.csv'\"
      A file that nobody prepared; its columns are inferred.
  sluice sql -f tables.sql -c \"SELECT * FROM lineitem LIMIT 5\" --format csv
      Tables defined in a file, then a query over them.
  sluice sql --stats -c \"SELECT sum(x) FROM 's3://b/t/'\"
      What was asked of the store and what it cost, after the answer, on stderr.
  sluice sql -c \"SELECT * FROM 's3://b/t.csv' WHERE x > 5\" --output big.parquet
      The answer as a file; its extension says the format.
  sluice sql --max-cost 0.01 < report.sql
      Statements from stdin; none runs that is predicted to cost more than a cent.

Tables:
  CREATE EXTERNAL TABLE t (a BIGINT, b DATE) STORED AS CSV
    LOCATION 's3://bucket/folder/' OPTIONS ('format.has_header' 'true');
  SET sluice.scan = 'get';    -- fetch objects; 'select' pushes down; 'auto' chooses
  EXPLAIN ANALYZE SELECT …    -- the plan with what each node counted";

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
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Write the answer to a file, which appears when it is complete
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Rows that a table shows at most; 0 is all
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) max_rows: usize,
    /// Say after each statement what was asked of the store and what it cost, on stderr
    #[arg(long)]
    pub(crate) stats: bool,
    /// Refuse statements whose predicted cost is higher, in dollars
    #[arg(long, value_name = "USD", help_heading = "Prediction")]
    pub(crate) max_cost: Option<Price>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// Where statements come from.
#[derive(Debug, clap::Args)]
pub(crate) struct StatementArgs {
    /// Statements to run; may be repeated
    #[arg(long, short, value_name = "SQL")]
    pub(crate) command: Vec<String>,
    /// A file of statements to run before those; `-` is stdin; may be repeated
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  sluice explain -c \"SELECT sum(x) FROM 's3://b/t.csv' WHERE y < 3\"
      The plan, the SQL that would be sent to the store, and both ways to scan with their numbers.
  sluice explain -f tables.sql -c \"SELECT …\" --hardware home-100mbit --prices s3-express-us-east-1
      The same over another link and at other prices.

Schemas, listings and statistics are read from the store; queries do not run. Statements that
define tables or set options take effect, so that queries after them can be explained.";

/// Show what a query would ask of the store, and what that is predicted to take and cost
#[derive(Debug, clap::Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) statements: StatementArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// Find out what a store can do
#[derive(Debug, Subcommand)]
pub(crate) enum EndpointCommand {
    Probe(Box<ProbeArgs>),
    Conformance(Box<ConformanceArgs>),
}

const PROBE_EXAMPLES: &str = "\
Examples:
  sluice endpoint probe --endpoint http://127.0.0.1:9000 --bucket scratch
      Samples are written, some hundred small questions are asked, the samples are removed; so is
      the bucket, if it had to be made. The profile is remembered for sql, explain and generate.
  sluice endpoint probe --object s3://data/2024.csv --format csv
      Writes nothing: looks at the first bytes of an object of yours. This shows what parses, not
      what happens to fields, so nothing is remembered.

What is remembered is in sluice/endpoints.json in your cache folder (XDG_CACHE_HOME): the URL, the
Server header, the day and the profile; no credentials.";

/// Ask a store, with tiny statements, what works and what it answers wrongly
#[derive(Debug, clap::Args)]
#[command(after_help = PROBE_EXAMPLES)]
pub(crate) struct ProbeArgs {
    /// A bucket for samples, which are removed again; made, and removed again, if it is not there
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "object",
        conflicts_with = "object"
    )]
    pub(crate) bucket: Option<String>,
    /// An object to look at instead; nothing is written
    #[arg(long, value_name = "s3://BUCKET/KEY")]
    pub(crate) object: Option<ObjectUrl>,
    /// How the table is written
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Ask a store hundreds of documented questions and list the answers that deviate
#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceArgs {
    /// A bucket for samples, which are removed again; made, and removed again, if it is not there
    #[arg(long, value_name = "NAME")]
    pub(crate) bucket: String,
    /// Show the answers that agree, too
    #[arg(long)]
    pub(crate) all: bool,
    /// How the table is written
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// How to reach a store.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store's URL, such as http://127.0.0.1:9000 [default: AWS_ENDPOINT_URL, else AWS]
    #[arg(long, value_name = "URL", help_heading = "Connection")]
    pub(crate) endpoint: Option<String>,
    /// The store's region [default: AWS_REGION or the AWS profile's, else us-east-1]
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    pub(crate) region: Option<String>,
    /// Section of the AWS profile files to take credentials from [default: AWS_PROFILE]
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    pub(crate) aws_profile: Option<String>,
    /// Sign nothing. Otherwise credentials come from the environment (AWS_ACCESS_KEY_ID and
    /// AWS_SECRET_ACCESS_KEY), the AWS profile files or the machine's role
    #[arg(long, help_heading = "Connection")]
    pub(crate) anonymous: bool,
}

/// How to reach a store, and how to query it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ConnectArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// What kind of store it is, which says what may be pushed down. auto: aws without an
    /// endpoint; else what its Server header names; else what `sluice endpoint probe` found out;
    /// else nothing is pushed down. probed: what it found out, whatever the header says
    #[arg(
        long,
        value_name = "KIND",
        value_parser = PossibleValuesParser::new(
            ["auto", "probed", "sluice", "aws", "minio", "ceph", "get-only"]
        ),
        default_value = "auto",
        help_heading = "Connection"
    )]
    pub(crate) profile: String,
    /// How tables are read, until SET sluice.scan says otherwise
    #[arg(long, value_enum, default_value_t, help_heading = "Execution")]
    pub(crate) scan: ScanArg,
    /// Memory that joins, sorts and aggregates may use, such as 2GiB [default: no limit]
    #[arg(long, value_name = "SIZE", help_heading = "Execution")]
    pub(crate) memory_limit: Option<Bytes>,
    /// Partitions that a query runs in [default: the number of cores]
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Price book, by name or as a TOML file [default: paper-2020-us-east-1]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Prediction")]
    pub(crate) prices: Option<String>,
    /// Machine and link that predictions assume, by name or as a TOML file [default: local-1gbit]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Prediction")]
    pub(crate) hardware: Option<String>,
}

/// How tables are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanArg {
    /// Whichever of the other two is predicted to be better
    #[default]
    Auto,
    /// Objects are fetched and filtered here
    Get,
    /// The store filters, projects and aggregates wherever it can
    Select,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  mkdir data && sluice serve --dir data
      A store in a folder; its key pair is made up and printed once.
  SLUICE_ACCESS_KEY=me SLUICE_SECRET_KEY=secret sluice serve --dir data --listen 0.0.0.0:9000
      With a key pair of your own, for others on the network.
  sluice serve --dir data --anonymous --link 1gbit --latency 10ms
      Open to everybody on this machine, and as far away as another data centre.

Folders in the folder are buckets, files in them are objects. Works with aws-cli, boto3 and any
other S3 client. Ctrl-C lets requests finish and stops.";

/// Serve a folder as an S3 store that answers S3 Select
#[derive(Debug, clap::Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// The folder; each folder in it is a bucket
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: PathBuf,
    /// Address to listen on; port 0 is any free one
    #[arg(long, default_value = "127.0.0.1:9000", value_name = "HOST:PORT")]
    pub(crate) listen: Address,
    /// Let everybody do everything. Otherwise the key pair is SLUICE_ACCESS_KEY and
    /// SLUICE_SECRET_KEY, else AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else a new one
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Answer no S3 Select, like most stores
    #[arg(long)]
    pub(crate) no_select: bool,
    /// Rate that all connections share, both directions: 1gbit, 50MB/s
    #[arg(long, default_value = "unlimited", value_name = "RATE")]
    pub(crate) link: BytesPerSecond,
    /// Delay before each request is answered: 10ms
    #[arg(long, default_value = "0s", value_name = "TIME")]
    pub(crate) latency: Latency,
}

/// Generate a data set
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    Tpch(Box<TpchArgs>),
    Bigdata(Box<BigdataArgs>),
}

const TPCH_EXAMPLES: &str = "\
Examples:
  sluice generate tpch --scale 1 --to s3://bench/tpch --objects 8 --ddl tables.sql
      1 GB of CSV into a bucket, which is created if need be; then
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

const BIGDATA_EXAMPLES: &str = "\
Examples:
  sluice generate bigdata --scale 0.01 --to ./data --format parquet --ddl tables.sql
      180,000 pages and 317,000 visits into a folder; then
      sluice sql -f tables.sql -c \"SELECT DISTINCT userAgent FROM uservisits\"
  sluice generate bigdata --to s3://bench/bigdata --objects 8 --seed 7
      The sample that Cheetah (SIGMOD 2020) was measured with, as other random rows.

Scale 1 is 18 million rankings and 31.7 million visits. Memory stays bounded at any scale. Running
the same command again writes the same bytes.";

/// The two tables of the Big Data benchmark (web pages and visits), at any scale
#[derive(Debug, clap::Args)]
#[command(after_help = BIGDATA_EXAMPLES)]
pub(crate) struct BigdataArgs {
    /// What the random rows start from
    #[arg(long, default_value_t = bigdata::Seed::default().0, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) tables: TableArgs<bigdata::Table>,
}

/// Which tables of a data set to generate, how, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs<T>
where
    T: DataTable + FromStr<Err: std::error::Error + Send + Sync>,
{
    /// Scale factor: of TPC-H, 1 is about 1 GB of CSV; of the Big Data benchmark, 7 GB
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR")]
    pub(crate) scale: f64,
    /// How the objects are encoded
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DataFormat,
    /// Objects per table; tables of fixed size are always one
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) objects: NonZeroUsize,
    /// Tables, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) tables: Vec<T>,
    /// Where to: s3://bucket/prefix or a folder
    #[arg(long, value_name = "PLACE")]
    pub(crate) to: Destination,
    /// Write the CREATE EXTERNAL TABLE statements to a file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) ddl: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// How generated objects are encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// Comma-separated with a header line
    #[default]
    Csv,
    /// Parquet, compressed with Snappy
    Parquet,
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
        refused(&["sluice", "serve", "--dir", "d", "--latency", "5"], "a delay such as 10ms");
        refused(&["sluice", "serve", "--dir", "d", "--listen", "9000"], "an address such as");
        refused(&["sluice", "generate", "tpch", "--to", "x", "--tables", "line"], "no TPC-H table");
        refused(
            &["sluice", "generate", "tpch", "--to", "gs://x"],
            "s3://bucket/prefix or a folder",
        );
        refused(&["sluice", "sql", "--profile", "dell"], "get-only");
        refused(&["sluice", "sql", "--threads", "0"], "--threads");
        refused(&["sluice", "endpoint", "probe"], "--bucket");
        refused(&["sluice", "endpoint", "probe", "--object", "data.csv"], "s3://bucket/key");
        refused(&["sluice", "sql", "--nonsense"], "--nonsense");
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
