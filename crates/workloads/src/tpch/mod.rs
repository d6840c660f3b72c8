//! TPC-H: eight tables of a wholesaler and 22 questions about them.
//!
//! Data and queries are derived from the TPC-H specification; results obtained with them are not
//! comparable to published TPC-H results.
//!
//! Tables are generated row for row as `dbgen` does, by the `tpchgen` crates.

mod answer;
mod query;
mod rows;
mod table;

pub use crate::generate::{Compression, Format, generate};
pub use answer::{Answer, answer};
pub use query::{QUERIES, query, query_at_scale};
pub use table::{Table, UnknownTable};

/// What to generate. The scale factor is the specification's: 1 is about 1 GB of CSV.
pub type Generate = crate::Generate<Table>;
/// A part of an object that has arrived in the store.
pub type Advance = crate::Advance<Table>;
/// An object that was written.
pub type WrittenObject = crate::WrittenObject<Table>;
