//! Arguments of `sluice serve-sql`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use sluicegate_costmodel::Bytes;

use super::connect::ConnectArgs;
use super::quantity::{Address, Price, Timeout};
use super::worker::WorkersArgs;

const SERVE_SQL_EXAMPLES: &str = "\
Examples:
  sluice serve-sql
      Serve buckets to programs on this machine. Connect with: psql -h 127.0.0.1 -U me
  sluice serve-sql -f tables.sql --max-cost 0.05 --memory-limit 4GiB --session-memory 1GiB
      Define tables that every client sees, and refuse expensive queries.
  SLUICE_SQL_PASSWORD=secret sluice serve-sql --listen 0.0.0.0:5432 --tls-cert cert.pem --tls-key key.pem
      Serve other machines, with a password and TLS.
  sluice serve-sql --flight-listen 127.0.0.1:32010
      Serve Arrow Flight SQL, too. Connect with: jdbc:arrow-flight-sql://127.0.0.1:32010?useEncryption=false

Clients may query tables and URLs (SELECT * FROM 's3://bucket/t.parquet'), and define views and
external tables, which only their own session sees. Transactions are accepted, but isolate nothing.
Any user and database name is accepted. Ctrl-C ends all sessions and stops.";

/// Serve SQL to psql, BI tools and drivers, with PostgreSQL's protocol
#[derive(Debug, clap::Args)]
#[command(after_help = SERVE_SQL_EXAMPLES)]
pub(crate) struct ServeSqlArgs {
    /// Address to listen on; port 0 is any free one. An address that other machines reach needs a password and TLS
    #[arg(long, default_value = "127.0.0.1:5432", value_name = "HOST:PORT")]
    pub(crate) listen: Address,
    /// Serve Arrow Flight SQL as well, at this address: to ADBC, JDBC and other drivers that take Arrow. Everything
    /// else holds for both protocols
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) flight_listen: Option<Address>,
    /// Run the statements of this file first; every client sees the tables and views that they define. May be
    /// repeated
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Allow statements that write: INSERT, COPY … TO, CREATE TABLE … AS, ANALYZE TABLE
    #[arg(long)]
    pub(crate) allow_writes: bool,
    /// Allow statements that name files of this machine. Clients then read, and with --allow-writes write, whatever
    /// this program may
    #[arg(long)]
    pub(crate) allow_local_files: bool,
    /// Do not run statements whose predicted cost in dollars is higher
    #[arg(long, value_name = "USD", help_heading = "Limits", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<Price>,
    /// Most sessions at a time; more clients get an error
    #[arg(long, default_value = "100", value_name = "N", help_heading = "Limits")]
    pub(crate) max_sessions: NonZeroUsize,
    /// Memory that the joins, sorts and aggregates of a session may use, such as 512MiB [default: no limit but that of
    /// all together, --memory-limit]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) session_memory: Option<Bytes>,
    /// How long a statement may run: 90s, 10min, unlimited
    #[arg(long, default_value = "unlimited", value_name = "TIME", help_heading = "Limits")]
    pub(crate) statement_timeout: Timeout,
    /// How long to wait for a client that sends nothing, or reads no more of an answer
    #[arg(long, default_value = "1h", value_name = "TIME", help_heading = "Limits")]
    pub(crate) session_timeout: Timeout,
    /// How long a client has from its connection to its password
    #[arg(long, default_value = "10s", value_name = "TIME", help_heading = "Limits")]
    pub(crate) startup_timeout: Timeout,
    /// File whose first line is the password that clients need [default: SLUICE_SQL_PASSWORD, else none]
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    pub(crate) password_file: Option<PathBuf>,
    /// Certificate in PEM, with the certificates that signed it; clients can then use TLS
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Security")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Security")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Listen on an address that other machines reach even without a password or TLS, and accept connections without
    /// TLS there
    #[arg(long, help_heading = "Security")]
    pub(crate) allow_unprotected: bool,
    /// Stop when stdin ends, as it does when the program that started the server ends in any way
    #[arg(long)]
    pub(crate) stop_with_stdin: bool,
    #[command(flatten)]
    pub(crate) workers: WorkersArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}
