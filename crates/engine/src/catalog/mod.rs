//! Tables: from URLs, CREATE EXTERNAL TABLE and table functions to listed, typed objects.
//!
//! 1. [`url_tables`]: tables named by a URL or path; [`external_tables`]: declared tables.
//! 2. [`files_table`]: the table provider; [`listed`] and [`partitions`]: which objects and which folder columns it has.
//! 3. [`table_functions`]: `read_csv`, `read_json`, `read_parquet`, `glob`.
//!
//! This folder knows formats and listings, not SQL statements.

pub(crate) mod declared_headers;
pub(crate) mod declared_names;
pub mod external_tables;
pub(crate) mod file_variants;
pub(crate) mod files_table;
pub(crate) mod folder_names;
#[doc(hidden)]
pub(crate) mod formats;
pub(crate) mod listing_filter;
pub(crate) mod locations;
pub(crate) mod option_names;
pub(crate) mod option_values;
pub(crate) mod partitions;
pub(crate) mod table_columns;
pub mod table_functions;
#[doc(hidden)]
pub(crate) mod url_tables;
