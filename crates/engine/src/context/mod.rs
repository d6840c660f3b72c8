//! Errors, settings, counters and the journal of decisions, which all other folders use.
//!
//! Reading order:
//!
//! 1. [`error`]: errors with a kind, a sentence and a hint, also for errors of DataFusion, Arrow and stores.
//!    [`not_found`], [`setting_suggestions`] and [`panics`] make some of them.
//! 2. [`config`]: the options of `SET sluice.…`. [`auto_or_number`], [`hardware`], [`idle_timeout`], [`index_location`] and
//!    [`switch_target`] parse single options. [`config_extension`] adds values to a session that SET cannot change.
//! 3. [`counters`] and [`timeline`]: requests and bytes, counted where requests are sent.
//! 4. [`choice`]: the journal of strategies and reasons that EXPLAIN prints. [`notes`]: remarks on statements that
//!    succeed.
//! 5. [`read_layer`]: the base of object stores that change reads or listings. [`listing`], [`file_names`],
//!    [`bucket_names`] and [`partition_value`]: the meaning of names in stores.
//! 6. [`expression`], [`text_metric`] and [`xml_text`]: small conversions of text.
//!
//! This folder must not use any other folder of the engine.

pub(crate) mod auto_or_number;
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
