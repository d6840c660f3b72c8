//! The arguments of `sluice statistics`.

use clap::Subcommand;

use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice sql -c \"ANALYZE TABLE 's3://data/lineitem/'\"
      Read all objects of a table once, and remember what their values are like.
  sluice sql -c \"ANALYZE TABLE 's3://data/lineitem/' COLUMNS l_orderkey, l_shipdate\"
      The same of two columns.
  sluice statistics list
  sluice statistics show s3://data/lineitem/
  sluice statistics drop s3://data/lineitem/

Statistics say how many rows there are, how wide columns are, how many distinct values they have and
which of these are frequent. Queries are planned with them; they never change an answer. A table that
was not analyzed is sampled when it is first planned, by at most 8 requests. Statistics are of one
version of an object, by its entity tag: once it is replaced, they are not used. They are kept in the
user's cache folder, without credentials, up to 512 MiB; the oldest go first.";

/// Look at what is remembered about the values of tables, or forget it
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum StatisticsCommand {
    List(StatisticsListArgs),
    Show(StatisticsShowArgs),
    Drop(StatisticsDropArgs),
}

/// List the objects of which statistics are remembered
#[derive(Debug, clap::Args)]
pub(crate) struct StatisticsListArgs {
    /// Only objects whose URL begins like this
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// How the table is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// Show what is remembered about the columns of a table
#[derive(Debug, clap::Args)]
pub(crate) struct StatisticsShowArgs {
    /// The URL of an object, or how the URLs of several begin
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// How the table is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// Forget statistics
#[derive(Debug, clap::Args)]
pub(crate) struct StatisticsDropArgs {
    /// The URL of an object, or how the URLs of several begin
    #[arg(value_name = "URL", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) url: Option<String>,
    /// Forget all, and remove files that cannot be used
    #[arg(long)]
    pub(crate) all: bool,
}
