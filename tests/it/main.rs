//! The whole system, from SQL text to rows, in one binary: one module for each feature that a user could name.

#![expect(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "the helpers of tests stop at the first surprise, and say what they skip"
)]

mod adaptive;
mod analyst;
mod answers;
mod arrow_answers;
mod bad_input;
mod calibrate;
mod cli;
mod codec;
mod connections;
mod counting;
mod csv_options;
mod damage;
mod decoded_files;
mod delta;
mod demo;
mod dml;
mod edges;
mod endpoint;
mod endpoints;
mod exact;
mod explain;
mod faults;
mod figure_10;
#[cfg(unix)]
mod file_size;
mod folders;
mod foreign_files;
mod foreign_folders;
mod generate;
mod group_by;
mod guards;
mod harness;
mod headerless;
mod html;
mod index;
mod invalid_responses;
mod join;
mod json;
mod many_ranges;
mod messages;
mod messy;
mod minio;
mod mistyped;
mod mixed_files;
mod model;
mod names;
mod negotiation;
mod oracle;
mod parquet_types;
mod partitions;
mod predicted;
mod prompt;
mod random;
mod read_options;
mod relational;
mod reproduce;
mod rooms;
mod scans;
mod serve;
mod serve_sql;
mod server_index;
mod site;
mod slt;
mod stages;
mod stall_timeout;
mod statistics;
mod stats;
mod stop;
mod storage;
mod strategies;
mod switch;
mod tables;
mod top_k;
mod tpcds;
mod tpch;
mod typed;
mod unreadable;
mod untidy;
mod untidy_json;
mod upstream;
mod validate;
mod wire;
mod workers;
mod writes;
