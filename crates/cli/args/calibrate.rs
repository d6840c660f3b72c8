//! The arguments of `sluice calibrate`.

use std::path::PathBuf;

use sluicegate_costmodel::Bytes;

use super::StoreArgs;
use super::connect::prices_help;
use super::quantity::Price;
use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice calibrate --endpoint http://127.0.0.1:9000 --bucket scratch --dry-run
      What it would write, send and cost; it only checks whether the bucket exists.
  sluice calibrate --endpoint http://127.0.0.1:9000 --bucket scratch
      Measures; from then on sql and explain predict for this store with what was measured.
  sluice calibrate --bucket scratch --max-cost 0.50 --output office.toml
      AWS, if it is predicted to bill no more than 50 cents.
      `--hardware office.toml` then uses the file anywhere.

What is measured: the latency of a GET, the rate of one connection and of all together, requests per
second; of a store with S3 Select its latency, its scan of CSV, JSON and Parquet, what a comparison, a
branch of CASE and a look into a Bloom filter take, and how many statements it scans side by side;
here, how fast CSV, JSON and Parquet are parsed, how long a query takes to be planned, and how much of
all this overlaps. Every constant has an interval that holds the true value with a probability of 95 %.
What could not be measured is assumed, and named.

Profiles are kept in sluice/hardware in your cache folder (XDG_CACHE_HOME), one TOML file each.
Run it while neither the machine nor the link has other work: a noisy measurement says so, also in
EXPLAIN.";

/// Measure this machine and a store, so that predictions and `auto` fit them
///
/// Writes seeded samples to a bucket, requests them in many ways, and removes them, also after Ctrl-C or an error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// Bucket for samples, which are removed afterwards; created and removed if it does not exist
    #[arg(long, value_name = "NAME")]
    pub(crate) bucket: String,
    /// The profile's name, for --hardware [default: made of the store's address]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Also write the profile to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Size of the largest samples, of which there are six: 64KiB to 256MiB [default: 32MiB, or over
    /// a slow link what it carries in a second, at least 2MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<Bytes>,
    /// Rounds of measurements, after one that does not count
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    pub(crate) rounds: u32,
    /// Seed of the samples' random values
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Only print what would be sent and what it would cost
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not measure if the store's bill is predicted to be higher, in dollars
    #[arg(long, value_name = "USD", help_heading = "Prediction")]
    pub(crate) max_cost: Option<Price>,
    #[arg(long, value_name = "NAME|FILE", help_heading = "Prediction", help = prices_help())]
    pub(crate) prices: Option<String>,
    /// How the constants are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Parses a size from 64KiB to 256MiB.
fn size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if (Bytes::kib(64)..=Bytes::mib(256)).contains(&size) {
        Ok(size)
    } else {
        Err(format!("`{text}` is not between 64KiB and 256MiB"))
    }
}
