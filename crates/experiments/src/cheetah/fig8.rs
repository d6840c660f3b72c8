//! Figure 8: links of 10 and 20 Gbit/s.

use sluicegate_costmodel::completion::{Case, Figure};

use super::completion::{bars, cases, table};
use crate::experiment::Method;
use crate::{Experiment, Outcome};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig8",
    title: "Completion times behind links of 10 and 20 Gbit/s, by their parts",
    place: "Cheetah §8.2.3, Figure 8",
    method: Method::Computed(compute),
};

fn compute() -> Outcome {
    let cases = cases(Figure::Links);
    let seconds = |gbit: f64| {
        let case = cases.iter().find(|case| case.query == "GroupBy" && case.value == gbit);
        case.map_or(f64::NAN, |case| case.completion.total().as_secs_f64())
    };
    let faster = seconds(10.0) / seconds(20.0);
    let mut outcome = Outcome::default();
    outcome.decide("C26", format!("{faster:.2}"), (1.7..=2.1).contains(&faster));
    outcome.tables.push(table(Figure::Links, &cases));
    let name = |case: &Case| format!("{}, {} Gbit/s", case.query, case.value);
    outcome.charts.push(bars(EXPERIMENT.title, &cases, name));
    outcome
}
