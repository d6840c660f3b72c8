//! The scans of tables: with S3 Select, with GET by DataFusion's own sources, or with both.
//!
//! Reading order:
//!
//! 1. [`s3_scan`]: the node of a plan. [`s3_select`]: its source of statements. [`subject`] names scans in decisions.
//! 2. [`snapshot`]: the statement and the filters of one open of a file. [`opener`] reads the file and falls back to
//!    GET.
//! 3. [`get`]: the same rows with GET, and [`read_ahead`] for Parquet. [`stored_types`] checks the types in Parquet files, and [`output_exprs`]
//!    rewrites expressions over the output of a scan. [`deleted_rows`] are skipped.
//! 4. [`adaptive`]: a scan that may change from GET to Select at run time. [`estimator`] supplies its predictions.
//! 5. [`decoded`]: Arrow and Avro files, which only GET reads.
//! 6. [`keys`]: keys of joins that reach a scan while it runs. [`rerun`] lets a scan run a second time.
//!
//! The index scan is in the folder `index`. This folder must not use statistics, physical operators or optimizer
//! rules.

pub(crate) mod adaptive;
pub(crate) mod decoded;
pub(crate) mod deleted_rows;
pub(crate) mod estimator;
pub(crate) mod get;
pub mod keys;
pub(crate) mod opener;
pub(crate) mod output_exprs;
pub(crate) mod read_ahead;
pub(crate) mod rerun;
pub mod s3_scan;
pub(crate) mod s3_select;
pub(crate) mod snapshot;
pub(crate) mod stored_types;
pub(crate) mod subject;
