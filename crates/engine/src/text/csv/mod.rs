//! CSV as text.
//!
//! [`dialect`] detects the dialect and the columns. [`options`] has the options that DataFusion lacks, and [`values`]
//! parses dates, times and decimals. [`text`], [`records`] and [`lines`] find the records of a file for indexes. [`quotes`]
//! tracks quotes: [`open_quote`] detects one that is never closed, and [`range_records`] values that a range of a file
//! cuts. [`by_name`] reads files with different headers as one table.

pub(crate) mod by_name;
pub(crate) mod dialect;
pub(crate) mod lines;
pub(crate) mod open_quote;
pub(crate) mod options;
pub(crate) mod quotes;
pub(crate) mod range_records;
pub(crate) mod records;
pub mod text;
pub(crate) mod values;
