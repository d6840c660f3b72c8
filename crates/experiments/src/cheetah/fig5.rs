//! Figure 5: completion times of the queries.

use sluicegate_costmodel::completion::Figure;

use super::completion::{NO_TIMES, bars, cases, table};
use crate::experiment::Method;
use crate::{Experiment, Outcome};

/// The figure, without Spark: the text has no times of it.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig5",
    title: "Completion times of the queries",
    place: "Cheetah §8.2.1, Figure 5",
    method: Method::Computed(compute),
};

fn compute() -> Outcome {
    let cases = cases(Figure::Queries);
    let seconds = |name: &str| {
        let case = cases.iter().find(|case| case.query == name);
        case.map_or(f64::NAN, |case| case.completion.total().as_secs_f64())
    };
    let mut outcome = Outcome::default();
    let (both, apart) = (seconds("BigData A+B"), seconds("BigData A") + seconds("BigData B"));
    outcome.decide("C23", format!("{both:.3} s; the sum is {apart:.3} s"), both < apart);
    outcome.note(format!(
        "in the model, A+B only saves one of two installations of rules, {:.1} ms. The paper's reason is that workers \
         serialize both queries together, which takes no time beyond sending in the model",
        1000.0 * (apart - both)
    ));
    outcome.tables.push(table(Figure::Queries, &cases));
    outcome.remarks.push(NO_TIMES.to_owned());
    outcome.charts.push(bars(EXPERIMENT.title, &cases, |case| case.query.clone()));
    outcome
}
