//! Section 8.2: the part of TPC-H's query 3 that its joins take, and what the switch prunes of them.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use super::sweep::percent;
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::results::median;
use crate::{
    Chart, Data, Experiment, Outcome, Results, ResultsError, Run, Setting, Table, UNLIMITED,
};

/// Our own operators over tables in memory, timed by EXPLAIN ANALYZE, and the joins through the switch.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/q3",
    title: "The time of TPC-H query 3 by its operators",
    place: "Cheetah §8.2",
    method: Method::Live { runs, evaluate },
};

const RUN: &str = "operators";
const JOINS: &str = "joins";
/// The header of the answer of each round.
const HEADER: &str = "plan_type,plan";
/// The share of the joins that the paper measured in Spark.
const PUBLISHED: f64 = 0.67;

/// Rounds, of whose times the medians count.
const ROUNDS: usize = 9;

/// The tables of the query.
pub(super) fn tpch(setting: &Setting) -> Data {
    let scale = setting.scale.to_string();
    let tables = "customer,orders,lineitem";
    Data::new("tpch-q3", &["tpch", "--scale", &scale, "--tables", tables])
}

/// The statements that load the columns of the query into memory.
pub(super) const LOADED: [&str; 3] = [
    "CREATE TABLE c AS SELECT c_custkey, c_mktsegment FROM customer",
    "CREATE TABLE o AS SELECT o_orderkey, o_custkey, o_orderdate, o_shippriority FROM orders",
    "CREATE TABLE l AS SELECT l_orderkey, l_extendedprice, l_discount, l_shipdate FROM lineitem",
];

/// Returns query 3 over these tables.
pub(super) fn query(tables: &str) -> String {
    format!(
        "SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority \
         FROM {tables} WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey \
         AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' \
         GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10"
    )
}

fn runs(setting: &Setting) -> Vec<Run> {
    let mut statements = LOADED.map(str::to_owned).to_vec();
    let explained = format!("EXPLAIN ANALYZE {}", query("c, o, l"));
    statements.extend(vec![explained; ROUNDS]);
    let scale = setting.scale.to_string();
    let joins = ["switch", "run", "--workload", "tpch-q3", "--scale", &scale, "--format", "json"];
    vec![
        Run::sql(RUN, &tpch(setting), UNLIMITED, &[("scan", "get")], &statements, 1),
        Run::command(JOINS, &joins),
    ]
}

/// What the switch forwards of a join.
#[derive(Debug, Deserialize)]
struct Join {
    query: String,
    entries: u64,
    forwarded: u64,
    forwarded_share: f64,
    optimum_share: f64,
    answer: String,
}

fn pruned(results: &Results) -> Result<Table, ResultsError> {
    let row = |it: &Join| {
        vec![
            it.query.clone(),
            it.entries.to_string(),
            it.forwarded.to_string(),
            percent(it.forwarded_share),
            percent(it.optimum_share),
            it.answer.clone(),
        ]
    };
    Ok(Table {
        title: "Entries of the joins of query 3 that the switch forwards".to_owned(),
        columns: vec!["join", "entries", "forwarded", "share", "optimum", "answer"],
        rows: results.output::<Vec<Join>>(JOINS)?.iter().map(row).collect(),
        provenance: Provenance::Counted,
    })
}

/// The kinds of operators, by the beginnings of their names.
const KINDS: [(&str, &[&str]); 5] = [
    ("joins", &["HashJoinExec", "SortMergeJoinExec", "NestedLoopJoinExec"]),
    ("filters", &["FilterExec"]),
    ("group-by", &["AggregateExec"]),
    ("top N", &["SortExec", "SortPreservingMergeExec", "ProjectionExec"]),
    ("exchange", &["RepartitionExec", "Coalesce"]),
];

/// Returns the seconds of each kind of operator in the text of an analyzed plan.
fn seconds_by_kind(plan: &str) -> [f64; 5] {
    let mut seconds = [0.0; 5];
    for line in plan.lines().map(|line| line.rsplit('"').next().unwrap_or(line).trim_start()) {
        let kind =
            KINDS.iter().position(|(_, names)| names.iter().any(|name| line.starts_with(name)));
        let time = line.split("elapsed_compute=").nth(1).and_then(duration);
        if let (Some(kind), Some(time)) = (kind, time) {
            seconds[kind] += time;
        }
    }
    seconds
}

/// Returns the plan of each round, or an error if the kept text does not reach to the end of the last.
fn plans(results: &Results) -> Result<Vec<&str>, ResultsError> {
    let plans: Vec<&str> = results.record(RUN)?.answers.split(HEADER).skip(1).collect();
    let operators = |plan: &str| plan.matches("elapsed_compute=").count();
    let count = plans.first().map_or(0, |plan| operators(plan));
    let whole = plans.iter().filter(|plan| operators(plan) == count && count > 0).count();
    if whole != ROUNDS || plans.len() != ROUNDS {
        // There is no record of this name, which the error shows.
        results.record(&format!("{RUN}, {ROUNDS} plans, of which {whole} are whole"))?;
    }
    Ok(plans)
}

/// Parses a time such as `1.15ms` at the start of a text.
fn duration(text: &str) -> Option<f64> {
    let end = text.find([',', ']']).unwrap_or(text.len());
    let units = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    units.iter().find_map(|(unit, size)| {
        let number: f64 = text[..end].strip_suffix(unit)?.parse().ok()?;
        Some(number * size)
    })
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let rounds: Vec<[f64; 5]> = plans(results)?.into_iter().map(seconds_by_kind).collect();
    let of = |kind: usize| median(&rounds.iter().map(|round| round[kind]).collect::<Vec<_>>());
    let seconds = [0, 1, 2, 3, 4].map(of);
    let all: f64 = seconds.iter().sum();
    let share = seconds[0] / all;
    let mut outcome = Outcome::default();
    let holds = (0.5..=0.85).contains(&share);
    outcome.decide("C19", format!("{:.0} %", 100.0 * share), holds);
    let shuffle = "measured with our operators over tables in memory, not with Spark: vectorized hash joins without a \
                   shuffle over a network";
    outcome.note(format!("{shuffle}; filters take {:.0} %", 100.0 * seconds[1] / all));
    let row = |((kind, _), time): (&(&str, &[&str]), &f64)| {
        let published =
            if *kind == "joins" { format!("{:.0} %", 100.0 * PUBLISHED) } else { String::new() };
        vec![
            (*kind).to_owned(),
            format!("{:.2}", 1e3 * time),
            format!("{:.1} %", 100.0 * time / all),
            published,
        ]
    };
    outcome.tables.push(Table {
        title: "Time of query 3 by the kind of operator, of both threads together".to_owned(),
        columns: vec!["operators", "milliseconds", "share", "published"],
        rows: KINDS.iter().zip(&seconds).map(row).collect(),
        provenance: Provenance::Measured,
    });
    outcome.tables.push(pruned(results)?);
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: Axis::linear("seconds of all threads"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: KINDS.iter().map(|(kind, _)| (*kind).to_owned()).collect(),
            bars: vec![Bar { name: "query 3".to_owned(), lengths: seconds.to_vec() }],
            is_stacked: true,
        },
        provenance: Provenance::Measured,
    });
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    #[test]
    fn a_text_that_is_cut_is_an_error() {
        let plan = format!(
            "{HEADER}\n HashJoinExec: m, metrics=[elapsed_compute=2ms]\n FilterExec: x, metrics=[elapsed_compute=1ms]\n"
        );
        let outcome = |answers: &str| {
            let mut results = Results::default();
            results.insert(RUN, Record { answers: answers.to_owned(), ..Record::default() });
            let output = json!([{"query": "Q3 customer ⋈ orders", "entries": 100, "forwarded": 25,
                "forwarded_share": 0.25, "optimum_share": 0.2, "answer": "unchanged"}]);
            results.insert(JOINS, Record { output, ..Record::default() });
            evaluate(&Setting::QUICK, &results)
        };
        let all = plan.repeat(ROUNDS);
        let whole = outcome(&all).unwrap();
        assert_eq!(whole.verdicts[0].found, "67 %");
        assert_eq!(whole.tables[1].rows[0][2..5], ["25", "25.0 %", "20.0 %"]);
        let refused = outcome(&all[..all.len() - 30]).unwrap_err().to_string();
        assert!(refused.contains("9 plans, of which 8 are whole"), "{refused}");
        assert!(outcome("").is_err());
    }

    #[test]
    fn operators_are_read_from_a_plan() {
        let plan = "Plan with Metrics,\"SortExec: TopK(fetch=10), metrics=[output_rows=18, elapsed_compute=150.5µs]\n\
            \x20 AggregateExec: mode=Partial, metrics=[output_rows=6, elapsed_compute=1.5ms, x=1]\n\
            \x20   HashJoinExec: mode=CollectLeft, metrics=[elapsed_compute=2s]\n\
            \x20     CoalescePartitionsExec, metrics=[elapsed_compute=20ns]\n";
        let [joins, filters, groups, top, exchange] = seconds_by_kind(plan);
        assert_eq!((joins, filters), (2.0, 0.0));
        assert!((groups - 0.0015).abs() < 1e-12 && (top - 0.000_150_5).abs() < 1e-12);
        assert!((exchange - 2e-8).abs() < 1e-15);
    }
}
