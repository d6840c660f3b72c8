//! Figure 10f: HAVING by the counters of its sketch.

use sluicegate_costmodel::Provenance;

use super::having::{self, PARTS, Sums};
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Setting, Table};

/// The figure, with a DISTINCT behind HAVING.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10f",
    title: "The keys that HAVING forwards, by the counters in a row of its sketch",
    place: "Cheetah §8.3, Figure 10f",
    method: Method::Live { runs: having::runs, evaluate },
};

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let sums = Sums::read(setting, results)?;
    let points: Vec<_> = (2..=11)
        .map(|power| 1_u32 << power)
        .map(|counters| (counters, sums.forwarded(counters, PARTS)))
        .collect();
    let mut outcome = Outcome::default();
    let large = points.iter().find(|(counters, _)| *counters == 1024).map(|it| it.1);
    let found = large.map_or_else(String::new, |it| {
        format!("{} keys, of which {} are in the answer", it.mean, it.needed)
    });
    outcome.decide("C35", found, large.is_some_and(|it| it.is_exact && it.needed > 0));
    outcome.note(format!(
        "the paper's numbers are restored; {} languages, sums in cents, a DISTINCT behind the sketch",
        sums.keys()
    ));
    outcome.tables.push(Table {
        title: "Languages whose revenue is above the threshold, by the counters of three rows"
            .to_owned(),
        columns: vec![
            "counters",
            "keys forwarded",
            "95 %",
            "keys of the answer",
            "all seeds exact",
        ],
        rows: points
            .iter()
            .map(|(counters, it)| {
                vec![
                    counters.to_string(),
                    format!("{:.1}", it.mean),
                    format!("± {:.1}", it.error),
                    it.needed.to_string(),
                    if it.is_exact { "yes" } else { "no" }.to_owned(),
                ]
            })
            .collect(),
        provenance: Provenance::Counted,
    });
    let line = points.iter().map(|(counters, it)| {
        [f64::from(*counters), it.mean, it.mean - it.error, it.mean + it.error]
    });
    let needed = points.iter().map(|(counters, it)| (f64::from(*counters), it.needed as f64));
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: Axis::logarithmic("counters in each of three rows"),
        y: Axis::linear("keys forwarded"),
        marks: Marks::Lines(vec![
            Line { points: line.collect(), ..Line::new("having", []) },
            Line::new("OPT", needed),
        ]),
        provenance: Provenance::Counted,
    });
    Ok(outcome)
}
