//! What a store can do, found out by asking it.
//!
//! The questions are a table ([`Question::all`]). Each names a feature, the sample object and the
//! request that ask for it, the right answer, and what the answer teaches: a field of an
//! [`EndpointProfile`](sluicegate_s3select::profile::EndpointProfile), or a trust on which its exactness rests. [`Report::new`] draws the
//! conclusions. Nothing here talks to a store; a client does.
//!
//! A probe cannot prove that a store is right, only that it is wrong. So a probed store is
//! trusted with no more than AWS's documentation is: filters are supersets that are checked again
//! here, and only what was seen to be right is sent at all. A store that advertises this crate's
//! extensions and answers every question rightly is trusted as our own server is.

mod aggregates;
mod formats;
mod lessons;
mod limits;
mod meaning;
mod question;
mod report;
mod samples;
mod syntax;

pub use self::question::{Ask, Question, Right, Shape, Topic};
pub use self::report::{Facts, Finding, Outcome, Report, Verdict};
pub use self::samples::Sample;

/// Changes whenever a profile that was probed before should be probed again.
pub const PROBE_VERSION: u32 = 5;
