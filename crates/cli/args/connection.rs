//! The arguments of `sluice connect`.

use clap::Subcommand;

use super::ConnectArgs;
use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice connect add lab --endpoint http://127.0.0.1:9000 --aws-profile lab
  sluice connect test lab
  sluice sql -C lab
      The same as sluice sql --endpoint http://127.0.0.1:9000 --aws-profile lab
  SLUICE_CONNECTION=lab sluice sql -c \"SELECT count(*) FROM 's3://bucket/file.csv'\"

Connections are in sluice/config.toml of your configuration folder (XDG_CONFIG_HOME, else ~/.config),
which may be edited. There is no secret in it: credentials come from an AWS profile, the environment
or the machine's role. Other arguments override those of a connection.";

/// Name stores, and check whether they answer
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum ConnectCommand {
    Add(Box<ConnectAddArgs>),
    List(ConnectListArgs),
    Test(Box<ConnectTestArgs>),
}

/// Remember how to reach a store, under a name
#[derive(Debug, clap::Args)]
pub(crate) struct ConnectAddArgs {
    /// The name of the connection
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// List the connections
#[derive(Debug, clap::Args)]
pub(crate) struct ConnectListArgs {
    /// How the table is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// Check whether a store answers and accepts the credentials
#[derive(Debug, clap::Args)]
pub(crate) struct ConnectTestArgs {
    /// The name of the connection [default: SLUICE_CONNECTION, else the store of the other arguments]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}
