//! Suggestion 4 of §X: partial group-bys.

use super::data;
use super::groupings::query;
use super::suggestion::compare;
use super::sweep::{self, Cell};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// Group-bys in the store by CASE and by GROUP BY, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/suggestion4",
    title: "Group-bys in the store by CASE and by GROUP BY",
    place: "PushdownDB §X, suggestion 4",
    method: Method::Live { runs, evaluate },
};

const WAYS: [(&str, &str); 2] = [("CASE", "case"), ("GROUP BY", "s3")];
/// Columns and their groups.
const COLUMNS: [(&str, u32); 4] = [("g0", 2), ("g2", 8), ("g4", 32), ("g6", 128)];

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::groups(setting);
    let of = |(name, way)| {
        let data = data.clone();
        COLUMNS.map(move |(column, groups)| {
            let settings = [("scan", "select"), ("group_by", way)];
            let point = (groups.to_string(), f64::from(groups));
            Cell::new(name, point, &data, &settings, query("uniform", column))
        })
    };
    WAYS.into_iter().flat_map(of).collect()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let axis = ("groups", Axis::logarithmic("groups"));
    Ok(compare("Sums of four columns by group", axis, WAYS.map(|it| it.0), &measured))
}
