//! Output of commands: answers, charts, listings, statistics, progress and HTML pages.
//!
//! - Answers: `result_set` writes them, with `titles`, `fit`, `expanded`, `grid`, `nested` and `escape`.
//! - Rows of the program's own commands: `listing`, `constant`. Plans: `tree`. Statistics: `stats` on stderr,
//!   `stats_json` in a file. `progress` is on stderr.
//! - Pages and pictures: `html`, `chart`. `file` makes output files appear when they are complete.

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
pub(crate) mod stats;
pub(crate) mod stats_json;
pub(crate) mod titles;
pub(crate) mod tree;
mod unprintable;

pub(crate) use self::result_set::{Format, Output};
