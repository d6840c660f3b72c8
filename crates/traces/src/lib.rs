//! Imports logs of queries in other engines as stages of the model of computational storage
//! ([`sluicegate_costmodel::storage`]).
//!
//! Each engine has a module. All modules read files from any source: sizes are limited whatever the content, and a
//! file that cannot be read gives an error with its position.

pub mod datafusion;
pub mod duckdb;
mod error;
pub mod file;
mod json;
mod plan;
mod query;
pub mod spark;
pub mod stages;

pub use self::error::Error;
pub use self::query::{Query, name_of};

/// The content of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The queries that ran to their end, in the order of their start.
    pub queries: Vec<Query>,
    /// Notes on data that is missing in the log, for the user.
    pub notes: Vec<String>,
}
