//! csv.

pub(crate) mod dialect;
pub(crate) mod lines;
pub(crate) mod options;
pub(crate) mod quotes;
pub(crate) mod range_records;
pub(crate) mod records;
pub mod text;
pub(crate) mod times;
