//! The arguments that select a store and the way to query it.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use sluicegate_client::Credentials;
use sluicegate_costmodel::{Bytes, HardwareProfile, PriceBook};

use super::quantity::{idle_timeout, threads};

/// Arguments that select a store and its credentials.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// Connection of config.toml, which other arguments override (`sluice connect --help`)
    #[arg(
        long,
        short = 'C',
        value_name = "NAME",
        env = "SLUICE_CONNECTION",
        hide_env = true,
        help_heading = "Connection"
    )]
    pub(crate) connection: Option<String>,
    /// The store's URL, such as http://127.0.0.1:9000 [default: AWS_ENDPOINT_URL, else AWS]
    #[arg(long, value_name = "URL", help_heading = "Connection")]
    pub(crate) endpoint: Option<String>,
    /// The store's region [default: AWS_REGION or the AWS profile's, else us-east-1]
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    pub(crate) region: Option<String>,
    /// Section of the AWS profile files to take credentials from, whatever keys the environment has
    /// [default: the environment's keys, else AWS_PROFILE]
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    pub(crate) aws_profile: Option<String>,
    /// Send unsigned requests. Otherwise credentials come from the environment (AWS_ACCESS_KEY_ID and
    /// AWS_SECRET_ACCESS_KEY), the AWS profile files or the machine's role
    #[arg(long, help_heading = "Connection")]
    pub(crate) anonymous: bool,
    /// Longest time to receive nothing from the store before a command gives up, 100ms to 1h: 30s, 2min. After half
    /// of it a request is retried once. SET sluice.idle_timeout changes it [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = idle_timeout, help_heading = "Connection")]
    pub(crate) idle_timeout: Option<Duration>,
    /// Credentials that an embedding program gives. Those of the command come from elsewhere, because other users of
    /// the machine can see arguments.
    #[arg(skip)]
    pub(crate) credentials: Option<Credentials>,
}

impl StoreArgs {
    /// Returns the name of an option that was given, if any. `--connection` does not count, because the environment
    /// may set it.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.endpoint.is_some(), "--endpoint"),
            (self.region.is_some(), "--region"),
            (self.aws_profile.is_some(), "--aws-profile"),
            (self.anonymous, "--anonymous"),
            (self.idle_timeout.is_some(), "--idle-timeout"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}

/// The kinds of stores that `--store` accepts.
pub(crate) const KINDS: [&str; 7] =
    ["auto", "probed", "sluice", "aws", "minio", "ceph", "get-only"];

/// Parses a kind of store given as `--profile`, the former name of `--store`. Users of other programs pass an AWS
/// profile there, so the error names `--aws-profile`.
fn former_kind(text: &str) -> Result<String, String> {
    match KINDS.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "no kind of store has this name; if it is a profile of AWS, name it with --aws-profile {text}"
        )),
    }
}

/// Arguments that select a store and the way to query it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ConnectArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The kind of store, which determines what may be pushed down [default: auto]
    ///
    /// auto: aws if there is no endpoint; else the kind that the Server header names; else the result of `sluice
    /// endpoint probe`; else nothing is pushed down. probed: use the result of `sluice endpoint probe`, whatever the
    /// header is.
    #[arg(
        long = "store",
        value_name = "KIND",
        value_parser = PossibleValuesParser::new(KINDS),
        help_heading = "Connection"
    )]
    pub(crate) kind: Option<String>,
    /// The former name of --store
    #[arg(
        long,
        value_name = "KIND",
        value_parser = former_kind,
        conflicts_with = "kind",
        hide = true
    )]
    pub(crate) profile: Option<String>,
    /// How tables are read, until SET sluice.scan changes it
    #[arg(long, value_enum, default_value_t, help_heading = "Execution")]
    pub(crate) scan: ScanArg,
    /// Memory that joins, sorts and aggregates may use, such as 2GiB [default: no limit]
    #[arg(long, value_name = "SIZE", help_heading = "Execution")]
    pub(crate) memory_limit: Option<Bytes>,
    /// Partitions that a query runs in [default: the number of cores]
    #[arg(long, value_name = "N", help_heading = "Execution", allow_negative_numbers = true,
          value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[arg(long, value_name = "NAME|FILE", help_heading = "Prediction", help = prices_help())]
    pub(crate) prices: Option<String>,
    #[arg(long, value_name = "NAME|FILE", help_heading = "Prediction", help = hardware_help())]
    pub(crate) hardware: Option<String>,
}

impl ConnectArgs {
    /// Returns the name of an option that was given and applies to one run only, if any.
    pub(crate) fn given_for_one_run(&self) -> Option<&'static str> {
        let given = [
            (self.scan != ScanArg::default(), "--scan"),
            (self.memory_limit.is_some(), "--memory-limit"),
            (self.threads.is_some(), "--threads"),
            (self.store.idle_timeout.is_some(), "--idle-timeout"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}

/// The strategies of `--scan`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanArg {
    /// Whichever of the others is predicted to be better
    #[default]
    Auto,
    /// Objects are fetched and filtered here
    Get,
    /// The store filters, projects and aggregates wherever it can
    Select,
    /// An index leads to the records wherever there is one (`sluice index create`)
    Index,
    /// The CSV index table of the PushdownDB paper leads to the records (`sluice index create --csv`)
    #[value(name = "index_table")]
    IndexTable,
}

/// Returns the help of `--prices`, with the names of the price books.
pub(super) fn prices_help() -> String {
    let names: Vec<_> = PriceBook::all().iter().map(|book| book.name.as_str()).collect();
    format!(
        "Price book, by name or as a TOML file: {} [default: {}]",
        names.join(", "),
        PriceBook::paper().name
    )
}

/// Returns the help of `--hardware`, with the names of the profiles.
fn hardware_help() -> String {
    let names: Vec<_> =
        HardwareProfile::all().iter().map(|profile| profile.name.as_str()).collect();
    format!(
        "Machine, link and store that predictions assume, by name or as a TOML file: {}. auto: what \
         `sluice calibrate` measured last for this store; else local for a store on this machine, \
         aws-in-region for AWS, remote-1gbit for any other, limited to the rate of `sluice serve --link` [default: auto]",
        names.join(", ")
    )
}
