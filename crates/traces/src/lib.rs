//! What queries did in other engines, from their logs, as stages of the model of computational storage
//! ([`sluicegate_costmodel::storage`]).
//!
//! Each engine has a module of its own, and each reads files from anywhere: sizes are bounded, whatever
//! is in them, and what cannot be read is an error that names its place.

mod error;
pub mod spark;

use sluicegate_costmodel::storage::StageGraph;

pub use self::error::Error;

/// What a log says.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// Queries that ran to their end, in the order of their start.
    pub queries: Vec<Query>,
    /// What is missing in the log, for its reader to know.
    pub notes: Vec<String>,
}

/// A query that has run.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// What the log calls it.
    pub name: String,
    /// Cores that it could use; none if the log does not say.
    pub cores: Option<f64>,
    /// Its stages.
    pub graph: StageGraph,
}
