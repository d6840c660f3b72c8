//! CSV and JSON as text: dialects, columns, record boundaries, and errors that name the line.
//!
//! - [`csv`]: dialect detection, options, record boundaries, quotes, dates.
//! - [`json`]: columns, layout (lines, arrays, documents), record boundaries, rows.
//! - Shared: [`sampled_schema`] (schema inference), [`merged_columns`] (one schema for several objects), [`decompressed`],
//!   [`located_errors`], [`record_limit`].
//!
//! This folder reads byte streams. It does not know stores, plans or statistics.

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
