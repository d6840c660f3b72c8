//! Suggestion 2 of §X: an index inside S3.

use super::data;
use super::paper::LINEITEM_ROWS;
use super::suggestion::compare;
use super::sweep::{self, Cell};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// S3 Select without and with an index in the store, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/suggestion2",
    title: "S3 Select without and with an index inside the store",
    place: "PushdownDB §X, suggestion 2",
    method: Method::Live { runs, evaluate },
};

const NAMES: [&str; 2] = ["no index", "index in the store"];
const POWERS: [i32; 4] = [-5, -4, -3, -2];

/// Returns a filter on a range of keys, of which each has about one row.
fn query(setting: &Setting, power: i32) -> String {
    const FROM: f64 = 1_000.0;
    let rows = LINEITEM_ROWS.as_f64() / 10.0 * setting.scale;
    let to = FROM + (rows * 10_f64.powi(power)).round();
    format!("select * from lineitem where l_orderkey between {FROM} and {to}")
}

fn cells(setting: &Setting) -> Vec<Cell> {
    let of = |(name, data)| {
        POWERS.map(|power| {
            let point = (format!("1e{power}"), 10_f64.powi(power));
            Cell::new(name, point, data, &[("scan", "select")], query(setting, power))
        })
    };
    let (plain, indexed) = (data::tpch(setting), data::indexed(setting));
    NAMES.into_iter().zip([&plain, &indexed]).flat_map(of).collect()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let axis = ("selectivity", Axis::logarithmic("selectivity"));
    Ok(compare("S3 Select over lineitem", axis, NAMES, &measured))
}
