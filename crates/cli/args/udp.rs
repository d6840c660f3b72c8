//! Arguments of `sluice switch udp`.

use sluicegate_pruning::algorithm::catalog::Algorithm;
use sluicegate_pruning::protocol::MOST_WORKERS;

use super::parameters::{ParameterArgs, of_each};
use super::switch::InputArgs;
use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice switch udp --algorithm distinct --input generated:zipf:entries=20000:keys=3000
      DISTINCT over 20 000 rows of three workers, through a switch: five processes that talk UDP.
  sluice switch udp --algorithm having --threshold 5000 --loss 0.05 --reboots 1 \\
      --input generated:zipf:entries=20000:keys=300
      The same with losses on every link and a switch that reboots: the query begins again.
  sluice switch udp --algorithm join-bloom --input pages.csv --column pageURL \\
      --probe visits.csv --probe-column destURL --workers 8
      A join of files of yours, here as `sluice generate bigdata` makes them.

Workers, switch and master are processes of this program on 127.0.0.1. The switch runs the algorithm's program
behind the reliability protocol's; packets are those that `sluice switch p4 --workers` parses. Losses and
doubled packets are made there, on arrival and on departure, besides those of the sockets. What the master
answers is compared with the answer over all rows; a difference ends the command with an error. Every number
is counted. A join streams both tables twice; the sums that the switch of group-sum holds are read at
the end. Ctrl-C ends all processes.";

/// Run a query through workers, a switch and a master that are processes and talk UDP
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UdpArgs {
    /// The algorithm, by the name in `sluice switch fit`
    #[arg(long, long_help = of_each())]
    pub(crate) algorithm: Algorithm,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// Processes among which the rows are spread
    #[arg(long, default_value_t = 3, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=i64::from(UdpArgs::MOST)))]
    pub(crate) workers: u16,
    /// Probability that a link loses a packet
    #[arg(long, default_value_t = 0.01, value_name = "PROBABILITY")]
    pub(crate) loss: f64,
    /// Probability that the switch sends a packet twice
    #[arg(long, default_value_t = 0.0, value_name = "PROBABILITY")]
    pub(crate) duplication: f64,
    /// Reboots of the switch, spread over the entries
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=100))]
    pub(crate) reboots: u16,
    /// Entries that a worker may have in flight
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) window: u16,
    /// Milliseconds after which a packet is sent again; up to twelve times this while nothing new arrives
    #[arg(long, default_value_t = 20, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) timeout: u64,
    /// Seconds after which the run is given up
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) patience: u64,
    /// Seed of the losses
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

impl UdpArgs {
    /// The most workers, each of which is a process.
    const MOST: u16 = if MOST_WORKERS < 64 { MOST_WORKERS } else { 64 };
}
