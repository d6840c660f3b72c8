//! Tables: from URLs, CREATE EXTERNAL TABLE and table functions to listed, typed objects.
//!
//! Reading order:
//!
//! 1. [`url_tables`]: tables named by a URL or path. [`locations`] and [`folder_names`] resolve what users write.
//! 2. [`external_tables`]: declared tables. [`declared_headers`] and [`declared_names`] match their columns to the
//!    files, [`separators`] finds their delimiter, and [`option_names`] and [`option_values`] check their options.
//! 3. [`table_functions`]: `read_csv`, `read_json`, `read_parquet`, `read_arrow`, `read_avro`, `delta_scan`,
//!    `glob`. [`delta`]: Delta tables.
//! 4. [`files_table`]: the table provider. [`listing_filter`], [`file_variants`] and [`folder_variants`] select its objects, and
//!    [`table_columns`] and [`partitions`] define its columns.
//! 5. [`formats`]: DataFusion's file formats with our statistics, and [`decoded_format`] for Arrow and Avro.
//!
//! This folder must not use the folder `engine`, which plans statements.

pub(crate) mod declared_headers;
pub(crate) mod declared_names;
mod decoded_format;
pub(crate) mod delta;
pub mod external_tables;
pub(crate) mod file_variants;
pub(crate) mod files_table;
pub(crate) mod folder_names;
pub(crate) mod folder_variants;
pub(crate) mod formats;
pub(crate) mod listing_filter;
pub(crate) mod locations;
pub(crate) mod option_names;
pub(crate) mod option_values;
pub(crate) mod partitions;
pub(crate) mod separators;
pub(crate) mod table_columns;
pub mod table_functions;
pub(crate) mod url_tables;
