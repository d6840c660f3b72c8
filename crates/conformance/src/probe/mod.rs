//! Detection of a store's features by test requests.
//!
//! The questions are a table ([`Question::all`]). Each names a feature, the sample object and the request that test
//! it, and the right answer. The answer sets a field of a
//! [`StoreCapabilities`](sluicegate_s3select::capabilities::StoreCapabilities), or a trust on which the profile's exactness
//! rests. [`Report::new`] draws the conclusions. A client sends the requests; this module does not.
//!
//! A probe cannot prove that a store is right, only that it is wrong. A probed store is therefore trusted no more
//! than AWS's documentation: filters are supersets that are checked again locally, and only features that gave right
//! answers are used at all. A store that advertises this crate's extensions and answers every question rightly is
//! trusted like Sluicegate's own server.

mod aggregates;
mod formats;
mod limits;
mod meaning;
mod question;
mod report;
mod samples;
mod syntax;
mod verdicts;

pub use self::question::{Question, Request, Right, Shape, Topic};
pub use self::report::{Facts, Finding, Outcome, Report, Verdict};
pub use self::samples::Sample;

/// The version of the probe. It is increased whenever stores should be probed again.
pub const PROBE_VERSION: u32 = 5;
