//! Arguments of `sluice validate`.

use sluicegate_costmodel::BytesPerSecond;

use super::generate::DataFormat;
use super::quantity::{Latency, scale};
use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice validate
      Scale 0.1 behind 0.1, 1 and 10 Gbit/s with 0 and 5 ms; takes some minutes and leaves no files.
  sluice validate --link 1gbit --latency 20ms --selectivity 0.001,0.1 --query filter,join
      A part of it.
  sluice validate --hardware local-1gbit --link 1gbit --latency 0ms
      How good the predictions of a profile are that was not calibrated.
  sluice validate --format parquet
      Over Parquet instead of CSV; json: over lines of JSON.
  sluice validate --trials csv > trials.csv
      Every trial as a line; the summary is on stderr.

Each query runs in every way that it can be forced to, and as `auto` has it. Errors are those of
predicted seconds, as a part of the measured ones. A choice of `auto` is right if no other way was
faster by more than 5 %, where all runs of what it chose count together: by choice and by name, with the
same plan, the same keys and the same bytes. It is alike if its own run was within 5 % of the fastest run;
its regret is how many times as long it took as that.
runs_s has the seconds of each run, of which measured_s is the median, and ran_as the first way with the
same plan, keys and bytes: the time of a choice is the mean of measured_s of all ways with its ran_as.
Nothing else should run on the machine meanwhile.";

/// Check predictions against reality: every way to run queries, behind links of several kinds
///
/// The store is one of the program's own, in a temporary folder, with TPC-H.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// Scale factor of TPC-H: 1 is about 1 GB of CSV
    #[arg(long, default_value_t = 0.1, value_name = "FACTOR", allow_negative_numbers = true,
          value_parser = scale)]
    pub(crate) scale: f64,
    /// Rates of the link between store and client: 1gbit, 50MB/s, unlimited
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "100mbit,1gbit,10gbit",
        value_name = "RATES",
        allow_hyphen_values = true
    )]
    pub(crate) link: Vec<BytesPerSecond>,
    /// Delays before each request is answered
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0ms,5ms",
        value_name = "TIMES",
        allow_hyphen_values = true
    )]
    pub(crate) latency: Vec<Latency>,
    /// Shares of lineitem's rows that pass the filter, 0 to 1
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.0001,0.01,0.3",
        value_name = "SHARES",
        allow_negative_numbers = true,
        value_parser = share
    )]
    pub(crate) selectivity: Vec<f64>,
    /// Queries: filter, aggregate, group-by, top-k, join [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES",
          value_parser = ["filter", "aggregate", "group-by", "top-k", "join"])]
    pub(crate) query: Vec<String>,
    /// Runs of each way; those that take longer than 3 s run once
    #[arg(long, default_value_t = 3, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// Profile that predictions assume, by name or as a TOML file, with the rate of each link and its latency.
    /// calibrate: measure behind each link first
    #[arg(long, value_name = "NAME|FILE", default_value = "calibrate")]
    pub(crate) hardware: String,
    /// How the objects are encoded
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DataFormat,
    /// How trials are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) trials: ListFormat,
}

fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("`{text}` is not a share, 0 to 1")),
    }
}
