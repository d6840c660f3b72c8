//! What queries did in other engines, from their logs, as stages of the model of computational storage
//! ([`sluicegate_costmodel::storage`]).
//!
//! Each engine has a module of its own, and each reads files from anywhere: sizes are bounded, whatever
//! is in them, and what cannot be read is an error that names its place.

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

/// What a log says.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// Queries that ran to their end, in the order of their start.
    pub queries: Vec<Query>,
    /// What is missing in the log, for its reader to know.
    pub notes: Vec<String>,
}
