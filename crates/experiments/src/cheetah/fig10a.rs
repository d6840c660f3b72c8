//! Figure 10a: DISTINCT by the rows of its matrix.

use super::bigdata::{VISITS, bigdata};
use super::sweep::{Point, Sweep, chart, of, percent, points, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10a",
    title: "What DISTINCT forwards, by the rows of its matrix",
    place: "Cheetah §8.3, Figure 10a",
    method: Method::Live { runs, evaluate },
};

const RUN: &str = "distinct";
const COLUMN: &str = "one column";
/// The rows at which the paper says that all duplicates are pruned.
const ROWS: f64 = 4096.0;

fn runs(setting: &Setting) -> Vec<Run> {
    let sweep = |algorithms, more: &[&str]| Sweep {
        algorithms,
        over: vec!["d=256..16384".to_owned()],
        input: VISITS,
        columns: "useragent",
        more: more.iter().map(|&it| it.to_owned()).collect(),
    };
    let data = bigdata(setting);
    vec![
        sweep("distinct,distinct-fifo", &[]).run(RUN, &data),
        sweep("distinct", &["-w", "1"]).run(COLUMN, &data),
    ]
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let both = points(results, &[RUN])?;
    let mut single = points(results, &[COLUMN])?;
    for point in &mut single {
        point.algorithm = "distinct, w = 1".to_owned();
    }
    let at = |algorithm: &str| {
        let there = of(&both, algorithm).find(|point| point.value == ROWS);
        there.map_or((0.0, 0.0), |point| (point.pruned_duplicates(), 1.0 - point.forwarded))
    };
    let (lru, fifo) = (at("distinct"), at("distinct-fifo"));
    let mut outcome = Outcome::default();
    let all = if lru.0 >= 1.0 { "all" } else { "not all" };
    let found = format!("{} of the duplicates, {all}; FIFO {}", percent(lru.0), percent(fifo.0));
    outcome.decide("C30", found, lru.0 >= 0.99 && fifo.0 > 0.99);
    outcome.note(format!(
        "the paper's parameters are restored; with others all duplicates may be pruned. Some of the 4096 rows get three \
         and more of the 1800 keys, which LRU with two columns does not prune. Of all entries {} and {} are pruned",
        percent(lru.1),
        percent(fifo.1)
    ));
    let all: Vec<Point> = both.into_iter().chain(single).collect();
    outcome.tables.push(table("DISTINCT userAgent of the visits", &all));
    outcome.charts.push(chart(EXPERIMENT.title, Axis::logarithmic("rows d"), &all, |it| it.value));
    Ok(outcome)
}
