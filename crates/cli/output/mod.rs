//! Output of commands: answers, charts, listings, statistics, progress and HTML pages.

mod answer;
pub(crate) mod chart;
pub(crate) mod constant;
mod expanded;
pub(crate) mod file;
mod fit;
pub(crate) mod grid;
pub(crate) mod html;
pub(crate) mod listing;
mod nested;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod stats;
pub(crate) mod titles;
pub(crate) mod tree;
pub(crate) mod visible;

pub(crate) use self::answer::{Format, Output};
