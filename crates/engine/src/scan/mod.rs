//! The scans of tables: through S3 Select, through indexes, or with GET by DataFusion's own sources.
//!
//! Read in this order:
//!
//! 1. `s3_scan`, `s3_select`: the node of a plan and its source of statements. `snapshot` and `statement` fix the
//!    statement of a file, `predicate` and `partial_state` translate expressions, `format` describes the files, and
//!    `opener` reads a file and falls back to GET.
//! 2. `get`, `one_file`, `pinned`, `stored_types`: the same rows with GET. `turning` switches between GET and Select
//!    at run time.
//! 3. `keys`, `arriving`: the keys of joins that reach a scan while it runs.
//! 4. `indexed`, `many_ranges`, `record_ranges`, `borders`: the index scan and its ranges.
//! 5. `named`: DataFusion's sources of text, with checked bytes and errors that give the place. Its parts are
//!    `watched`, `quotes`, `whole_records`, `record_limit`, `csv_times`, `json_rows`, `whole_numbers`,
//!    `surrogate_pairs`, `byte_order_mark` and `undeclared_keys`.
//! 6. `footer_statistics`, `float_bounds`: statistics of Parquet that DataFusion would trust too much.

pub(crate) mod adaptive;
pub(crate) mod estimator;
pub(crate) mod get;
pub mod keys;
pub(crate) mod opener;
pub(crate) mod output_exprs;
pub(crate) mod rerun;
pub mod s3_scan;
pub(crate) mod s3_select;
pub(crate) mod snapshot;
pub(crate) mod stored_types;
pub(crate) mod subject;
