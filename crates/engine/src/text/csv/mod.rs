//! CSV as text.
//!
//! [`dialect`] detects the dialect and the columns. [`options`] has the options that DataFusion lacks, and [`times`]
//! parses dates and times. [`text`], [`records`] and [`lines`] find the records of a file for indexes. [`quotes`] and
//! [`range_records`] detect values that a range of a file cuts.

pub(crate) mod dialect;
pub(crate) mod lines;
pub(crate) mod options;
pub(crate) mod quotes;
pub(crate) mod range_records;
pub(crate) mod records;
pub mod text;
pub(crate) mod times;
