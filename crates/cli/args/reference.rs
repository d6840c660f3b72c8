//! The arguments of `sluice reference`.

use clap::ValueEnum;

const EXAMPLES: &str = "\
Examples:
  sluice reference settings > settings.md
      Every option that SET sluice.… changes: its values, its default, what it does.
  sluice reference commands > commands.md
      The help of every command.";

/// Print the reference of the settings or of the commands as Markdown
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReferenceArgs {
    /// Which reference
    #[arg(value_enum)]
    pub(crate) of: ReferenceOf,
}

/// A page of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceOf {
    /// The options of a session
    Settings,
    /// The commands and their arguments
    Commands,
    /// Differences from DataFusion's answers, and their reasons
    Differences,
}
