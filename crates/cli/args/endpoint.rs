//! The arguments of `sluice endpoint`.

use clap::Subcommand;

use super::StoreArgs;
use super::quantity::ObjectUrl;
use crate::output::listing::ListFormat;

const EXAMPLES: &str = "\
Examples:
  sluice endpoint probe --endpoint http://127.0.0.1:9000 --bucket scratch
      What works there; sql and explain then use it.
  sluice endpoint conformance --endpoint http://127.0.0.1:9000 --bucket scratch
      Where its answers are not those that are documented.";

/// Find out what a store can do
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum EndpointCommand {
    Probe(Box<ProbeArgs>),
    Conformance(Box<ConformanceArgs>),
}

/// Parses the name of a bucket, also in the form of its URL.
fn bucket_name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("s3://").unwrap_or(text).trim_end_matches('/');
    match name.is_empty() || name.contains('/') {
        true => Err("it is not the name of a bucket".to_owned()),
        false => Ok(name.to_owned()),
    }
}

const PROBE_EXAMPLES: &str = "\
Examples:
  sluice endpoint probe --endpoint http://127.0.0.1:9000 --bucket scratch
      Writes samples, sends about a hundred small statements, and removes the samples, and the
      bucket if it did not exist before. The profile is remembered for sql and explain.
  sluice endpoint probe --object s3://data/2024.csv --format csv
      Writes nothing: reads the first bytes of an existing object. This shows which statements
      parse, not what they return, so nothing is remembered.

What is remembered is in sluice/endpoints.json in your cache folder (XDG_CACHE_HOME): the URL, the
Server header, the day and the profile; no credentials.";

/// Test with tiny statements which features a store supports and which it answers wrongly
#[derive(Debug, clap::Args)]
#[command(after_help = PROBE_EXAMPLES)]
pub(crate) struct ProbeArgs {
    /// Bucket for samples, which are removed afterwards; created and removed if it does not exist
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "object",
        conflicts_with = "object",
        value_parser = bucket_name
    )]
    pub(crate) bucket: Option<String>,
    /// An existing object to read instead; nothing is written
    #[arg(long, value_name = "s3://BUCKET/KEY")]
    pub(crate) object: Option<ObjectUrl>,
    /// How the table is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const CONFORMANCE_EXAMPLES: &str = "\
Examples:
  sluice endpoint conformance --endpoint http://127.0.0.1:9000 --bucket scratch
      Lists the answers that deviate from what AWS documents, each with its question.
  sluice endpoint conformance --bucket scratch --all --format csv
      Every answer of AWS in the region of your settings, as CSV. Each question is a request that is billed.";

/// Send a store hundreds of documented statements and list the answers that deviate
#[derive(Debug, clap::Args)]
#[command(after_help = CONFORMANCE_EXAMPLES)]
pub(crate) struct ConformanceArgs {
    /// Bucket for samples, which are removed afterwards; created and removed if it does not exist
    #[arg(long, value_name = "NAME", value_parser = bucket_name)]
    pub(crate) bucket: String,
    /// Also show the answers that agree
    #[arg(long)]
    pub(crate) all: bool,
    /// How the table is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
