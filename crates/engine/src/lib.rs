//! Runs SQL over S3 stores and moves work to where the data is.
//!
//! [`Engine`] is a DataFusion session whose tables are in an S3 store. If the store supports S3 Select, scans push
//! their filters, columns and aggregates down to it. If the store does not, or if a GET is cheaper, the same query
//! reads the objects. The answer is the same either way.
//!
//! ```no_run
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sluicegate_engine::{EndpointProfile, Engine};
//!
//! // The profile lists what may be pushed down; without one, everything is read with GET.
//! let builder = Engine::builder().endpoint("http://127.0.0.1:9000");
//! let engine = builder.profile(EndpointProfile::sluice()).build().await?;
//! let batches = engine.collect("SELECT count(*) FROM 's3://bucket/file.csv'").await?;
//! println!("{}", arrow::util::pretty::pretty_format_batches(&batches)?);
//! println!("{} requests", engine.counted().requests());
//! # Ok(())
//! # }
//! ```
//!
//! Entry points:
//!
//! - [`Engine::plan`] returns a [`Query`], which counts its own requests and bytes and lists the
//!   settings that it could not follow; [`Engine::query`], [`Engine::collect`] and [`Engine::stream`]
//!   return only its rows.
//! - [`Engine::explain`] lists, for every scan, aggregate and ORDER BY … LIMIT, the possible ways to run it with
//!   their
//!   predicted numbers, and why the others are not possible ([`choice`]).
//! - `ANALYZE TABLE t` reads a table and stores statistics about its values for the planner
//!   ([`statistics`]).
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
//! Modules that are not documented here are public for the project's own tests and may change.

mod alias_in_where;
mod beginnings;
mod bounded_texts;
pub mod browse;
mod bucket_names;
mod builder;
mod calls;
mod carried;
#[doc(hidden)]
pub mod catalog;
mod changed_rows;
mod checked;
mod checksum;
pub mod choice;
pub mod codec;
mod column_names;
mod conditional_writes;
pub mod config;
mod contents;
mod copied;
mod copied_columns;
mod copy_options;
pub mod counters;
mod csv_dialect;
mod csv_options;
#[doc(hidden)]
pub mod datasource;
mod declared_headers;
mod declared_names;
mod declared_twice;
mod decompressed;
mod direct;
mod dropped_clauses;
mod endpoint;
mod endpoint_builder;
pub mod endpoints;
mod engine;
mod error;
pub mod explain;
pub mod external_tables;
mod file_names;
mod files_table;
mod foreign_statements;
mod from_first;
mod function_synonyms;
mod grouped_aggregates;
pub mod guards;
mod hardware;
mod idle_timeout;
pub mod index;
mod interval_units;
mod json_columns;
mod json_layout;
mod json_order;
mod late_keys;
mod layered;
mod listed;
mod listing;
mod local;
mod locations;
mod merged_columns;
#[doc(hidden)]
pub mod metrics;
mod misanswer;
mod mismatched_types;
mod missing;
mod mistyped_queries;
pub mod model_tables;
mod named_columns;
mod nesting;
mod not_null;
pub mod notes;
mod number_literals;
mod object_names;
mod one_version;
#[doc(hidden)]
pub mod optimizer;
mod option_names;
mod option_values;
mod other_forms;
mod outer_fields;
mod panics;
mod partitions;
pub mod parts;
#[doc(hidden)]
pub mod physical_plan;
pub mod picture;
#[doc(hidden)]
pub mod profile;
pub mod query;
mod query_counters;
mod quoted_folders;
mod ranges;
mod readable_copy;
mod sampled_schema;
mod samples;
#[doc(hidden)]
pub mod sampling;
pub mod session;
mod settings_meant;
mod short_times;
mod show_columns;
mod show_tables;
mod silence;
#[doc(hidden)]
pub mod skyline;
mod spellings;
mod sql;
pub mod sql_types;
pub mod stages;
pub mod staging;
pub mod statistics;
pub mod store;
mod struct_fields;
mod summarize;
#[doc(hidden)]
pub mod switch;
mod table_columns;
pub mod table_functions;
pub mod timeline;
mod type_of;
mod united;
mod unquoted_names;
#[doc(hidden)]
pub mod url_tables;
mod uuid_text;
mod why_refused;
mod written_files;
mod written_out;
mod wrong_drop;
mod xml_text;

pub use self::builder::EngineBuilder;
pub use self::counters::Counted;
pub use self::endpoint::Endpoint;
pub use self::endpoint_builder::EndpointBuilder;
pub use self::endpoints::Endpoints;
pub use self::engine::Engine;
pub use self::error::{Error, ErrorKind, Result, UserError};
pub use self::explain::{Estimate, Explanation};
pub use self::one_version::Versions;
pub use self::query::{Profile, Query};
pub use self::session::with_pushdown;
// Callers need these types to set an engine up and to read its answers. The re-exports save them a dependency on the
// crates below.
pub use sluicegate_client::{ConnectOptions, Credentials};
pub use sluicegate_costmodel::{HardwareProfile, Objective, PriceBook};
pub use sluicegate_s3select::profile::EndpointProfile;

/// The stack size of a thread that plans or runs queries, in bytes. It is large enough for every statement that is
/// accepted. At the limit, 2,000 consecutive operators take some 9 MiB if crates are optimised, as do 500 branches of
/// UNION, and several times as much if they are not. Unused pages take no memory.
pub const STACK_BYTES: usize = 64 << 20;
