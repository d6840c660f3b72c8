//! Figure 10d: GROUP BY by its tables.

use super::bigdata::{VISITS, bigdata};
use super::sweep::{Sweep, chart, points, pruned, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10d",
    title: "What GROUP BY forwards, by its tables",
    place: "Cheetah §8.3, Figure 10d",
    method: Method::Live { runs, evaluate },
};

const RUN: &str = "group-by";

fn runs(setting: &Setting) -> Vec<Run> {
    let sweep = Sweep {
        algorithms: RUN,
        over: vec!["w=1..10".to_owned()],
        input: VISITS,
        columns: "useragent,adrevenue",
        more: Vec::new(),
    };
    vec![sweep.run(RUN, &bigdata(setting))]
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let all = points(results, &[RUN])?;
    let at = |tables: f64| all.iter().find(|point| point.value == tables);
    let three = at(3.0).map_or(1.0, |point| point.forwarded);
    let (nine, optimum) = at(9.0).map_or((1.0, 0.0), |point| (point.forwarded, point.optimum));
    let mut outcome = Outcome::default();
    let found = format!("{} with 3, {:.3} × OPT with 9", pruned(three), nine / optimum);
    outcome.decide("C33", found, three <= 0.02 && nine <= 1.001 * optimum);
    outcome.note("the paper's numbers are restored");
    outcome.tables.push(table("MAX(adRevenue) of the visits by userAgent", &all));
    outcome.charts.push(chart(EXPERIMENT.title, Axis::linear("tables w"), &all, |it| it.value));
    Ok(outcome)
}
