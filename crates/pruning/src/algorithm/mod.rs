//! The pruning algorithms, one folder each, and the [`catalog`] that lists them by name.
//!
//! A folder holds a validated `Config`, the `program` that defines the algorithm, a fast path that
//! [`check`](mod@crate::experiment::check) compares with the program, and the [`catalog::Entry`] with everything
//! else. [`published`] contains the authors' own programs. The files beside the folders are shared by the algorithms.
//! CONTRIBUTING.md lists the steps to add an algorithm.

pub mod catalog;
pub mod distinct;
pub mod filter;
pub mod group_by;
pub mod group_sum;
pub mod hashing;
pub mod having;
pub mod join;
pub mod published;
pub mod rows;
pub mod skyline;
pub mod top_n;

pub use pruning::Pruning;

pub(crate) mod config;
pub(crate) mod entries;
pub(crate) mod pruner;
mod pruning;
pub(crate) mod row_hash;
pub(crate) mod ties;
