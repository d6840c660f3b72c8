//! Section 8.2: our own workers in Spark's place, beside the completion time of the paper's testbed.

use sluicegate_costmodel::Provenance;

use super::completion::provenance;
use super::worker_times::{Compared, PARTITIONS, Q3, SCALED, compared, partitions, runs};
use crate::chart::{Axis, Bar, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Setting, Table};

/// The queries of Figure 5, and two of Figure 6 over partitions of three sizes.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/workers",
    title: "Our own workers, measured, beside Cheetah, modelled",
    place: "Cheetah §8.2.1, §8.2.2",
    method: Method::Live { runs, evaluate },
};

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let (queries, partitions) = (compared(setting, results)?, partitions(setting, results)?);
    let mut outcome = Outcome::default();
    decide_queries(&mut outcome, &queries);
    decide_partitions(&mut outcome, &partitions);
    outcome
        .tables
        .push(table("One worker's part of the rows, and Cheetah with all workers", &queries));
    outcome.tables.push(table("The same rows over 20, 10 and 5 workers", &partitions));
    let bar = |it: &Compared| Bar {
        name: it.query.clone(),
        lengths: vec![it.first, it.later, it.cheetah[0]],
    };
    outcome.charts.push(Chart {
        title: "Our workers, measured, and Cheetah, modelled".to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: ["our workers, first run", "our workers, later", "Cheetah"]
                .map(str::to_owned)
                .to_vec(),
            bars: queries.iter().map(bar).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Measured,
    });
    let line = |query: &str, name: &str, of: fn(&Compared) -> f64| {
        let points = partitions.iter().filter(|it| it.query == query);
        Line::new(format!("{query}, {name}"), points.map(|it| (it.workers, of(it))))
    };
    let lines = SCALED.iter().flat_map(|query| {
        [
            line(query, "first run", |it| it.first),
            line(query, "later", |it| it.later),
            line(query, "Cheetah", |it| it.cheetah[0]),
        ]
    });
    outcome.charts.push(Chart {
        title: "Completion times by the number of workers".to_owned(),
        x: Axis::linear("workers"),
        y: Axis::logarithmic("seconds"),
        marks: Marks::Lines(lines.collect()),
        provenance: Provenance::Measured,
    });
    Ok(outcome)
}

fn decide_queries(outcome: &mut Outcome, queries: &[Compared]) {
    let those = |names: &'static [&'static str]| {
        queries.iter().filter(move |it| names.contains(&it.query.as_str()))
    };
    let faster = |names, of: fn(&Compared) -> (f64, f64)| -> (String, bool) {
        let factors: Vec<(String, f64)> = those(names)
            .map(|it| {
                let (ours, cheetah) = of(it);
                (it.query.clone(), ours / cheetah)
            })
            .collect();
        let found = factors.iter().map(|(query, factor)| format!("{query} {factor:.2}"));
        let holds = factors.len() == names.len() && factors.iter().all(|(_, factor)| *factor > 1.0);
        (found.collect::<Vec<_>>().join(", "), holds)
    };
    let first: fn(&Compared) -> (f64, f64) = |it| (it.first, it.cheetah[0]);
    let later: fn(&Compared) -> (f64, f64) = |it| (it.later, it.cheetah[1]);
    let offloaded = &["BigData B", "BigData A+B", Q3];
    let (found, holds) = faster(offloaded, first);
    outcome.decide("C20", format!("times as fast: {found}"), holds);
    outcome.note(format!(
        "our workers stand for Spark, and read text in the first run; beside later runs: {}",
        faster(offloaded, later).0
    ));
    let others = &["Distinct", "GroupBy", "Skyline", "TopN", "Join"];
    let (found, holds) = faster(others, later);
    outcome.decide("C21", format!("times as fast as later runs: {found}"), holds);
    outcome.note(format!(
        "our workers stand for Spark; later runs read columns in memory, and may pass more rows a second than a link \
         of 10 Gbit/s carries packets. Beside the first run: {}",
        faster(others, first).0
    ));
    let filter = those(&["BigData A"]).next();
    let of_first = filter.map_or(f64::NAN, |it| it.cheetah[0] / it.first);
    let of_later = filter.map_or(f64::NAN, |it| it.cheetah[1] / it.later);
    outcome.decide(
        "C22",
        format!("{of_first:.2} of the first run"),
        (0.75..=1.25).contains(&of_first),
    );
    outcome.note(format!(
        "our workers stand for Spark: reading text takes longer than sending packets; of a later run, which reads a \
         column in memory, it is {of_later:.1} times"
    ));
}

fn decide_partitions(outcome: &mut Outcome, partitions: &[Compared]) {
    let of = |query: &'static str| partitions.iter().filter(move |it| it.query == query);
    let grows = |part: fn(&Compared) -> f64| {
        SCALED.iter().all(|query| {
            let gaps: Vec<f64> = of(query).map(|it| part(it) - it.cheetah[0]).collect();
            gaps.len() == PARTITIONS.len() && gaps.windows(2).all(|pair| pair[1] > pair[0])
        })
    };
    let gaps = |part: fn(&Compared) -> f64| {
        let gaps = partitions.iter().map(|it| format!("{:.3}", part(it) - it.cheetah[0]));
        gaps.collect::<Vec<_>>().join(", ")
    };
    let first: fn(&Compared) -> f64 = |it| it.first;
    let later: fn(&Compared) -> f64 = |it| it.later;
    let holds = grows(later);
    outcome.decide("C24", format!("{} s", gaps(later)), holds);
    outcome.note(format!(
        "our workers less Cheetah, of DISTINCT and GROUP BY in turn, for partitions of a quarter, half and all rows; \
         later runs, as in the paper. Of first runs, which read text, the differences are {} s and {}",
        gaps(first),
        if grows(first) { "grow" } else { "do not grow" },
    ));
    let spread = |part: fn(&Compared) -> f64| {
        let each = SCALED.iter().map(|query| {
            let factors: Vec<f64> = of(query).map(|it| part(it) / it.cheetah[0]).collect();
            let most = factors.iter().copied().fold(0.0, f64::max);
            most / factors.iter().copied().fold(f64::INFINITY, f64::min)
        });
        each.fold(0.0, f64::max)
    };
    outcome.decide("C25", format!("{:.2}", spread(later)), spread(later) <= 1.5);
    outcome.note(format!(
        "the largest factor as a multiple of the smallest, with 20, 10 and 5 workers; of first runs it is {:.2}",
        spread(first)
    ));
}

fn table(title: &str, all: &[Compared]) -> Table {
    let row = |it: &Compared| {
        let mut row = vec![it.query.clone(), it.workers.to_string()];
        row.extend([it.first, it.later, it.cheetah[0]].map(|time| format!("{time:.4}")));
        row.extend(
            [it.first / it.cheetah[0], it.later / it.cheetah[1]].map(|it| format!("{it:.2}")),
        );
        row
    };
    Table {
        title: format!("{title}; Cheetah is {}", provenance()),
        columns: vec![
            "query",
            "workers",
            "first run",
            "later runs",
            "Cheetah",
            "first / Cheetah",
            "later / Cheetah",
        ],
        rows: all.iter().map(row).collect(),
        provenance: Provenance::Measured,
    }
}
