//! Runs SQL over S3 stores and moves work to where the data is.
//!
//! [`Engine`] is a DataFusion session whose tables are in an S3 store. If the store supports S3 Select, scans push
//! their filters, columns and aggregates down to it. If the store does not, or if a GET is cheaper, the same query
//! reads the objects. The answer is the same either way.
//!
//! ```no_run
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sluicegate_engine::{StoreCapabilities, Engine};
//!
//! // The capabilities list what may be pushed down; without them, everything is read with GET.
//! let builder = Engine::builder().endpoint("http://127.0.0.1:9000");
//! let engine = builder.profile(StoreCapabilities::sluice()).build().await?;
//! let batches = engine.collect("SELECT count(*) FROM 's3://bucket/file.csv'").await?;
//! println!("{}", arrow::util::pretty::pretty_format_batches(&batches)?);
//! println!("{} requests", engine.counted().requests());
//! # Ok(())
//! # }
//! ```
//!
//! Entry points:
//!
//! - [`Engine::plan`] returns a [`Query`], which counts its own requests and bytes and lists the settings that it
//!   could not follow. [`Engine::query`], [`Engine::collect`] and [`Engine::stream`] return only its rows.
//! - [`Engine::explain`] lists, for every scan, aggregate and ORDER BY … LIMIT, the possible strategies with their
//!   predicted numbers, and why the others are not possible ([`choice`]).
//! - `ANALYZE TABLE t` reads a table and stores statistics about its values for the planner ([`statistics`]).
//! - [`Engine::register_endpoint`] adds a further store for buckets of its own.
//! - [`with_pushdown`] adds the rules to a DataFusion session that you already have.
//! - [`config`] has the options that SQL sets with `SET sluice.…`.
//! - [`guards`] lists where DataFusion's answers are wrong and ours differ.
//! - [`Error`] has a kind, a sentence and usually a hint, also if a query fails while it runs.
//!
//! Chains of up to 2,000 operators are planned and run recursively. The threads that poll the futures and streams of
//! an engine or a worker therefore need stacks of [`STACK_BYTES`]; Tokio's default is 2 MiB:
//!
//! ```
//! let threads = tokio::runtime::Builder::new_multi_thread()
//!     .enable_all()
//!     .thread_stack_size(sluicegate_engine::STACK_BYTES)
//!     .build()?;
//! // `block_on` polls on the calling thread, whose stack is smaller: spawn the work.
//! threads.block_on(threads.spawn(async { /* … */ }))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The source has eleven folders. Each one uses only those before it: `context`, `text`, `pushdown`, `store`,
//! `index`, `scan`, `estimate`, `operators`, `optimizer`, `catalog`, `engine`. Each `mod.rs` lists what its folder
//! holds, in reading order.

mod catalog;
mod context;
mod engine;
mod estimate;
pub mod index;
pub mod operators;
mod optimizer;
mod pushdown;
mod scan;
mod store;
mod text;

pub use self::catalog::{external_tables, table_functions};
pub use self::context::{choice, config, counters, notes, timeline};
pub use self::engine::research::{model_tables, stages};
pub use self::engine::{
    analyze, browse, codec, explain, index_statements, leaf_tasks, plan_graph, query, session,
};
pub use self::estimate::declared_sizes::TableSize;
pub use self::estimate::statistics;
pub use self::store::{endpoints, staging};

/// Modules for the command, the tests and the benches of this workspace. They may change at any time.
#[doc(hidden)]
pub mod internals {
    pub use crate::context::error::are_similar;
    pub use crate::estimate::demand;
    pub use crate::pushdown::predicate;
    pub use crate::scan::{keys, s3_scan};
    pub use crate::text::csv::text as csv_text;
    pub use crate::text::format;
}

pub use self::context::counters::CounterSnapshot;
pub use self::context::error::{Error, ErrorKind, Result, UserError};
pub use self::engine::Engine;
pub use self::engine::builder::EngineBuilder;
pub use self::engine::explain::{Effect, Estimate, Explanation};
pub use self::engine::query::{Query, QueryReport};
pub use self::engine::session::with_pushdown;
pub use self::engine::sessions::Outline;
pub use self::store::endpoint::Endpoint;
pub use self::store::endpoint_builder::EndpointBuilder;
pub use self::store::endpoints::Endpoints;
pub use self::store::version_pinned_store::Versions;
// Callers need these types to set an engine up and to read its answers. The re-exports save them a dependency on the
// crates below.
pub use sluicegate_client::{ConnectOptions, Credentials};
pub use sluicegate_costmodel::{HardwareProfile, Objective, PriceBook};
pub use sluicegate_guards::{self as guards, sql_types};
pub use sluicegate_s3select::capabilities::StoreCapabilities;

/// The stack size of a thread that plans or runs queries, in bytes. It is large enough for every statement that is
/// accepted. At the limit, 2,000 consecutive operators take some 9 MiB if crates are optimised, as do 500 branches of
/// UNION, and several times as much if they are not. Unused pages take no memory.
pub const STACK_BYTES: usize = 64 << 20;
