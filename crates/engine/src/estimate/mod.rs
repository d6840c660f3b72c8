//! What the session knows about tables, and the numbers that the cost model takes.
//!
//! 1. [`statistics`]: histograms, distinct counts and footers, by object version.
//! 2. [`demand`]: from files, statistics and plain shapes to requests, bytes and terms.
//!
//! Operators hand over plain shapes; this folder does not know them.

pub mod footer_statistics;
pub mod index_inside;
#[doc(hidden)]
pub mod profile;
pub mod statistics;
