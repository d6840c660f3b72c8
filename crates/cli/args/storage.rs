//! Arguments of `sluice storage`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;

use super::quantity::Latency;
use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice storage --stages q9.json
      What a drive that scans, filters and projects would save a query that has run: each stage before
      and after, the critical path, and the speed-up with its bounds.
  sluice storage --stages q9.json --device smart-ssd --slots 8
      Another drive, and no more than eight stages at once.
  sluice storage --stages q9.json --setup 10ms --only-if-beneficial --format csv > stages.csv
      A shorter set-up, and stages that would become slower stay where they are.

The file is what was measured of each stage, from the log of whatever engine ran the query:
  {\"version\": 1, \"name\": \"Q9\", \"cores\": 16, \"stages\": [
    {\"id\": 0, \"wall_seconds\": 10.0, \"thread_seconds\": 120.0, \"scan_seconds\": 80.0,
     \"filter_project_seconds\": 20.0, \"read_bytes\": 4e9, \"result_bytes\": 2e7},
    {\"id\": 1, \"wall_seconds\": 2.0, \"thread_seconds\": 8.0, \"after\": [0]}]}
Thread seconds are those of all operators of a stage over all of its tasks; scan, filter and project are
parts of them. A stage starts when those it is `after` are over.

The model is that of \"Modeling Analytics for Computational Storage\" (ICPE 2020). Its formula is printed
without what remains of a stage; --formula printed computes that, to compare with the paper.";

/// Predict what computational storage would save a query that has run
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StorageArgs {
    /// Stages of a query, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) stages: PathBuf,
    /// The drive: icpe-2020, ideal, smart-ssd, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "icpe-2020")]
    pub(crate) device: String,
    /// From the command to the drive's first byte, once for each stage [default: the device's]
    #[arg(long, value_name = "TIME")]
    pub(crate) setup: Option<Latency>,
    /// Leave stages on the host that the drive would make slower
    #[arg(long)]
    pub(crate) only_if_beneficial: bool,
    /// Stages that may run at once [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) slots: Option<NonZeroUsize>,
    /// How the rest of a stage is estimated
    #[arg(long, value_enum, default_value_t)]
    pub(crate) formula: FormulaArg,
    /// How stages are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// How the rest of a stage is estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormulaArg {
    /// What was measured, less scan, filter and project, and what the drive takes
    #[default]
    Intended,
    /// As it is printed in the paper: without what remains
    Printed,
}
