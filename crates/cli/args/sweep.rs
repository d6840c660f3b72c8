//! Arguments of `sluice switch sweep`.

use std::path::PathBuf;

use sluicegate_pruning::algorithm::catalog::Algorithm;
use sluicegate_pruning::experiment::sweep::Span;

use super::parameters::{ParameterArgs, of_each};
use super::route::RouteArgs;
use super::switch::InputArgs;
use crate::output::chart::ChartFormat;

const EXAMPLES: &str = "\
Examples:
  sluice switch sweep --algorithm distinct,distinct-fifo --over d=64..16384 \\
      --input generated:zipf:keys=20000
      What is let through with more and more rows, beside the optimum: as in the paper's figure 10.
  sluice switch sweep --algorithm group-by --over prefix=1000..1000000 --over w=1,3,9 \\
      --input visits.parquet --column userAgent,adRevenue --format svg --output 11d.svg
      The same along prefixes of the stream, a line for each width: as in figure 11.
  sluice switch sweep --algorithm having --then-distinct --over w=64..4096 --threshold 1000000 \\
      --input visits.csv --column languageCode,adRevenue
      HAVING with a DISTINCT behind it, over a column with decimals: as in figure 10f.
  sluice switch sweep --algorithm distinct --over d=64..16384 --leaves 4 \\
      --input generated:zipf:keys=20000
      The same in a tree: four switches prune a part of the entries each, and a fifth what they
      forward.
  sluice switch sweep --algorithm top-n-randomized --over w=1..16 --seeds 20 --format csv \\
      --input generated:uniform

Axes: w (columns, points, cutoffs, counters in a row of having's sketch), d (rows, cells, bits or words of
a filter), hashes, n, threshold, and prefix (the first entries; of a join as large a part of either side). A
range has every number of w, hashes and n, of d each twice the one before, and ten at equal ratios of the
others; behind `/` as many at equal ratios. Of what must be a power of two in one of the algorithms it has
those.

Counted by the fast path, which is equivalent to the program. Each seed chooses other hash functions;
forwarded_share is the mean, with the 95 % interval of Student's t. What hashes nothing runs once. `wrong` counts
runs with another answer, which only TOP N by random rows may have.";

/// Measure algorithms along an axis: what is let through, with intervals, beside the optimum
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// The algorithms, by the names in `sluice switch fit`, separated by commas
    #[arg(
        long,
        long_help = of_each(),
        required = true,
        value_delimiter = ',',
        value_name = "ALGORITHMS"
    )]
    pub(crate) algorithm: Vec<Algorithm>,
    /// Parameter that changes from point to point; a second one makes a line for each of its values
    #[arg(long, required = true, value_name = "NAME=LOW..HIGH[/N]")]
    pub(crate) over: Vec<Span>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) route: RouteArgs,
    /// Prune in a tree of N leaf switches and one before the master; 0 is that switch alone
    #[arg(long, default_value_t = 0, value_name = "N", conflicts_with_all = ["per_packet", "then_distinct"],
          value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub(crate) leaves: u16,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// Runs of each point, with hash functions of their own
    #[arg(long, default_value_t = 5, value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) seeds: u64,
    /// Seed of the first run; each further run takes the next
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) first_seed: u64,
    /// How the numbers are written [default: by the extension of --output, else table]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ChartFormat>,
    /// Write the numbers to a file, which appears when it is complete
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
