//! CSV and JSON as text: dialects, columns, record boundaries, and errors that name the line.
//!
//! Reading order:
//!
//! 1. [`csv`] and [`json`]: detection, options, record boundaries and values of each format.
//! 2. [`located_errors`]: DataFusion's sources of text, with the checks of this folder and errors that name the
//!    place. [`bad_records`] words the errors.
//! 3. [`sampled_schema`]: schema inference from verified samples ([`samples`]). [`merged_columns`] makes one schema
//!    of several objects, and [`sniff_cache`] stores what was inferred.
//! 4. [`byte_observer`]: the base of checks on bytes between the store and the reader. [`record_limit`],
//!    [`magic_bytes`] and [`decompression`] also work on bytes.
//! 5. [`format`](mod@format): the formats of objects that can be indexed, with the places of their records.
//!
//! This folder must not use endpoints, statistics or plans of our own. It uses only `context`.

pub(crate) mod bad_records;
pub(crate) mod byte_observer;
pub(crate) mod csv;
pub(crate) mod decompression;
pub mod format;
pub(crate) mod json;
pub(crate) mod located_errors;
pub(crate) mod magic_bytes;
pub(crate) mod merged_columns;
pub(crate) mod record_limit;
pub(crate) mod sampled_schema;
pub(crate) mod samples;
pub(crate) mod sniff_cache;
