//! Arguments of `sluice switch time`.

use std::path::PathBuf;

use clap::ValueEnum;
use sluicegate_costmodel::BytesPerSecond;
use sluicegate_costmodel::completion::Figure;

use crate::output::chart::ChartFormat;

const EXAMPLES: &str = "\
Examples:
  sluice switch time
      When each query of the paper's figure 5 is complete, part by part.
  sluice switch time 9 --format svg --output 9.svg
      The time over the part that is not pruned, as a picture.
  sluice switch time 9 --measure
      The same time measured on this machine, beside the assumed one.
  sluice switch time 8 --workers 10 --per-packet 4
      Links of 10 and 20 Gbit/s, with twice the workers and four entries in a packet.
  sluice switch time constants
      What the model rests on: each constant with its source.

Figures: 5 queries, 6a entries of a partition, 6b workers, 7 results beside a switch that keeps them
(NetAccel), 8 links, 9 the unpruned part, 12 entries that leave the data plane (appendix F); table3 has the
other devices that could prune.

Modelled: rules, making packets, the links, the master's queue and reading a result out of the switch, from
constants that are published, measured, derived or assumed. What Spark takes is not modelled: the figures'
numbers are not in the paper's text. With --measure, operators of a master run on this machine.";

/// Predict when a query through the paper's switch is complete: its figures 5 to 9 and 12, and table 3
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TimeArgs {
    /// Figure, table or constants to show
    #[arg(value_enum, default_value_t)]
    pub(crate) show: Show,
    /// Workers, where the figure does not change them [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) workers: Option<u32>,
    /// The link of each machine, where the figure does not change it [default: 10Gbit]
    #[arg(long, value_name = "RATE")]
    pub(crate) link: Option<BytesPerSecond>,
    /// Entries in a packet
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) per_packet: u32,
    /// Complete queries on this machine, for ten unpruned parts, instead of predicting their time: figure 9 only
    #[arg(long)]
    pub(crate) measure: bool,
    /// Entries before pruning, of --measure
    #[arg(long, default_value_t = 4_000_000, value_name = "N", requires = "measure",
          value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    pub(crate) entries: u32,
    /// How the numbers are written [default: by the extension of --output, else table]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ChartFormat>,
    /// Write the numbers to a file, which appears when it is complete
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The figures and tables of the paper, and the constants of the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// Completion times of the queries
    #[default]
    #[value(name = "5")]
    Queries,
    /// Entries of a partition
    #[value(name = "6a")]
    Partitions,
    /// Workers
    #[value(name = "6b")]
    Workers,
    /// Entries of the result
    #[value(name = "7")]
    Results,
    /// Rates of the links
    #[value(name = "8")]
    Links,
    /// The part that is not pruned
    #[value(name = "9")]
    Unpruned,
    /// Entries that leave the data plane
    #[value(name = "12")]
    Drain,
    /// Devices that could prune
    Table3,
    /// Constants of the model
    Constants,
}

impl Show {
    /// Returns the figure to show; `None` for table 3 and the constants.
    pub(crate) const fn figure(self) -> Option<Figure> {
        Some(match self {
            Self::Queries => Figure::Queries,
            Self::Partitions => Figure::Partitions,
            Self::Workers => Figure::Workers,
            Self::Results => Figure::Results,
            Self::Links => Figure::Links,
            Self::Unpruned => Figure::Unpruned,
            Self::Drain => Figure::Drain,
            Self::Table3 | Self::Constants => return None,
        })
    }
}
