//! Figure 10f: HAVING by the counters of its sketch.

use super::having::{RUN, keys, needed, run};
use super::sweep::{OPTIMUM, chart, points, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Setting};

/// The figure, with a DISTINCT behind HAVING.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10f",
    title: "What HAVING forwards, by the counters in a row of its sketch",
    place: "Cheetah §8.3, Figure 10f",
    method: Method::Live {
        runs: |setting| vec![run(vec!["w=4..2048".to_owned()], setting)],
        evaluate,
    },
};

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let all = points(results, &[RUN])?;
    let large = all.iter().find(|point| point.value == 1024.0);
    let (forwarded, answer) = large.map_or((f64::NAN, f64::NAN), |it| (keys(it), needed(it)));
    let mut outcome = Outcome::default();
    let found = format!("{forwarded} keys, {answer} of them in the answer");
    // The answer is over the keys that are forwarded, so no key of it is missing if it is right.
    let holds = large.is_some_and(|it| it.wrong == 0) && forwarded == answer && answer > 0.0;
    outcome.decide("C35", found, holds);
    outcome.note(
        "the paper's numbers of counters are restored. The visits have 40 languages, sums are in cents, and a DISTINCT \
         behind the sketch forwards each key once",
    );
    outcome.tables.push(table("Languages whose revenue is above the threshold", &all));
    let x = Axis::logarithmic("counters in each of three rows");
    outcome.charts.push(chart(EXPERIMENT.title, x, &all, |point| point.value));
    outcome.remarks.push(OPTIMUM.to_owned());
    Ok(outcome)
}
