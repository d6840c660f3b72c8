//! Arguments of `sluice worker`, and those by which other commands name workers.

use super::connect::ConnectArgs;
use super::quantity::Address;

const WORKER_EXAMPLES: &str = "\
Examples:
  sluice worker --endpoint http://127.0.0.1:9000
      A worker for coordinators on this machine; it reads the store with its own credentials.
  SLUICE_TOKEN=secret sluice worker --listen 0.0.0.0:9100 --memory-limit 8GiB
      A worker that other machines reach; their SLUICE_TOKEN must be the same.
  SLUICE_TOKEN=secret sluice sql --workers http://10.0.0.1:9100,http://10.0.0.2:9100 -f report.sql
      What coordinators do.

A coordinator plans and sends each worker its share of a query: the worker reads with its own
credentials, from its own endpoint, so give it the same --endpoint (or AWS_ENDPOINT_URL) and --store. It speaks
gRPC without TLS: keep it in a network that you trust. It answers gRPC's questions about its health.
A store that does not answer yet is waited for. Ctrl-C and SIGTERM stop the worker after the queries that
run, and the second time at once.";

/// Run parts of queries for `sluice sql --workers`
#[derive(Debug, clap::Args)]
#[command(after_help = WORKER_EXAMPLES)]
pub(crate) struct WorkerArgs {
    /// Address to listen on; port 0 is any free one. An address that other machines reach needs SLUICE_TOKEN
    #[arg(long, default_value = "127.0.0.1:9100", value_name = "HOST:PORT")]
    pub(crate) listen: Address,
    /// Stop when stdin ends, as it does when the program that started the worker ends in any way
    #[arg(long)]
    pub(crate) stop_with_stdin: bool,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// The workers that queries run on.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct WorkersArgs {
    /// Workers that run a query's parts, as URLs with commas between: http://10.0.0.1:9100 (`sluice worker --help`).
    /// SLUICE_TOKEN is the token that they require, if any [default: SLUICE_WORKERS, else queries run locally]
    #[arg(
        long,
        value_name = "URL",
        value_delimiter = ',',
        env = "SLUICE_WORKERS",
        hide_env = true,
        help_heading = "Execution"
    )]
    pub(crate) workers: Vec<String>,
}
