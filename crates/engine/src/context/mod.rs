//! What every other folder uses: errors, settings, counters, notes and the journal of decisions.
//!
//! Read first:
//! 1. [`error`]: `UserError { kind, message, hint }`, and how foreign errors are reworded.
//! 2. [`config`]: the options of `SET sluice.…`; [`hardware`] and [`idle_timeout`] parse two of them.
//! 3. [`counters`] and [`timeline`]: requests and bytes, counted where requests are sent.
//! 4. [`choice`]: the journal of strategies and reasons that EXPLAIN prints; [`notes`]: remarks on a statement that succeeds.
//!
//! This folder imports no other folder of the engine.

pub(crate) mod bucket_names;
pub mod choice;
pub mod config;
pub(crate) mod config_extension;
pub mod counters;
pub(crate) mod error;
pub(crate) mod expression;
pub(crate) mod file_names;
pub(crate) mod hardware;
pub(crate) mod idle_timeout;
pub(crate) mod index_location;
pub(crate) mod listing;
pub(crate) mod not_found;
pub mod notes;
pub(crate) mod panics;
pub(crate) mod partition_value;
pub(crate) mod read_layer;
pub(crate) mod setting_suggestions;
pub(crate) mod switch_target;
pub(crate) mod text_metric;
pub mod timeline;
pub(crate) mod xml_text;
