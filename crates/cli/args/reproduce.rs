//! The arguments of `sluice reproduce`.

use std::path::PathBuf;

use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice reproduce --quick
      All experiments over small data, in minutes; the report is reproduced-quick/report.html.
  sluice reproduce
      All of them at scale factor 1, which takes much longer. After Ctrl-C, or after
      the machine was turned off, the same command goes on where it stopped.
  sluice reproduce pushdowndb/table2
      One table or figure, and the claims that it decides.
  sluice reproduce cheetah --quick --format json
      All experiments of one paper, for programs.
  sluice reproduce --list
      The experiments, and how many commands each runs.
  sluice reproduce --claims pushdowndb
      The claims of a paper, their classes and the rules of their verdicts; nothing is computed.

The papers are PushdownDB (ICDE 2020), Cheetah (SIGMOD 2020) and Modeling Analytics for Computational
Storage (icpe, 2020). A claim is counted, measured, modelled or external. An external one needs other
hardware or software: its published number is shown, and it has no verdict. Experiments run commands
of sluice, each with a process of its own beside a store on this machine; the report names them, so
that you can run any of them yourself. Their output is kept, and used again as long as the program,
the machine, the command and its data stay the same. A command that takes longer than two hours is
stopped, and its experiment has no outcome. ours/select-speed also measures duckdb and minio if they
are on the PATH.";

/// Run and compute the papers' tables and figures again, and compare their claims with the results
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// Experiments, such as pushdowndb/fig1, or papers: pushdowndb, cheetah, icpe, ours [default: all]
    #[arg(value_name = "EXPERIMENTS", value_delimiter = ',')]
    pub(crate) experiments: Vec<String>,
    /// Less data and fewer points: all experiments take at most ten minutes on two cores
    #[arg(long)]
    pub(crate) quick: bool,
    /// Scale factor of TPC-H; the other data sets grow and shrink with it [default: 1, with --quick 0.05]
    #[arg(long, value_name = "FACTOR", value_parser = super::quantity::scale)]
    pub(crate) scale: Option<f64>,
    /// Folder for the data, the output of each command and the report; it is made if it is missing [default:
    /// reproduced, with --quick reproduced-quick; with --scale its factor follows]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: Option<PathBuf>,
    /// List the experiments instead
    #[arg(long, conflicts_with = "claims")]
    pub(crate) list: bool,
    /// List the claims and the rules of their verdicts instead
    #[arg(long)]
    pub(crate) claims: bool,
    /// How the results are printed; json is one object with the experiments and the claims
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}
