//! The Big Data benchmark of Pavlo et al. (SIGMOD 2009) and AMPLab, and Cheetah's seven queries.
//!
//! [`Table::Rankings`] has web pages, and [`Table::Uservisits`] has visits to them. The data are generated instead of
//! downloaded, because the benchmark's own files need a bucket that is not always available. They have the same
//! shape:
//!
//! * `pagerank` is a Pareto variable (at least 10, shape 1.5), and the table is nearly sorted on it, greatest first:
//!   neighbors are out of order, but no row is far from its place.
//! * Visits go to pages with a power law: half of them to the most popular 3 %. One in ten goes to a page that the
//!   table does not have.
//! * User agents, locales and search words follow Zipf's law over fixed lists. A visitor comes often, and always from
//!   the same address and locale.
//! * `adrevenue` is exponential with mean 0.50, in millionths of a dollar, so that sums are exact.
//!
//! Scale factor 1 is the sample that Cheetah was measured with: 18 million rankings and 31.7 million visits, about 7
//! GB of CSV. (The published sizes of AMPLab, 18 and 155 million rows on one node, have more visits for each page.)
//!
//! Every row is a function of the seed, the scale and its number, so tables can be divided among any number of
//! objects. Names are in lower case: SQL folds `pageURL` to `pageurl`.

mod query;
mod rankings;
mod table;
mod uservisits;
mod vocabulary;

pub use query::{QUERIES, query, query_at_scale};
pub use table::{Seed, Table, UnknownTable};

/// A request to generate tables of the benchmark.
pub type Generate = crate::Generate<Table>;
/// A part of an object that has arrived in the store.
pub type ProgressFn = crate::PartProgress<Table>;
/// An object that was written.
pub type WrittenObject = crate::WrittenObject<Table>;

#[cfg(test)]
mod tests;
