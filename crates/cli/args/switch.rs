//! The arguments of `sluice switch`.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Subcommand, ValueEnum};
use sluicegate_pruning::algorithm::catalog::Algorithm;
use sluicegate_pruning::p4;

use super::QueryArg;
use super::parameters::{ParameterArgs, of_each};
use super::route::RouteArgs;
use super::source::Source;
use super::sweep::SweepArgs;
use super::time::TimeArgs;
use super::topology::{DagArgs, TopologyArgs};
use super::udp::UdpArgs;
use crate::output::listing::ListFormat;

const SWITCH_EXAMPLES: &str = "\
Examples:
  sluice switch run --workload bigdata
      What a switch prunes of the queries of the paper, beside the optimum.
  sluice switch run --algorithm distinct --input visits.parquet --column userAgent
      The same for a file of yours.
  sluice switch fit
      The resources of a Tofino that each algorithm takes, beside the paper's table 2.
  sluice switch p4 --algorithm group-by --arch tna
      The program, ready to compile.

A switch here is a bit-exact model of a programmable one (PISA, Tofino) after Cheetah (SIGMOD 2020).
It drops rows that a query does not need, and never one that it needs.";

/// Study the pruning switch: run, place, print and check its programs
#[derive(Debug, clap::Args)]
#[command(after_help = SWITCH_EXAMPLES)]
pub(crate) struct SwitchArgs {
    #[command(subcommand)]
    pub(crate) command: SwitchCommand,
}

/// The commands of `sluice switch`.
#[derive(Debug, Subcommand)]
pub(crate) enum SwitchCommand {
    Run(Box<RunArgs>),
    Examples(ExamplesArgs),
    Fit(FitArgs),
    P4(P4Args),
    Plan(PlanArgs),
    Trace(Box<TraceArgs>),
    Theory(TheoryArgs),
    Protocol(ProtocolArgs),
    Sweep(Box<SweepArgs>),
    Topology(Box<TopologyArgs>),
    Dag(DagArgs),
    Time(TimeArgs),
    Udp(Box<UdpArgs>),
    /// A process of `sluice switch udp`
    #[command(hide = true)]
    UdpNode,
}

/// The versions of an algorithm's program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Variant {
    /// As the paper intends it, and correct
    #[default]
    Paper,
    /// As the authors released it, with its faults
    Released,
}

/// Arguments that select a switch's entries.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Entries")]
pub(crate) struct InputArgs {
    #[arg(
        long,
        value_name = "FILE|generated:SHAPE",
        help = "A CSV or Parquet file, or generated:SHAPE[:entries=N][:keys=N][:seed=N] with the \
                shape uniform, zipf, sorted, reversed or constant"
    )]
    pub(crate) input: Option<Source>,
    /// The other table of a join: the small one is --input
    #[arg(long, value_name = "FILE|generated:SHAPE")]
    pub(crate) probe: Option<Source>,
    /// The file's columns that packets carry, separated by commas: key before value
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) column: Vec<String>,
    /// Columns of the --probe file [default: those of --column]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) probe_column: Vec<String>,
    /// Decimals of values that are compared with --threshold or added up; --threshold is in the column's unit
    /// [default: all of them, or for `having` as many as fit 32 bits, with the rest rounded up]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) decimals: Option<u8>,
}

const RUN_EXAMPLES: &str = "\
Examples:
  sluice switch run --workload bigdata --scale 0.02
      The paper's queries: entries in and out, the optimum, whether the answer is the same.
  sluice switch run --workload tpch-q3 --scale 0.1
      The joins of TPC-H's query 3.
  sluice switch run --algorithm distinct --input generated:zipf:keys=50000 -w 4 --check
      A generated stream; fast path and program are compared, verdict for verdict and register for
      register.
  sluice switch run --algorithm group-by --input visits.csv --column userAgent,adRevenue
      GROUP BY over a file, here of `sluice generate bigdata`. Keys may be of any type; they are sent as fingerprints.
  sluice switch run --algorithm having --then-distinct --threshold 500 \\
      --input visits.csv --column languageCode,adRevenue
      HAVING SUM(adRevenue) > 500: the threshold is in dollars, and decimals are sent exactly if they
      fit 32 bits.
  sluice switch run --algorithm distinct --input visits.csv --column userAgent --per-packet 4
      Four entries in a packet, each with its part of the matrix.
  sluice switch run --algorithm join-bloom --input pages.csv --column pageURL \\
      --probe visits.csv --probe-column destURL
      A join, whose smaller table builds the filter.
  sluice switch run --algorithm top-n-deterministic --variant released --input generated:uniform
      What the authors' program would lose.

Counted by the fast path, which is equivalent to the program (--check); released variants run as
programs.
The optimum is what a pruner without limits would forward, in one pass over the same stream. Rows
with a NULL bypass the switch.";

/// Send a stream through an algorithm: what is pruned, and whether the answer is still the same
#[derive(Debug, clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// The algorithm, by the name in `sluice switch fit`
    #[arg(
        long,
        long_help = of_each(),
        required_unless_present = "workload",
        conflicts_with = "workload"
    )]
    pub(crate) algorithm: Option<Algorithm>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) route: RouteArgs,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// Which version of the program
    #[arg(long, value_enum, default_value_t, conflicts_with = "workload")]
    pub(crate) variant: Variant,
    /// Compare the fast path with the program on the first ENTRIES entries [default: 20000]
    #[arg(long, value_name = "ENTRIES", num_args = 0..=1, default_missing_value = "20000")]
    pub(crate) check: Option<usize>,
    /// Run all queries of a generated workload instead
    #[arg(long, value_enum, conflicts_with_all = ["input", "probe", "column", "probe_column", "decimals",
          "per_packet", "lanes", "then_distinct"])]
    pub(crate) workload: Option<Workload>,
    /// The workload's scale factor; 1 is the paper's sample
    #[arg(long, default_value_t = 0.05, value_name = "FACTOR", requires = "workload", value_parser = super::quantity::scale)]
    pub(crate) scale: f64,
    /// Seed of the workload's random rows
    #[arg(long, default_value_t = 42, value_name = "N", requires = "workload")]
    pub(crate) seed: u64,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// The generated workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// The Big Data benchmark: the seven queries of Cheetah, and its queries A, B and A+B
    Bigdata,
    /// The two joins of TPC-H's query 3
    TpchQ3,
}

const EXAMPLES_EXAMPLES: &str = "\
Examples:
  sluice switch examples
      The queries over the products and ratings of the paper's table 1, with the rows that are pruned.";

/// Run the paper's six examples over its table 1: what is pruned, and the answers
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES_EXAMPLES)]
pub(crate) struct ExamplesArgs {
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

const FIT_EXAMPLES: &str = "\
Examples:
  sluice switch fit
      All algorithms with the paper's defaults on a Tofino 1, the paper's table 2, what the open
      Tofino compiler reports, and which algorithms fit together.
  sluice switch fit --algorithm group-by -w 11
      One algorithm, stage by stage, or why it does not fit.
  sluice switch fit --algorithm distinct --key-bits 32 --per-packet 4
      The same for packets of four entries, which share the rows of the matrix.
  sluice switch fit --together distinct,key_bits=32 skyline-sum,w=4 top-n-deterministic,w=1 filter
      Several queries on one switch: with stateful ALUs of their own, and with shared ones. If the
      memory is divided, all queries run at once, each on its part of a register array. Alternatives
      share the memory, too: one query runs at a time, and the control plane installs its rules and
      constants before it starts.
  sluice switch fit --target my.toml
      A switch of your own: a TOML file with `base = 'tofino1'` and the limits that differ, such as
      `stages = 10`. A Tofino 1 has 12, which are all a program's: the table that forwards packets
      and, with --workers, the protocol are placed with it. The paper's protocol takes two of them;
      10 is not the default, since the authors' own GROUP BY takes all 12. What would not fit the
      10 that are left is said with every answer.
      Of tofino2, 20 stages and up to four output words of a register access are used. Its
      comparisons under masks are not: the masks are constants, and no algorithm here compares
      under one.";

/// Show the resources that algorithms take, and whether they fit
#[derive(Debug, clap::Args)]
#[command(after_help = FIT_EXAMPLES)]
pub(crate) struct FitArgs {
    /// One algorithm, stage by stage
    #[arg(long, long_help = of_each())]
    pub(crate) algorithm: Option<Algorithm>,
    /// Several queries on one switch, with and without shared stateful ALUs
    #[arg(long, num_args = 1.., value_name = "ALGORITHM[,NAME=VALUE]…", conflicts_with = "algorithm")]
    pub(crate) together: Vec<QueryArg>,
    #[command(flatten)]
    pub(crate) route: RouteArgs,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// Which version of the program
    #[arg(long, value_enum, default_value_t, requires = "algorithm")]
    pub(crate) variant: Variant,
    /// Put the reliability protocol in front, for this many workers; packets then begin with the epoch
    #[arg(long, value_name = "N", requires = "algorithm", value_parser = clap::value_parser!(u16).range(1..=16384))]
    pub(crate) workers: Option<u16>,
    /// tofino1, tofino2, paper, or a TOML file
    #[arg(long, default_value = "tofino1", value_name = "NAME|FILE")]
    pub(crate) target: String,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

const P4_EXAMPLES: &str = "\
Examples:
  sluice switch p4 --algorithm distinct --arch v1model > distinct.p4
      A complete program for BMv2 (simple_switch).
  sluice switch p4 --algorithm skyline-aph --arch tna --entries entries.py > skyline.p4
      A program for Tofino, and the table entries that its control plane installs.";

/// Print a program as P4_16, with its table entries
#[derive(Debug, clap::Args)]
#[command(after_help = P4_EXAMPLES)]
pub(crate) struct P4Args {
    /// The algorithm, by the name in `sluice switch fit`
    #[arg(long, long_help = of_each())]
    pub(crate) algorithm: Algorithm,
    /// Architecture that the program is for
    #[arg(long, value_enum, default_value_t)]
    pub(crate) arch: ArchArg,
    #[command(flatten)]
    pub(crate) route: RouteArgs,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// Which version of the program
    #[arg(long, value_enum, default_value_t)]
    pub(crate) variant: Variant,
    /// Put the reliability protocol in front, for this many workers; packets then begin with the epoch
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16384))]
    pub(crate) workers: Option<u16>,
    /// Write the table entries to a file; otherwise they follow the program as a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) entries: Option<PathBuf>,
}

/// The P4 architectures that a program can target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArchArg {
    /// The reference architecture, run by BMv2
    #[default]
    V1model,
    /// The Tofino Native Architecture, of Tofino 1
    Tna,
    /// The Tofino Native Architecture, of Tofino 2, whose register accesses may output several words
    T2na,
}

impl From<ArchArg> for p4::Arch {
    fn from(arch: ArchArg) -> Self {
        match arch {
            ArchArg::V1model => Self::V1Model,
            ArchArg::Tna => Self::Tna,
            ArchArg::T2na => Self::T2na,
        }
    }
}

const PLAN_EXAMPLES: &str = "\
Examples:
  sluice switch plan --query top-n --n 1000 --entries 100000000 --delta 0.0001
      The best matrix for TOP 1000 that fits a Tofino 1, with its failure probability.
  sluice switch plan --query distinct --keys 500000000 --key-bits 512 --delta 0.0001
      Fingerprints for wide keys: their length, and where they are stored.
  sluice switch plan --query join --keys 1000000 --matching 0.1 --target tofino2";

/// Choose the best configuration that fits a switch
#[derive(Debug, clap::Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub(crate) struct PlanArgs {
    /// The kind of query
    #[arg(long, value_parser = queries())]
    pub(crate) query: String,
    /// Rows that TOP N returns
    #[arg(long, short = 'n', default_value_t = 250, value_name = "N")]
    pub(crate) n: u64,
    /// Number of entries, or an estimate
    #[arg(long, default_value_t = 10_000_000, value_name = "N")]
    pub(crate) entries: u64,
    /// Distinct keys, or a bound on them
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) keys: u64,
    /// Bits of a key; keys wider than a register are sent as fingerprints
    #[arg(long, default_value_t = 32, value_name = "BITS")]
    pub(crate) key_bits: u32,
    /// Bits of a value
    #[arg(long, default_value_t = 32, value_name = "BITS")]
    pub(crate) value_bits: u32,
    /// Allowed probability of a wrong answer; 0 requires a deterministic algorithm
    #[arg(long, default_value_t = 0.0001, value_name = "PROBABILITY")]
    pub(crate) delta: f64,
    /// The fraction of a join's probing rows that have a match
    #[arg(long, default_value_t = 0.1, value_name = "FRACTION")]
    pub(crate) matching: f64,
    /// Comparisons of a filter
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) predicates: u32,
    /// Coordinates of a skyline's points
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub(crate) dimensions: u32,
    /// tofino1, tofino2, paper, or a TOML file
    #[arg(long, default_value = "tofino1", value_name = "NAME|FILE")]
    pub(crate) target: String,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// Returns the kinds of queries that some algorithm prunes.
fn queries() -> PossibleValuesParser {
    let mut seen = BTreeSet::new();
    let entries = Algorithm::ALL.iter().map(|algorithm| algorithm.entry());
    let kinds = entries.filter(move |entry| seen.insert(entry.query));
    PossibleValuesParser::new(kinds.map(|entry| PossibleValue::new(entry.query).help(entry.sql)))
}

const TRACE_EXAMPLES: &str = "\
Examples:
  sluice switch trace --algorithm distinct --key-bits 32 --packets 7,8,7
      Three packets with a key each: every table that ran, every register before and after.
  sluice switch trace --algorithm group-by --packets 1:50,1:40,2:10 -w 2
      Values of a packet are separated by colons.
  sluice switch trace --algorithm join-bloom -d 1024 --packets 0/5,3/5,3/6
      A flow comes before a slash: 0 builds a join's filter, 3 probes it.";

/// Show what every table and register does with a few packets
#[derive(Debug, clap::Args)]
#[command(after_help = TRACE_EXAMPLES)]
pub(crate) struct TraceArgs {
    /// The algorithm, by the name in `sluice switch fit`
    #[arg(long, long_help = of_each())]
    pub(crate) algorithm: Algorithm,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// Which version of the program
    #[arg(long, value_enum, default_value_t)]
    pub(crate) variant: Variant,
    #[arg(
        long,
        value_delimiter = ',',
        required = true,
        value_name = "PACKETS",
        help = "The packets: [FLOW/]VALUE[:VALUE]…, separated by commas"
    )]
    pub(crate) packets: Vec<PacketArg>,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// A packet as an argument: its flow and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PacketArg {
    pub(crate) flow: u16,
    pub(crate) values: Vec<u32>,
}

impl std::str::FromStr for PacketArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || format!("`{text}` is not a packet such as 7, 1:50 or 3/7");
        let (flow, values) = text.split_once('/').unwrap_or(("0", text));
        let flow = flow.trim().parse().map_err(|_| error())?;
        let values = values.split(':').map(|value| value.trim().parse().map_err(|_| error()));
        Ok(Self { flow, values: values.collect::<Result<_, _>>()? })
    }
}

const THEORY_EXAMPLES: &str = "\
Examples:
  sluice switch theory
      Every theorem with its formula, the paper's examples, and the results.
  sluice switch theory top-n-width --format json";

/// List the theorems: formula, example, the paper's number, and the exact one
#[derive(Debug, clap::Args)]
#[command(after_help = THEORY_EXAMPLES)]
pub(crate) struct TheoryArgs {
    /// Only theorems whose name starts with this
    pub(crate) name: Option<String>,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

const PROTOCOL_EXAMPLES: &str = "\
Examples:
  sluice switch protocol --loss 0.1 --seed 7
      One run of each query through links that lose, duplicate and reorder packets, and a switch
      that reboots.
  sluice switch protocol --runs 100000
      A hundred thousand runs of each query. A wrong answer would end the command with an error.
  sluice switch protocol --paper --runs 1000
      The paper's own protocol: it never recovers from a reboot, and counts rows twice.
  sluice switch protocol --query distinct --seed 7 --paper
      One run, with all its counts.";

/// Simulate reliable delivery through a switch that drops packets
#[derive(Debug, clap::Args)]
#[command(after_help = PROTOCOL_EXAMPLES)]
pub(crate) struct ProtocolArgs {
    /// Only this query
    #[arg(long, value_parser = queries())]
    pub(crate) query: Option<String>,
    /// Probability that a link loses a packet
    #[arg(long, default_value_t = 0.1, value_name = "PROBABILITY")]
    pub(crate) loss: f64,
    /// Probability that a link delivers a packet twice
    #[arg(long, default_value_t = 0.05, value_name = "PROBABILITY")]
    pub(crate) duplication: f64,
    /// Reboots of the switch, at random times
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) reboots: u32,
    /// Workers, each a flow
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) workers: u16,
    /// Rows of each worker; a run holds 4194304 of all workers
    #[arg(long, default_value_t = 30, value_name = "N")]
    pub(crate) rows: usize,
    /// The first run's seed; each further run takes the next
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Runs of each query
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) runs: NonZeroU64,
    /// The protocol as the paper describes it, with its faults
    #[arg(long)]
    pub(crate) paper: bool,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_from_text() {
        let packet = |flow, values: &[u32]| Some(PacketArg { flow, values: values.to_vec() });
        for (text, expected) in [
            ("7", packet(0, &[7])),
            ("1:50", packet(0, &[1, 50])),
            ("3/7:8", packet(3, &[7, 8])),
            ("", None),
            ("x", None),
            ("1:", None),
            ("70000/1", None),
            ("-1", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
