//! Figure 10d: GROUP BY by its tables.

use super::bigdata::{VISITS, bigdata};
use super::sweep::{OPTIMUM, Sweep, chart, grouped, points, pruned, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::tolerance::is_within;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10d",
    title: "What GROUP BY forwards, by its columns",
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
    let mut outcome = Outcome::default();
    match (at(3.0), at(9.0)) {
        (Some(three), Some(nine)) => {
            let found = format!(
                "{} with 3, {:.3} times the optimum with 9",
                pruned(three.forwarded),
                nine.over_optimum()
            );
            let is_99 = is_within(1.0 - three.forwarded, 0.99, 0.005);
            let holds = is_99 && nine.over_optimum() <= 1.001;
            outcome.decide("C33", found, holds);
            outcome.note(format!(
                "a longer stream is pruned more: of these {} entries no switch prunes more than {}. With 3 columns, {} \
                 of the superfluous entries are pruned. The paper's numbers of columns are restored",
                grouped(three.entries),
                pruned(three.optimum),
                pruned(1.0 - three.pruned_duplicates()),
            ));
        }
        _ => {
            outcome.decide("C33", "no points", false);
            outcome.note("the sweep has no points with 3 and 9 tables");
        }
    }
    outcome.tables.push(table("MAX(adRevenue) of the visits by userAgent", &all));
    outcome.charts.push(chart(EXPERIMENT.title, Axis::linear("columns w"), &all, |it| it.value));
    outcome.remarks.push(OPTIMUM.to_owned());
    Ok(outcome)
}
