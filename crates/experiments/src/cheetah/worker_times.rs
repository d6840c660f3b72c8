//! The times of our own workers, measured, and of Cheetah, modelled for as many entries: for [`workers`](super::workers).
//!
//! The data set is the part of one of five workers. Its time is measured on this machine. The first run reads text
//! from a store, the later ones columns in memory; what the coordinator would add is left out. The times of Cheetah
//! are modelled for five times as many entries.

use sluicegate_costmodel::completion::{Completion, Number, Query, Setup, Testbed};

use super::bigdata::{bigdata, partition, scale};
use super::q3;
use crate::{Data, Results, ResultsError, Run, Setting, UNLIMITED};

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
pub(super) const SCALED: [&str; 2] = ["Distinct", "GroupBy"];
/// The partitions of Figure 6, as shares of the first: of 20, 10 and 5 workers.
pub(super) const PARTITIONS: [(&str, f64, f64); 3] =
    [("bigdata-quarter", 0.25, 20.0), ("bigdata-half", 0.5, 10.0), ("bigdata", 1.0, 5.0)];
const FIRST: [&str; 2] = ["uservisits", "rankings"];
const LATER: [&str; 2] = ["v", "r"];
const LOADED: [&str; 2] = [
    "CREATE TABLE v AS SELECT sourceip, desturl, adrevenue, useragent FROM uservisits",
    "CREATE TABLE r AS SELECT pageurl, pagerank, avgduration FROM rankings",
];
pub(super) const Q3: &str = "TPC-H Q3";
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

pub(super) fn runs(setting: &Setting) -> Vec<Run> {
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
pub(super) struct Compared {
    pub(super) query: String,
    pub(super) workers: f64,
    pub(super) first: f64,
    pub(super) later: f64,
    /// Cheetah beside the first run, and beside later ones, which differ if a part is not offloaded.
    pub(super) cheetah: [f64; 2],
}

/// Returns the median seconds of the queries of a run: those over text, then those over loaded tables.
fn seconds(results: &Results, run: &str) -> Result<[Vec<f64>; 2], ResultsError> {
    let all = results.queries(run)?;
    let mut all: Vec<f64> = all
        .iter()
        .filter(|it| it.last.statement.starts_with("SELECT"))
        .map(|it| it.seconds)
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

pub(super) fn compared(
    setting: &Setting,
    results: &Results,
) -> Result<Vec<Compared>, ResultsError> {
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
pub(super) fn partitions(
    setting: &Setting,
    results: &Results,
) -> Result<Vec<Compared>, ResultsError> {
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
