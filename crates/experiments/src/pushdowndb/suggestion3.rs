//! Suggestion 3 of §X: bit-wise operators for Bloom filters.

use super::data;
use super::joins::query;
use super::suggestion::compare;
use super::sweep::{self, Cell};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// Bloom joins with filters of text and of bits, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/suggestion3",
    title: "Bloom filters as text with SUBSTRING and as bits",
    place: "PushdownDB §X, suggestion 3",
    method: Method::Live { runs, evaluate },
};

/// A store of the kind `aws` has SUBSTRING only; ours has BLOOM_CONTAINS.
const WAYS: [(&str, &[&str]); 2] = [("text", &["--store", "aws"]), ("bits", &[])];
/// The bounds on customers. More than 1,000 customers pass, which are not sent as a list.
const BOUNDS: [f64; 4] = [-650.0, 0.0, 1_500.0, 4_000.0];

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::joins(setting);
    let of = |(name, arguments): (&'static str, &'static [&'static str])| {
        let data = data.clone();
        BOUNDS.map(move |bound| {
            let settings = [("scan", "select"), ("join", "bloom"), ("bloom_p", "0.01")];
            let point = (bound.to_string(), bound);
            Cell::new(name, point, &data, &settings, query(bound, None)).with(arguments)
        })
    };
    WAYS.into_iter().flat_map(of).collect()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let axis = ("bound on c_acctbal", Axis::linear("bound on c_acctbal"));
    Ok(compare("Bloom joins of customer and orders", axis, WAYS.map(|it| it.0), &measured))
}
