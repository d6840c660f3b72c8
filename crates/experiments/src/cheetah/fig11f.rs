//! Figure 11f: HAVING by the first entries.

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::bigdata::Table as Source;

use super::bigdata::rows;
use super::having::{self, Forwarded, PARTS, Sums};
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Setting, Table};

/// The figure, with a DISTINCT behind HAVING.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig11f",
    title: "The keys that HAVING forwards of the first entries",
    place: "Cheetah §8.3, Figure 11f",
    method: Method::Live { runs: having::runs, evaluate },
};

/// The counters in a row; the paper calls 512 nearly perfect.
const COUNTERS: [u32; 4] = [16, 64, 128, 512];

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let sums = Sums::read(setting, results)?;
    let of = |counters| -> Vec<Forwarded> {
        (1..=PARTS).map(|parts| sums.forwarded(counters, parts)).collect()
    };
    let lines: Vec<(u32, Vec<Forwarded>)> = COUNTERS.map(|it| (it, of(it))).to_vec();
    let wide = lines.last().map_or(&[][..], |(_, points)| points.as_slice());
    let means: Vec<f64> = wide.iter().map(|point| point.mean).collect();
    let (first, last) = (means.first().copied(), means.last().copied());
    let rises = means.is_sorted() && first < last;
    let mut outcome = Outcome::default();
    let of_all =
        |keys: Option<f64>| format!("{:.1} of {} keys", keys.unwrap_or(f64::NAN), sums.keys());
    outcome.decide("C41", format!("{} to {}", of_all(first), of_all(last)), rises);
    let exact = wide.iter().filter(|point| point.is_exact).count();
    outcome.note(format!(
        "the number of counters, 512, is restored; with it the keys are those of the answer in {exact} of {PARTS} \
         prefixes. As a share of the entries, keys that are forwarded once are fewer and fewer"
    ));
    outcome.decide("C42", of_all(first), first == Some(0.0));
    let entries =
        |part: usize| (part + 1) as f64 * rows(Source::Uservisits, setting) as f64 / PARTS as f64;
    let row = |counters: u32, part: usize, point: &Forwarded| {
        vec![
            counters.to_string(),
            format!("{:.0}", entries(part)),
            format!("{:.1}", point.mean),
            format!("± {:.1}", point.error),
            point.needed.to_string(),
        ]
    };
    outcome.tables.push(Table {
        title: "Languages whose revenue is above the threshold".to_owned(),
        columns: vec!["counters", "first entries", "keys forwarded", "95 %", "keys of the answer"],
        rows: lines
            .iter()
            .flat_map(|(counters, points)| {
                points.iter().enumerate().map(|(part, point)| row(*counters, part, point))
            })
            .collect(),
        provenance: Provenance::Counted,
    });
    let line = |(counters, points): &(u32, Vec<Forwarded>)| Line {
        points: points
            .iter()
            .enumerate()
            .map(|(part, it)| [entries(part), it.mean, it.mean - it.error, it.mean + it.error])
            .collect(),
        ..Line::new(format!("{counters} counters"), [])
    };
    let optimum = wide.iter().enumerate().map(|(part, it)| (entries(part), it.needed as f64));
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: Axis::linear("first entries"),
        y: Axis::linear("keys forwarded"),
        marks: Marks::Lines(lines.iter().map(line).chain([Line::new("OPT", optimum)]).collect()),
        provenance: Provenance::Counted,
    });
    Ok(outcome)
}
