//! Figure 11f: HAVING by the first entries.

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::bigdata::Table;

use super::bigdata::rows;
use super::fig11::prefixes;
use super::having::{RUN, keys, needed, run};
use super::sweep::{Point, points, table};
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure, with a DISTINCT behind HAVING.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig11f",
    title: "The keys that HAVING forwards of the first entries",
    place: "Cheetah §8.3, Figure 11f",
    method: Method::Live { runs, evaluate },
};

/// The counters in a row. The paper calls 512 nearly perfect.
const FEW: u32 = 8;
const MANY: u32 = 512;

fn runs(setting: &Setting) -> Vec<Run> {
    let entries = rows(Table::Uservisits, setting);
    vec![run(vec![prefixes(entries), format!("w={FEW}..{MANY}/2")], setting)]
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let all = points(results, &[RUN])?;
    let of = |counters: u32| {
        let line = format!("w={counters}");
        all.iter().filter(move |point| point.line() == Some(line.as_str()))
    };
    let means: Vec<f64> = of(MANY).map(keys).collect();
    let exact = of(MANY).filter(|point| keys(point) == needed(point)).count();
    let (first, last) = (means.first().copied(), means.last().copied());
    let mut outcome = Outcome::default();
    let listed = |keys: Option<f64>| format!("{} keys", keys.unwrap_or(f64::NAN));
    let rises = means.is_sorted() && first < last;
    outcome.decide("C41", format!("{} to {}", listed(first), listed(last)), rises);
    outcome.note(format!(
        "the number of counters, 512, is restored; with it the keys are those of the answer in {exact} of {} \
         prefixes. The share is of the keys: as each is forwarded once, they are fewer and fewer of the entries",
        means.len()
    ));
    outcome.decide("C42", listed(first), first == Some(0.0));
    outcome.tables.push(table("Languages whose revenue is above the threshold", &all));
    let line = |counters: u32| {
        let ends = |point: &Point| {
            let entries = point.entries as f64;
            let end = |share: Option<f64>| share.unwrap_or(point.forwarded) * entries;
            [entries, keys(point), end(point.low), end(point.high)]
        };
        let name = format!("{counters} counters");
        Line { points: of(counters).map(ends).collect(), ..Line::new(name, []) }
    };
    let optimum = of(MANY).map(|point| (point.entries as f64, needed(point)));
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: Axis::logarithmic("first entries"),
        y: Axis::linear("keys forwarded"),
        marks: Marks::Lines(vec![line(FEW), line(MANY), Line::new("OPT", optimum)]),
        provenance: Provenance::Counted,
    });
    Ok(outcome)
}
