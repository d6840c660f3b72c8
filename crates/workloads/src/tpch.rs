//! TPC-H: eight tables of a wholesaler and 22 questions about them.
//!
//! Data and queries are derived from the TPC-H specification; results obtained with them are not
//! comparable to published TPC-H results.
//!
//! Tables are generated row for row as `dbgen` does, by the `tpchgen` crates.

mod answer;
mod generate;
mod query;
mod rows;
mod table;

pub use answer::{Answer, answer};
pub use generate::{Advance, Compression, Format, Generate, WrittenObject, generate};
pub use query::{QUERIES, query, query_at_scale};
pub use table::{Table, UnknownTable};
