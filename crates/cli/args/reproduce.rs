//! The arguments of `sluice reproduce`.

use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice reproduce
      Compute all experiments, and list each claim with the published and the found number.
  sluice reproduce pushdowndb/table2
      One table or figure, and the claims that it decides.
  sluice reproduce cheetah --format json
      All experiments of one paper, for programs.
  sluice reproduce --list
      The experiments.
  sluice reproduce --claims pushdowndb
      The claims of a paper, their classes and the rules of their verdicts; nothing is computed.

The papers are PushdownDB (ICDE 2020), Cheetah (SIGMOD 2020) and Modeling Analytics for Computational
Storage (icpe, 2020). A claim is counted, measured, modelled or external. An external one needs other
hardware or software: its published number is shown, and it has no verdict. Today these experiments
are computed from models, formulas and query texts, without a store.";

/// Compute the papers' tables and figures again, and compare their claims with the results
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// Experiments, such as pushdowndb/fig1, or papers: pushdowndb, cheetah, icpe [default: all]
    #[arg(value_name = "EXPERIMENTS")]
    pub(crate) experiments: Vec<String>,
    /// List the experiments instead
    #[arg(long, conflicts_with = "claims")]
    pub(crate) list: bool,
    /// List the claims and the rules of their verdicts instead
    #[arg(long)]
    pub(crate) claims: bool,
    /// How the results are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}
