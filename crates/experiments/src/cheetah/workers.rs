//! Section 8.2: our own workers in Spark's place, beside the completion time of the paper's testbed.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::Testbed;

use super::completion::{merged, provenance};
use super::worker_times::{Compared, PARTITIONS, Q3, SCALED, compared, partitions, runs};
use crate::chart::{Axis, Bar, Line, Marks};
use crate::experiment::Method;
use crate::tolerance::{QUARTER, is_same};
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
    let part = "one worker's part of the rows";
    let fewer = "the same rows over 20, 10 and 5 workers";
    outcome.tables.push(ours(&format!("Seconds of our workers, {part}"), &queries));
    outcome.tables.push(cheetah(
        "Seconds of Cheetah with all workers; those of query 3 include the part of our worker that is not offloaded",
        &queries,
    ));
    outcome.tables.push(ours(&format!("Seconds of our workers, {fewer}"), &partitions));
    outcome.tables.push(cheetah(&format!("Seconds of Cheetah, {fewer}"), &partitions));
    let mixed = || {
        Provenance::Modelled(
            format!("{}; our workers are measured", Testbed::cheetah().name).into(),
        )
    };
    let bar = |it: &Compared| Bar {
        name: it.query.clone(),
        lengths: vec![it.first, it.later, it.cheetah[0]],
    };
    outcome.charts.push(Chart {
        title: "Our workers and Cheetah".to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: ["our workers, first run", "our workers, later", "Cheetah"]
                .map(str::to_owned)
                .to_vec(),
            bars: queries.iter().map(bar).collect(),
            is_stacked: false,
        },
        provenance: mixed(),
    });
    let line = |query: &str, name: &str, of: fn(&Compared) -> f64| {
        let points = partitions.iter().filter(|it| it.query == query);
        Line::new(format!("{name}, {query}"), points.map(|it| (it.workers, of(it))))
    };
    let lines = SCALED.iter().flat_map(|query| {
        [
            line(query, "first run", |it| it.first),
            line(query, "later runs", |it| it.later),
            line(query, "Cheetah", |it| it.cheetah[0]),
        ]
    });
    outcome.charts.push(Chart {
        title: "Times of our workers and of Cheetah by the number of workers".to_owned(),
        x: Axis::linear("workers"),
        y: Axis::logarithmic("seconds"),
        marks: Marks::Lines(merged(lines.collect())),
        provenance: mixed(),
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
    let rest = 100.0 * (1.0 - Testbed::cheetah().join_part.value);
    outcome.note(format!(
        "our workers stand for Spark, and parse text in the first run. Only the joins of query 3 are offloaded. Its time \
         with Cheetah includes {rest:.0} % of our own worker's time, so it is at most {:.1} times as fast. Later runs \
         read columns in memory; compared with them, Cheetah is these times as fast: {}",
        100.0 / rest,
        faster(offloaded, later).0
    ));
    let others = &["Distinct", "GroupBy", "Skyline", "TopN", "Join"];
    let (found, holds) = faster(others, later);
    outcome.decide("C21", format!("times as fast as later runs: {found}"), holds);
    outcome.note(format!(
        "our workers stand for Spark. Their later runs read columns in memory, and can process more rows a second than a \
         link of 10 Gbit/s carries packets. Compared with first runs, which parse text, Cheetah is these times as \
         fast: {}",
        faster(others, first).0
    ));
    let filter = those(&["BigData A"]).next();
    let of_first = filter.map_or(f64::NAN, |it| it.cheetah[0] / it.first);
    let of_later = filter.map_or(f64::NAN, |it| it.cheetah[1] / it.later);
    outcome.decide(
        "C22",
        format!("{of_first:.2} times the first run, {of_later:.1} times later runs"),
        is_same(of_first) && of_later > 1.0,
    );
    if let Some(it) = filter {
        outcome.note(format!(
            "our workers stand for Spark. Cheetah sends its packets in {:.3} s. The first run of our workers, which \
             parses text, takes {:.3} s, and later runs, which read a column in memory, take {:.4} s",
            it.cheetah[0], it.first, it.later
        ));
    }
}

fn decide_partitions(outcome: &mut Outcome, partitions: &[Compared]) {
    let of = |query: &'static str| partitions.iter().filter(move |it| it.query == query);
    let grows = |part: fn(&Compared) -> f64| {
        SCALED.iter().all(|query| {
            let gaps: Vec<f64> = of(query).map(|it| part(it) - it.cheetah[0]).collect();
            gaps.len() == PARTITIONS.len()
                && gaps.iter().all(|gap| *gap > 0.0)
                && gaps.windows(2).all(|pair| pair[1] > pair[0])
        })
    };
    let gaps = |part: fn(&Compared) -> f64| {
        let of_query = |query: &&'static str| {
            let gaps = of(query).map(|it| format!("{:.3}", part(it) - it.cheetah[0]));
            format!("{query} {} s", gaps.collect::<Vec<_>>().join(", "))
        };
        SCALED.iter().map(of_query).collect::<Vec<_>>().join("; ")
    };
    let first: fn(&Compared) -> f64 = |it| it.first;
    let later: fn(&Compared) -> f64 = |it| it.later;
    let holds = grows(later);
    outcome.decide("C24", gaps(later), holds);
    outcome.note(format!(
        "the numbers are Cheetah's leads with a quarter, half and all of the rows in a partition, over later runs of our \
         workers, as in the paper. Below 0, our workers are faster: they read columns in memory, and can process more \
         rows a second than a link of 10 Gbit/s carries packets. Over first runs, which parse text, the leads {}: {}",
        if grows(first) { "grow" } else { "do not always grow" },
        gaps(first),
    ));
    // The least factor, and the largest as a multiple of the smallest, of the worse query.
    let factors = |part: fn(&Compared) -> f64| {
        let each = SCALED.iter().map(|query| {
            let factors = || of(query).map(|it| part(it) / it.cheetah[0]);
            let least = factors().fold(f64::INFINITY, f64::min);
            (least, factors().fold(0.0, f64::max) / least)
        });
        each.fold((f64::INFINITY, 0.0_f64), |(least, spread), it| {
            (least.min(it.0), spread.max(it.1))
        })
    };
    let worded = |(least, spread): (f64, f64)| {
        format!("at least {least:.2} times as fast; factors differ by up to {spread:.2} times")
    };
    let (least, spread) = factors(later);
    let holds = partitions.len() == SCALED.len() * PARTITIONS.len()
        && least > 1.0
        && spread <= 1.0 + QUARTER;
    outcome.decide("C25", worded((least, spread)), holds);
    outcome.note(format!(
        "the factors are of later runs of DISTINCT and GROUP BY with 20, 10 and 5 workers, as in the paper. Our workers \
         read columns in memory. Compared with first runs, which parse text, Cheetah is {}",
        worded(factors(first))
    ));
}

/// The times of our workers.
fn ours(title: &str, all: &[Compared]) -> Table {
    let row = |it: &Compared| {
        let times = [it.first, it.later].map(|time| format!("{time:.4}"));
        [vec![it.query.clone(), it.workers.to_string()], times.to_vec()].concat()
    };
    Table {
        title: title.to_owned(),
        columns: vec!["query", "workers", "first run", "later runs"],
        rows: all.iter().map(row).collect(),
        provenance: Provenance::Measured,
    }
}

/// The times of Cheetah, and those of our workers as multiples of them.
fn cheetah(title: &str, all: &[Compared]) -> Table {
    let row = |it: &Compared| {
        let times = it.cheetah.map(|time| format!("{time:.4}"));
        let factors =
            [it.first / it.cheetah[0], it.later / it.cheetah[1]].map(|it| format!("{it:.2}"));
        [vec![it.query.clone(), it.workers.to_string()], times.to_vec(), factors.to_vec()].concat()
    };
    Table {
        title: title.to_owned(),
        columns: vec![
            "query",
            "workers",
            "beside the first run",
            "beside later runs",
            "first / Cheetah",
            "later / Cheetah",
        ],
        rows: all.iter().map(row).collect(),
        provenance: provenance(),
    }
}
