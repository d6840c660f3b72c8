//! HAVING SUM(adRevenue) over the languages of the visits, with a DISTINCT behind it: Figures 10f and 11f.

use super::bigdata::{VISITS, bigdata, scale};
use super::sweep::{Point, Sweep};
use crate::{Run, Setting};

/// The name of the run.
pub(super) const RUN: &str = "having";
/// The threshold of query 7 for the paper's sample, in cents.
const THRESHOLD: f64 = 1e8;

/// Returns the sweep of the query along these axes. Sums are in cents, rounded up for each visit.
pub(super) fn run(over: Vec<String>, setting: &Setting) -> Run {
    let threshold = (THRESHOLD * scale(setting)).round().to_string();
    let more = ["--then-distinct", "--threshold", &threshold];
    let sweep = Sweep {
        algorithms: "having",
        over,
        input: VISITS,
        columns: "languagecode,cents",
        more: more.map(str::to_owned).to_vec(),
    };
    sweep.run(RUN, &bigdata(setting))
}

/// Returns the number of keys that are forwarded: each passes the DISTINCT once. Shares are printed with four digits.
pub(super) fn keys(point: &Point) -> f64 {
    (10.0 * point.forwarded * point.entries as f64).round() / 10.0
}

/// Returns the number of keys of the answer.
pub(super) fn needed(point: &Point) -> f64 {
    (point.optimum * point.entries as f64).round()
}
