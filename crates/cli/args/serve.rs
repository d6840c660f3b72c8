//! Arguments of `sluice serve`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sluicegate_costmodel::{Bytes, BytesPerSecond};
use sluicegate_server::Limits;

use super::quantity::{Address, Age, Latency, Timeout};

const SERVE_EXAMPLES: &str = "\
Examples:
  mkdir data && sluice serve --dir data
      A store in a folder; it generates a key pair and prints it once.
  SLUICE_ACCESS_KEY=me SLUICE_SECRET_KEY=secret sluice serve --dir data --listen 0.0.0.0:9000
      With a key pair of your own, reachable from the network.
  sluice serve --dir data --anonymous --link 1gbit --latency 10ms
      Without credentials, and with the latency of another data centre.
  sluice serve --dir data --max-statements 8 --statement-timeout 60s --max-upload-size 100MB
      With narrower limits, for clients that one does not know.
  sluice serve --dir data --scrub
      Reads every object once, and lists those that are no longer what was stored.

Folders in the folder are buckets, files in them are objects. Works with aws-cli, boto3 and any
other S3 client that names the bucket in the path (path style). GET /health answers 200 without a
signature. Ctrl-C stops the server after the requests that are running; SIGHUP does not.";

/// Serve a folder as an S3 store that answers S3 Select
#[derive(Debug, clap::Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// The folder; each folder in it is a bucket
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: PathBuf,
    /// Make the folder if it does not exist
    #[arg(long)]
    pub(crate) create: bool,
    /// Append a line for each request to a file, in the combined log format with the access key's ID as the user,
    /// and the microseconds until the answer; `-` is stderr. SIGHUP opens the file anew, for rotation
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    /// Address to listen on; port 0 is any free one
    #[arg(long, default_value = "127.0.0.1:9000", value_name = "HOST:PORT")]
    pub(crate) listen: Address,
    /// Accept requests without credentials. Otherwise the key pair is SLUICE_ACCESS_KEY and
    /// SLUICE_SECRET_KEY, else AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else a new one
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Do not support S3 Select and several ranges in a GET, like most stores
    #[arg(long)]
    pub(crate) no_select: bool,
    /// Read objects whole, even if they have an index that leads a statement to its records
    #[arg(long)]
    pub(crate) no_index: bool,
    /// Confirm writes before they are forced to disk: faster, but a power failure may then lose objects or leave them
    /// incomplete. Ending the process never does
    #[arg(long)]
    pub(crate) no_fsync: bool,
    /// Stop when stdin ends, as it does when the program that started the store ends in any way
    #[arg(long)]
    pub(crate) stop_with_stdin: bool,
    /// Remove multipart uploads that were begun so long ago and not completed: 7d, 12h, 30min, never
    #[arg(long, default_value = "7d", value_name = "AGE")]
    pub(crate) upload_expiry: Age,
    /// Do not read objects to compare them with their checksums, which is done once a version before S3 Select or
    /// a range of one is answered. A GET of a whole object always compares it
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Accept signatures of version 2 (HMAC-SHA1), too, for old clients
    #[arg(long, conflicts_with = "anonymous")]
    pub(crate) signature_v2: bool,
    /// Do not serve, but compare every object with the checksum that was stored with it, list those that
    /// are damaged, and fail if there are any. Those that were changed outside the store are listed, too, and are no
    /// failure: their checksum is about other bytes
    #[arg(long, conflicts_with_all = SERVING)]
    pub(crate) scrub: bool,
    /// Rate that all connections share, in both directions: 1gbit, 50MB/s
    #[arg(long, default_value = "unlimited", value_name = "RATE")]
    pub(crate) link: BytesPerSecond,
    /// Delay before each request is answered: 10ms
    #[arg(long, default_value = "0s", value_name = "TIME")]
    pub(crate) latency: Latency,
    /// Another name that the server has, as behind a proxy; may be repeated. Requests for other hosts are refused:
    /// all but its addresses, localhost, the name in --listen, names without a dot and the machine's name. A bucket
    /// in front of the host (virtual-hosted style) is not supported. With --anonymous only addresses, localhost and
    /// these names count
    #[arg(long, value_name = "NAME", value_parser = host)]
    pub(crate) host: Vec<String>,
    /// Most connections at a time; more take the place of silent ones, or wait
    #[arg(long, default_value = "4096", value_name = "N", help_heading = LIMITS)]
    pub(crate) max_connections: NonZeroUsize,
    /// Most uploads at a time; more wait for the client timeout, then get 503 SlowDown
    #[arg(long, default_value = "256", value_name = "N", help_heading = LIMITS)]
    pub(crate) max_uploads: NonZeroUsize,
    /// Most bytes that one request uploads
    #[arg(long, default_value = "5GiB", value_name = "SIZE", value_parser = size, help_heading = LIMITS)]
    pub(crate) max_upload_size: Bytes,
    /// Most statements of S3 Select evaluated at a time; four times as many wait, more get 503 Busy. The footers,
    /// columns and long pages of Parquet and the long values of all of them share 640 MiB: a statement that finds no
    /// room waits, at most 5 minutes, then gets 503 Busy
    #[arg(long, default_value = "64", value_name = "N", help_heading = LIMITS)]
    pub(crate) max_statements: NonZeroUsize,
    /// How long a statement may be evaluated: 90s, 10min, unlimited. Waiting for readers does not count
    #[arg(long, default_value = "10min", value_name = "TIME", help_heading = LIMITS)]
    pub(crate) statement_timeout: Timeout,
    /// How long to wait for a client that sends no more of a request, or reads no more of an answer
    #[arg(long, default_value = "30s", value_name = "TIME", help_heading = LIMITS)]
    pub(crate) client_timeout: Timeout,
    /// Rate below which a client falls behind; it is given up when it is the client timeout behind
    #[arg(long, default_value = "1KiB/s", value_name = "RATE", value_parser = least_rate, help_heading = LIMITS)]
    pub(crate) least_rate: BytesPerSecond,
}

impl ServeArgs {
    /// Returns the limits that the server applies to clients.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            connections: self.max_connections.get(),
            uploads: self.max_uploads.get(),
            upload_bytes: self.max_upload_size.0,
            // A century stands for no timeout.
            client_timeout: self.client_timeout.0.unwrap_or(CENTURY),
            least_rate: (self.least_rate.0 as u64).max(1),
            statement_timeout: self.statement_timeout.0,
        }
    }
}

/// The IDs of the options that only apply to serving, and so conflict with `--scrub`.
const SERVING: [&str; 21] = [
    "create",
    "access_log",
    "listen",
    "anonymous",
    "no_select",
    "no_index",
    "no_fsync",
    "stop_with_stdin",
    "upload_expiry",
    "no_verify",
    "signature_v2",
    "link",
    "latency",
    "host",
    "max_connections",
    "max_uploads",
    "max_upload_size",
    "max_statements",
    "statement_timeout",
    "client_timeout",
    "least_rate",
];
const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
const LIMITS: &str = "Limits";

/// Parses a name of the server, without a port.
fn host(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || !text.chars().all(is_name) {
        return Err(format!("`{text}` is not a name without a port, such as store.example"));
    }
    Ok(text.to_owned())
}

fn size(text: &str) -> Result<Bytes, String> {
    match Bytes::from_str(text) {
        Ok(size) if size.0 > 0 => Ok(size),
        Ok(_) => Err("a size is 1 byte or more".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn least_rate(text: &str) -> Result<BytesPerSecond, String> {
    match BytesPerSecond::from_str(text) {
        Ok(rate) if rate.0.is_finite() => Ok(rate),
        Ok(_) => Err("a least rate is a number such as 1KiB/s, not `unlimited`".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Parser as _};

    use super::super::{Args, Command};
    use super::{SERVING, ServeArgs};

    #[test]
    fn what_is_not_said_is_as_the_servers_documentation_says() {
        let args = Args::try_parse_from(["sluice", "serve", "--dir", "d"]).unwrap();
        let Command::Serve(serve) = args.command else { panic!("not serve") };
        assert_eq!(serve.limits(), sluicegate_server::Limits::default());
    }

    #[test]
    fn only_the_folder_matters_to_a_scrub() {
        let command = ServeArgs::augment_args(clap::Command::new("serve"));
        let others = command.get_arguments().map(|arg| arg.get_id().as_str());
        let others: Vec<_> = others.filter(|id| !["dir", "scrub"].contains(id)).collect();
        assert_eq!(others, SERVING);
    }
}
