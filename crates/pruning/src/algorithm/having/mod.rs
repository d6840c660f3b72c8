//! `GROUP BY key HAVING …`: drop an entry whose group cannot qualify (paper §4.3).
//!
//! [`sum`] handles SUM and COUNT above a threshold, with a Count-Min sketch. [`below`] handles SUM below a threshold,
//! with a cell for each group. [`extreme`] handles MAX above or MIN below a threshold, with a comparison and DISTINCT.

pub mod below;
mod entry;
pub mod extreme;
pub mod plan;
mod question;
pub mod sum;

pub(crate) use entry::{BELOW, EXTREME, SUM};
