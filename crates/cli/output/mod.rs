//! What a command writes: answers, charts, listings, statistics, progress, pages.

mod answer;
pub(crate) mod chart;
pub(crate) mod file;
pub(crate) mod grid;
pub(crate) mod html;
pub(crate) mod listing;
pub(crate) mod progress;
pub(crate) mod stats;
pub(crate) mod visible;

pub(crate) use self::answer::{Format, Output};
