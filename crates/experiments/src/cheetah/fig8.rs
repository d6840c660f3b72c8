//! Figure 8: links of 10 and 20 Gbit/s.

use sluicegate_costmodel::completion::{Case, Figure};

use super::completion::{NO_TIMES, bars, cases, table};
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
    let mut outcome = Outcome::default();
    decide(&mut outcome, &cases);
    outcome.tables.push(table(Figure::Links, &cases));
    outcome.remarks.push(NO_TIMES.to_owned());
    let name = |case: &Case| format!("{}, {} Gbit/s", case.query, case.value);
    outcome.charts.push(bars(EXPERIMENT.title, &cases, name));
    outcome
}

/// The parts of a completion time: of the workers, of the network and of the master.
fn shares(case: &Case) -> [f64; 3] {
    let it = &case.completion;
    let total = it.total().as_secs_f64();
    [it.workers, it.network, it.master].map(|part| part.as_secs_f64() / total)
}

fn decide(outcome: &mut Outcome, cases: &[Case]) {
    let at = |gbit: f64| cases.iter().filter(move |case| case.value == gbit);
    // Both links of each query.
    let pairs: Vec<(&Case, &Case)> = at(10.0)
        .filter_map(|slow| Some((slow, at(20.0).find(|fast| fast.query == slow.query)?)))
        .collect();
    let seconds = |case: &Case| case.completion.total().as_secs_f64();
    // Nearly twice: no more than that, and no less than nine tenths of it.
    let halved =
        pairs.iter().all(|(slow, fast)| (1.8..=2.005).contains(&(seconds(slow) / seconds(fast))));
    let ordered = cases
        .iter()
        .map(shares)
        .all(|[workers, network, master]| workers < network && workers < master);
    let factor = |(slow, fast): &(&Case, &Case)| format!("{:.2}", seconds(slow) / seconds(fast));
    let found: Vec<String> = pairs.iter().map(factor).collect();
    let least = cases.iter().map(|case| shares(case)[1]).fold(f64::INFINITY, f64::min);
    let found = format!(
        "{} times as fast; the network takes at least {:.1} % of the time{}",
        found.join(" and "),
        100.0 * least,
        if ordered { "" } else { ", and the master less than the workers" },
    );
    outcome.decide("C26", found, !pairs.is_empty() && halved && ordered);
    outcome.note(
        "the factor agrees, because the rate at which a worker makes packets is derived from it. The parts do not, since in \
         the model the workers and the master work while packets are sent. The times of Spark's parts, with which the paper \
         compares, are not in the text",
    );
}
