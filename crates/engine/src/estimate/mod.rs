//! What the session knows about tables, and the numbers that the cost model takes.
//!
//! 1. [`statistics`]: histograms, distinct counts and footers, by object version.
//! 2. [`demand`]: from files, statistics and plain shapes to requests, bytes and terms.
//!
//! Operators hand over plain shapes; this folder does not know them.

#[doc(hidden)]
pub mod demand;
pub(crate) mod footer_statistics;
pub(crate) mod server_index;
pub mod statistics;
