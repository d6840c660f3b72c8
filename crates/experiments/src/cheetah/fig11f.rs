//! Figure 11f: HAVING by the first entries.

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::bigdata::Table;

use super::bigdata::rows;
use super::fig11::{first_entries, prefixes, thousands};
use super::having::{RUN, keys, needed, run};
use super::sweep::{Point, percent, points, table};
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
/// The keys of a prefix that a nearly perfect sketch forwards too many, in the mean of the runs.
const SPARE_KEYS: f64 = 1.0;

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
    let shares = |counters| of(counters).map(|point| point.forwarded).collect::<Vec<f64>>();
    let rises = |shares: &[f64]| shares.is_sorted() && shares.first() < shares.last();
    // The keys of a prefix that are forwarded but not in the answer.
    let most = of(MANY).map(|point| keys(point) - needed(point)).fold(0.0, f64::max);
    let mut outcome = Outcome::default();
    let ends = |counters| {
        let shares = shares(counters);
        let [first, last] =
            [shares.first(), shares.last()].map(|it| it.copied().map_or("none".into(), percent));
        format!("{first} to {last} with {counters} counters")
    };
    let found = format!("forwards {}, and {}, at most {most} keys too many", ends(FEW), ends(MANY));
    let holds = rises(&shares(FEW)) && rises(&shares(MANY)) && most <= SPARE_KEYS;
    outcome.decide("C41", found, holds);
    let listed = |counters| {
        let all: Vec<String> = shares(counters).iter().map(|share| percent(*share)).collect();
        all.join(", ")
    };
    outcome.note(format!(
        "the number of counters, 512, is restored. A share of 0 means that no language is above the threshold, and each \
         key is forwarded once. From prefix to prefix, {FEW} counters forward {}, and {MANY} counters {}",
        listed(FEW),
        listed(MANY)
    ));
    let first = of(MANY).map(keys).next();
    let found = first.map_or_else(|| "no prefix".to_owned(), |keys| format!("{keys} keys"));
    outcome.decide("C42", found, first == Some(0.0));
    outcome.tables.push(table("Languages whose revenue is above the threshold", &all));
    let line = |counters: u32| {
        let ends = |point: &Point| {
            let entries = point.entries as f64;
            let end = |share: Option<f64>| share.unwrap_or(point.forwarded) * entries;
            [thousands(point), keys(point), end(point.low), end(point.high)]
        };
        let name = format!("{counters} counters");
        Line { points: of(counters).map(ends).collect(), ..Line::new(name, []) }
    };
    let optimum = of(MANY).map(|point| (thousands(point), needed(point)));
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: first_entries(),
        y: Axis::linear("keys forwarded"),
        marks: Marks::Lines(vec![line(FEW), line(MANY), Line::new("optimum", optimum)]),
        provenance: Provenance::Counted,
    });
    Ok(outcome)
}
