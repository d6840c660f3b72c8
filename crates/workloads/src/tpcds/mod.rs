//! TPC-DS: 24 tables of a retailer with three sales channels, and 99 questions about them.
//!
//! Data and queries are derived from the TPC-DS specification; results obtained with them are not
//! comparable to published TPC-DS results.
//!
//! Tables are generated row for row as `dsdgen` does, its errors included, by the `tpcdsgen` crates.
//! `dbgen_version`, which says how `dsdgen` was called, is left out: no query reads it.

mod query;
mod rows;
mod table;

pub use query::{QUERIES, query};
pub use table::{Table, UnknownTable};

/// What to generate. The scale factor is the specification's: 1 is about 1 GB of CSV. Below it tables
/// of fixed size, of 100 MB, are the most of it.
pub type Generate = crate::Generate<Table>;
/// A part of an object that has arrived in the store.
pub type Advance = crate::Advance<Table>;
/// An object that was written.
pub type WrittenObject = crate::WrittenObject<Table>;

#[cfg(test)]
mod tests;
