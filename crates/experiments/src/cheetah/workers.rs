//! Section 8.2: our own workers in Spark's place, beside the completion time of the paper's testbed.
//!
//! The data set is the part of one of five workers. Its time is measured on this machine. The first run reads text
//! from a store, the later ones columns in memory; what the coordinator would add is left out. The times of Cheetah
//! are modelled for five times as many entries.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Completion, Number, Query, Setup, Testbed};

use super::bigdata::{bigdata, partition, scale};
use super::completion::provenance;
use super::q3;
use crate::chart::{Axis, Bar, Line, Marks};
use crate::experiment::Method;
use crate::{
    Chart, Data, Experiment, Outcome, Results, ResultsError, Run, Setting, Table, UNLIMITED,
};

/// The queries of Figure 5, and two of Figure 6 over partitions of three sizes.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/workers",
    title: "Our own workers, measured, beside Cheetah, modelled",
    place: "Cheetah §8.2.1, §8.2.2",
    method: Method::Live { runs, evaluate },
};

/// The queries by their names in the model, over visits `v` and pages `r`.
const QUERIES: [(&str, &str); 7] = [
    ("BigData A", "SELECT COUNT(*) FROM {r} WHERE avgduration < 10"),
    (
        "BigData B",
        "SELECT COUNT(*), MAX(total) FROM (SELECT SUBSTR(sourceip, 1, 8) AS prefix, SUM(adrevenue) AS total \
         FROM {v} GROUP BY prefix)",
    ),
    ("Distinct", "SELECT COUNT(*) FROM (SELECT DISTINCT useragent FROM {v})"),
    (
        "GroupBy",
        "SELECT COUNT(*), MAX(most) FROM (SELECT useragent, MAX(adrevenue) AS most FROM {v} GROUP BY useragent)",
    ),
    (
        "Skyline",
        "SELECT COUNT(*) FROM (SELECT avgduration, MAX(avgduration) OVER (ORDER BY pagerank DESC, avgduration DESC \
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best FROM {r}) WHERE best IS NULL OR avgduration > best",
    ),
    (
        "TopN",
        "SELECT MIN(adrevenue) FROM (SELECT adrevenue FROM {v} ORDER BY adrevenue DESC LIMIT 250)",
    ),
    ("Join", "SELECT COUNT(*), SUM(pagerank) FROM {v} JOIN {r} ON desturl = pageurl"),
];
/// The queries of Figure 6.
const SCALED: [&str; 2] = ["Distinct", "GroupBy"];
/// The partitions of Figure 6, as shares of the first: of 20, 10 and 5 workers.
const PARTITIONS: [(&str, f64, f64); 3] =
    [("bigdata-quarter", 0.25, 20.0), ("bigdata-half", 0.5, 10.0), ("bigdata", 1.0, 5.0)];
const FIRST: [&str; 2] = ["uservisits", "rankings"];
const LATER: [&str; 2] = ["v", "r"];
const LOADED: [&str; 2] = [
    "CREATE TABLE v AS SELECT sourceip, desturl, adrevenue, useragent FROM uservisits",
    "CREATE TABLE r AS SELECT pageurl, pagerank, avgduration FROM rankings",
];
const Q3: &str = "TPC-H Q3";
const ALL: &str = "bigdata";
/// The workers of the paper.
const WORKERS: f64 = 5.0;

/// Returns the texts of queries over these tables.
fn texts(names: &[&str], [visits, pages]: [&str; 2]) -> Vec<String> {
    let of = |(_, text): &(&str, &str)| text.replace("{v}", visits).replace("{r}", pages);
    QUERIES.iter().filter(|(name, _)| names.contains(name)).map(of).collect()
}

/// Returns a run whose queries read text, then the loaded tables, each in rounds.
fn run(
    name: &str,
    data: &Data,
    loaded: &[&str],
    first: &[String],
    later: &[String],
    rounds: usize,
) -> Run {
    let mut statements = Vec::new();
    (0..rounds).for_each(|_| statements.extend_from_slice(first));
    statements.extend(loaded.iter().map(|&it| it.to_owned()));
    (0..rounds).for_each(|_| statements.extend_from_slice(later));
    Run::sql(name, data, UNLIMITED, &[("scan", "get")], &statements, 1)
}

fn runs(setting: &Setting) -> Vec<Run> {
    let rounds = setting.rounds();
    let names = QUERIES.map(|(name, _)| name);
    let mut runs: Vec<Run> = PARTITIONS[..2]
        .iter()
        .map(|(name, share, _)| {
            let data = partition(name, *share, setting);
            let [first, later] = [FIRST, LATER].map(|tables| texts(&SCALED, tables));
            run(name, &data, &LOADED[..1], &first, &later, rounds)
        })
        .collect();
    let [first, later] = [FIRST, LATER].map(|tables| texts(&names, tables));
    runs.push(run(ALL, &bigdata(setting), &LOADED, &first, &later, setting.either(rounds, 2)));
    let [first, later] = ["customer, orders, lineitem", "c, o, l"].map(|it| vec![q3::query(it)]);
    runs.push(run(Q3, &q3::tpch(setting), &q3::LOADED, &first, &later, rounds));
    runs
}

/// The time of our workers, and of Cheetah.
#[derive(Debug, Clone)]
struct Compared {
    query: String,
    workers: f64,
    first: f64,
    later: f64,
    /// Cheetah beside the first run, and beside later ones, which differ if a part is not offloaded.
    cheetah: [f64; 2],
}

/// Returns the least seconds of the queries of a run: those over text, then those over loaded tables.
fn seconds(results: &Results, run: &str) -> Result<[Vec<f64>; 2], ResultsError> {
    let all = results.queries(run)?;
    let mut all: Vec<f64> = all
        .iter()
        .filter(|it| it.last.statement.starts_with("SELECT"))
        .map(|it| it.all_seconds.iter().copied().fold(f64::INFINITY, f64::min))
        .collect();
    let later = all.split_off(all.len() / 2);
    Ok([all, later])
}

/// Returns the modelled time of a query over this share of the paper's entries.
fn modelled(query: &str, share: f64, workers: f64) -> f64 {
    let testbed = Testbed::cheetah();
    let setup = Setup { workers, ..testbed.setup() };
    let of =
        |query| shrunk(query, share).map_or(f64::NAN, |it| total(&testbed.pruned(&it, &setup)));
    match query {
        "BigData A+B" => {
            let both = ["BigData A", "BigData B"].map(|it| shrunk(it, share));
            let [Some(a), Some(b)] = both else { return f64::NAN };
            total(&testbed.together([&a, &b], &setup))
        }
        query => of(query),
    }
}

fn total(completion: &Completion) -> f64 {
    completion.total().as_secs_f64()
}

fn shrunk(name: &str, share: f64) -> Option<Query> {
    let query = Testbed::cheetah().query(name)?;
    let entries = Number { value: share * query.entries.value, ..query.entries.clone() };
    Some(Query { entries, ..query.clone() })
}

fn compared(setting: &Setting, results: &Results) -> Result<Vec<Compared>, ResultsError> {
    let share = WORKERS * scale(setting);
    let of = |query: &str, first: f64, later: f64| Compared {
        query: query.to_owned(),
        workers: WORKERS,
        first,
        later,
        cheetah: [modelled(query, share, WORKERS); 2],
    };
    let [first, later] = seconds(results, ALL)?;
    let mut all: Vec<Compared> = QUERIES
        .iter()
        .zip(first.iter().zip(&later))
        .map(|((name, _), (first, later))| of(name, *first, *later))
        .collect();
    if let [a, b, ..] = all.as_slice() {
        let both = of("BigData A+B", a.first + b.first, a.later + b.later);
        all.insert(2, both);
    }
    let [first, later] = seconds(results, Q3)?;
    let (first, later) =
        (first.first().copied().unwrap_or(f64::NAN), later.first().copied().unwrap_or(f64::NAN));
    // Only the join is offloaded.
    let rest = 1.0 - Testbed::cheetah().join_part.value;
    let join = modelled(Q3, setting.scale, 1.0);
    all.push(Compared {
        query: Q3.to_owned(),
        workers: 1.0,
        first,
        later,
        cheetah: [join + rest * first, join + rest * later],
    });
    Ok(all)
}

/// Returns the queries of Figure 6 over the partitions, from the smallest.
fn partitions(setting: &Setting, results: &Results) -> Result<Vec<Compared>, ResultsError> {
    let mut all = Vec::new();
    let total = WORKERS * scale(setting);
    for (name, _, workers) in PARTITIONS {
        let names: Vec<&str> = match name {
            ALL => QUERIES.map(|(name, _)| name).to_vec(),
            _ => SCALED.to_vec(),
        };
        let [first, later] = seconds(results, name)?;
        for (query, (first, later)) in names.iter().zip(first.iter().zip(&later)) {
            if SCALED.contains(query) {
                all.push(Compared {
                    query: (*query).to_owned(),
                    workers,
                    first: *first,
                    later: *later,
                    cheetah: [modelled(query, total, workers); 2],
                });
            }
        }
    }
    Ok(all)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheetah_is_modelled_for_all_workers() {
        let whole = modelled("Distinct", 1.0, WORKERS);
        assert!((whole - 0.635).abs() < 0.001, "{whole}");
        assert!(modelled("Distinct", 0.5, WORKERS) < 0.51 * whole);
        let [a, b, both] =
            ["BigData A", "BigData B", "BigData A+B"].map(|it| modelled(it, 1.0, WORKERS));
        assert!(both < a + b && both > a.max(b));
    }

    #[test]
    fn every_run_has_text_and_memory() {
        for run in runs(&Setting::QUICK) {
            let selects: Vec<&String> =
                run.arguments.iter().filter(|it| it.starts_with("SELECT")).collect();
            assert!(selects.len().is_multiple_of(2) && !selects.is_empty(), "{}", run.name);
            assert!(selects.iter().all(|it| !it.contains('{')));
        }
    }
}
