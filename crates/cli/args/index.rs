//! The arguments of `sluice index`.

use std::path::PathBuf;

use clap::Subcommand;

use super::StoreArgs;
use crate::output::listing::ListFormat;

const INDEX_EXAMPLES: &str = "\
Examples:
  sluice index create s3://data/lineitem/ l_orderkey
  sluice sql --scan index -c \"SELECT * FROM 's3://data/lineitem/' WHERE l_orderkey = 4711\"

An index object lies beside each data object: that of the column price of s3://data/t/a.csv is
s3://data/.sluice-index/t/a.csv/_price.….idx. It holds, sorted by value, where each record is.
Queries find it by themselves (SET sluice.scan = 'auto') where it is predicted to be worth it:
for =, IN, <, <=, >, >= and BETWEEN with constants, IS NULL and IS NOT NULL. The indexes of several
columns are used together where that leaves less to read. An index whose data object has been
replaced is not used.";

/// Create and maintain indexes, which lead queries to the records that they need
#[derive(Debug, Subcommand)]
#[command(after_help = INDEX_EXAMPLES)]
pub(crate) enum IndexCommand {
    Create(Box<CreateArgs>),
    List(Box<ListArgs>),
    Verify(Box<VerifyArgs>),
    Drop(Box<DropArgs>),
}

/// The table whose indexes a command manages.
#[derive(Debug, clap::Args)]
pub(crate) struct IndexedTable {
    /// The table: the URL of an object, a folder or a pattern, or a name that a file of -f defines
    #[arg(value_name = "TABLE|URL")]
    pub(crate) table: String,
}

/// Arguments that select the table's store and its indexes.
#[derive(Debug, clap::Args)]
pub(crate) struct IndexStore {
    /// A file of statements that define the table; may be repeated
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Location of the index objects [default: the folder .sluice-index of the table's bucket]. Queries need it, too:
    /// SET sluice.index_location = 's3://…'
    #[arg(long, value_name = "s3://BUCKET/FOLDER/")]
    pub(crate) location: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const CREATE_EXAMPLES: &str = "\
Examples:
  sluice index create s3://data/lineitem/ l_orderkey
      An index object beside each object of the folder.
  sluice index create -f tables.sql lineitem l_shipdate
      The same for a table that a file defines, with its types and options.
  sluice index create s3://data/lineitem/ l_orderkey --location s3://indexes/
      Index objects in a bucket of their own.

  sluice index create s3://data/lineitem/ l_orderkey --repair
      Also replace indexes that are damaged anywhere.
  sluice index create s3://data/lineitem/ l_extendedprice --csv
  sluice sql --scan index_table -c \"SELECT * FROM 's3://data/lineitem/' WHERE l_extendedprice < 910\"
      The index of the PushdownDB paper: a CSV table of value, first_byte and last_byte, which S3 Select
      filters; then each row is fetched with a GET of its own. For comparisons with the paper: `auto`
      never uses it, and the index without --csv needs fewer requests.

Each object is read once; memory is bounded, and entries are sorted in temporary files. Objects
that have a fresh index are left out, so a run that was stopped can be repeated; the end of each
index is read to see that it is whole, and all of it with --repair. Columns of numbers, dates,
timestamps and text can be indexed, of Parquet, and of CSV and lines of JSON that are not compressed.
Types and options must be those of the queries, as an index is of the values that they read.";

/// Create the indexes of a column, or those that are missing or stale
#[derive(Debug, clap::Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    pub(crate) table: IndexedTable,
    /// The column
    pub(crate) column: String,
    /// Read existing indexes from end to end, and replace those that are damaged
    #[arg(long)]
    pub(crate) repair: bool,
    /// Make CSV tables of values and places for S3 Select, the index of the PushdownDB paper
    #[arg(long, conflicts_with = "repair")]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) store: IndexStore,
}

const LIST_EXAMPLES: &str = "\
Examples:
  sluice index list s3://data/lineitem/
  sluice index list -f tables.sql lineitem --format json

An index is `fresh`, or `stale` if its object has been replaced since, of an `other format` if the
table is read with other types or options, of a `former version` if an older sluice made it,
`damaged` if it is too short, an `orphan` if its object is gone. This is what names and sizes say,
from one listing; `sluice index verify` reads the indexes. Its kind is the value of sluice.scan that
uses it: `index`, or `index_table` if it was created with --csv.";

/// List the indexes of a table, and whether they can be used
#[derive(Debug, clap::Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) table: IndexedTable,
    /// How the table is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) store: IndexStore,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  sluice index verify s3://data/lineitem/
  sluice index verify -f tables.sql lineitem l_orderkey && echo all sound
  sluice index create -f tables.sql lineitem l_orderkey --repair
      Replaces what verify found.

An index has checksums. An index table (--csv) has none, so it is compared with its object, which is
read too.";

/// Read the indexes of a table from end to end, and report which are damaged or stale
///
/// It fails if one is.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) table: IndexedTable,
    /// Only those of this column
    pub(crate) column: Option<String>,
    /// How the table is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) store: IndexStore,
}

const DROP_EXAMPLES: &str = "\
Examples:
  sluice index drop s3://data/lineitem/ l_orderkey
  sluice index drop -f tables.sql lineitem l_shipdate --location s3://indexes/

All of them are removed: fresh ones, stale ones, and those of objects that are gone.";

/// Remove the indexes of a column
#[derive(Debug, clap::Args)]
#[command(after_help = DROP_EXAMPLES)]
pub(crate) struct DropArgs {
    #[command(flatten)]
    pub(crate) table: IndexedTable,
    /// The column
    pub(crate) column: String,
    #[command(flatten)]
    pub(crate) store: IndexStore,
}
