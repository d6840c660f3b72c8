//! csv.

pub(crate) mod dialect;
pub mod lines;
pub(crate) mod options;
pub mod quotes;
pub mod range_records;
pub mod records;
pub mod text;
pub(crate) mod times;
