//! Figure 10a: DISTINCT by the rows of its matrix.

use super::bigdata::{VISITS, bigdata};
use super::sweep::{OPTIMUM, Point, Sweep, chart, grouped, of, percent, points, table};
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
    // The memory with which most duplicates are pruned.
    let most = of(&both, "distinct").last();
    let keys = of(&both, "distinct").next().map_or(0.0, |it| it.optimum * it.entries as f64);
    let mut outcome = Outcome::default();
    let found = format!("{} of the duplicates; FIFO {}", percent(lru.0), percent(fifo.1));
    outcome.decide("C30", found, lru.0 >= 1.0 && fifo.1 > 0.99);
    let more = most.map_or_else(String::new, |it| {
        let share = percent(it.pruned_duplicates());
        format!(". With {} rows, LRU prunes {share} of the duplicates", grouped(it.value as u64))
    });
    outcome.note(format!(
        "LRU prunes {} of all entries, and FIFO {} of the duplicates. A hash spreads about {} keys over the 4,096 rows. \
         Rows with more than two keys drop keys that return later{more}. The paper's sizes are restored, so others may \
         have pruned all duplicates",
        percent(lru.1),
        percent(fifo.0),
        grouped(keys.round() as u64),
    ));
    let all: Vec<Point> = both.into_iter().chain(single).collect();
    outcome.tables.push(table("DISTINCT userAgent of the visits", &all));
    outcome.charts.push(chart(EXPERIMENT.title, Axis::logarithmic("rows d"), &all, |it| it.value));
    outcome.remarks.push(OPTIMUM.to_owned());
    Ok(outcome)
}
