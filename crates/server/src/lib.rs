//! An S3 store in a folder, with S3 Select.
//!
//! [`Server`] serves a local directory over HTTP: buckets are directories, and objects are files. Files that were put
//! into the directory by other means are objects too. The server supports enough of S3 for boto3, the AWS CLI and the
//! SDKs. It requires signed requests unless configured otherwise, never shows a half-written object, and runs
//! `SelectObjectContent` with `sluicegate-evaluator`.
//!
//! For measurements it counts requests and bytes exactly ([`Counters`]), and can simulate a link of a given rate and
//! latency. For tests of clients it can inject faults ([`Faults`]).
//!
//! Start reading in `server.rs`, which builds a server. A request passes `connections.rs`, `front.rs` and `routes.rs`
//! to `api` or `select`, and from there to `store`.

mod access_log;
mod api;
mod browser_origin;
mod chunks;
mod connections;
mod counters;
mod credentials;
mod documents;
mod error;
mod error_messages;
mod expiry;
mod faults;
mod front;
mod health;
mod hosts;
mod integrity;
mod limits;
mod lingering_close;
mod link;
mod memory;
mod min_rate;
mod payload_hash;
mod preflight;
mod request_body;
mod routes;
mod scrub;
mod select;
mod server;
mod signed;
mod store;
mod supported;
mod target;
#[cfg(test)]
mod tests;

pub use counters::{Counters, Counts, Operation};
pub use error::Error;
pub use faults::{Fault, Faults, Rule};
pub use limits::Limits;
pub use scrub::scrub;
pub use server::{Builder, Server};
pub use store::{Damage, Scrubbed};
