//! Statistics of tables, and demands: the numbers that the cost model takes.
//!
//! Reading order:
//!
//! 1. [`statistics`]: histograms, distinct counts and footers, stored by object version.
//! 2. [`footer_statistics`]: statistics of a Parquet object that are exact only where its footer proves them.
//! 3. [`demand`]: from files, statistics and plain shapes to requests, bytes and terms.
//! 4. [`server_index`]: the demand of a store that answers statements by indexes itself.
//!
//! [`declared_sizes`] replaces the sizes of tables for EXPLAIN.
//!
//! Operators describe themselves by plain shapes such as [`GroupByShape`](demand::GroupByShape). This folder must not
//! use `operators`, `optimizer`, `catalog` or `engine`.

pub(crate) mod declared_sizes;
pub mod demand;
pub(crate) mod footer_statistics;
pub(crate) mod server_index;
pub mod statistics;
