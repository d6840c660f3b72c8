//! Output of commands: answers, charts, listings, statistics, progress and HTML pages.

pub(crate) mod chart;
pub(crate) mod constant;
pub(crate) mod escape;
mod expanded;
pub(crate) mod file;
mod fit;
pub(crate) mod grid;
pub(crate) mod html;
pub(crate) mod listing;
mod nested;
pub(crate) mod progress;
mod result_set;
pub(crate) mod screen;
pub(crate) mod stats;
pub(crate) mod titles;
pub(crate) mod tree;

pub(crate) use self::result_set::{Format, Output};
