//! Figure 12: the plan of query 44, and the rows that its scans keep.

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::tpcds::Table as Source;

use super::plans::Operators;
use super::samples::sampled;
use super::selectivity::{counted, counting, percent};
use super::stages::{ListedStage, Stages};
use super::tpcds::stages;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig12",
    title: "Operators of query 44, and the rows that its scans keep",
    place: "ICPE §6.4, Figure 12",
    method: Method::Live { runs, evaluate },
};

const QUERY: usize = 44;
/// The figure: stages, scans of facts and dimensions, joins and sorts, of Spark and of Presto.
const PUBLISHED: [(&str, u32, u32); 5] = [
    ("stages", 9, 18),
    ("fact scans", 3, 4),
    ("dimension scans", 1, 2),
    ("joins", 5, 5),
    ("sorts", 4, 0),
];
/// The scans of store_sales.
const SCANS: [(&str, &str); 2] =
    [("store_sales", "ss_store_sk = 2"), ("store_sales", "ss_store_sk = 2 AND ss_addr_sk IS NULL")];
/// The paper's scale factors, 1 TB and 10 TB, and the published percents.
const SCALES: [(f64, f64); 2] = [(1000.0, 0.15), (10_000.0, 0.13)];
/// The greatest difference in percent.
const NEAR: f64 = 0.02;
/// The store of the paper.
const STORE: i64 = 2;
/// The parts of the samples at the paper's scales.
const PARTS: u32 = 200;

fn runs(setting: &Setting) -> Vec<Run> {
    vec![stages(setting, QUERY), counting("scans of Q44", setting, &SCANS)]
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let stages = Stages::of(results, &format!("stages of Q{QUERY}"))?.stages;
    let samples = SCALES.map(|(scale, published)| {
        let is_store = |it: Option<i64>| it == Some(STORE);
        (scale, published, sampled(Source::StoreSales, scale, PARTS, "ss_store_sk", is_store))
    });
    let kept = counted(results, "scans of Q44")?;
    let mut outcome = Outcome::default();
    let near =
        samples.iter().all(|(_, published, kept)| (percent(*kept) - published).abs() <= NEAR);
    let found = samples.map(|(_, _, kept)| format!("{:.2}", percent(kept))).join(", ");
    outcome.decide("I14", format!("{found} %"), near);
    let reason = if near { "" } else { ". How the paper counted is not published" };
    outcome.note(format!(
        "{} of {} rows in a sample of dsdgen's rows at 1 TB, and {} of {} at 10 TB{reason}",
        samples[0].2.1, samples[0].2.0, samples[1].2.1, samples[1].2.0,
    ));
    let counts = counts(&stages);
    let columns = [PUBLISHED.map(|it| it.1), PUBLISHED.map(|it| it.2)];
    outcome.decide("I15", listed(counts), columns.contains(&counts));
    outcome.note(format!(
        "DataFusion plans the query differently from both. Even Spark ({}) and Presto ({}) differ in four of five \
         numbers",
        listed(columns[0]),
        listed(columns[1]),
    ));
    outcome.tables.push(Table {
        title: "Operators of query 44; those of Spark and Presto are published".to_owned(),
        columns: vec!["", "here", "Spark", "Presto"],
        rows: PUBLISHED
            .iter()
            .zip(counts)
            .map(|((name, spark, presto), here)| {
                vec![(*name).to_owned(), here.to_string(), spark.to_string(), presto.to_string()]
            })
            .collect(),
        provenance: Provenance::Counted,
    });
    outcome.tables.push(selectivities(&kept, &samples));
    Ok(outcome)
}

/// Returns the numbers of stages and operators, in the order of [`PUBLISHED`].
fn counts(stages: &[ListedStage]) -> [u32; PUBLISHED.len()] {
    let here = Operators::of(stages.iter().map(|it| &it.plan));
    let count = stages.iter().map(|_| 1).sum();
    [count, here.fact_scans, here.dimension_scans, here.joins, here.sorts]
}

fn listed(counts: [u32; PUBLISHED.len()]) -> String {
    counts.map(|it| it.to_string()).join(", ")
}

fn selectivities(kept: &[(u64, u64)], samples: &[(f64, f64, (u64, u64))]) -> Table {
    let row = |scale: String, condition: &str, pair: (u64, u64), published: String| {
        let (rows, kept) = pair;
        let percent = format!("{:.3}", percent(pair));
        vec![scale, condition.to_owned(), rows.to_string(), kept.to_string(), percent, published]
    };
    let here = SCANS.iter().zip(kept).map(|((_, condition), pair)| {
        row("of this evaluation".to_owned(), condition, *pair, String::new())
    });
    let paper = samples.iter().map(|(scale, published, pair)| {
        row(format!("{scale}, a sample"), SCANS[0].1, *pair, format!("{published:.2}"))
    });
    Table {
        title: "Rows of store_sales that scans of query 44 keep".to_owned(),
        columns: vec!["scale factor", "condition", "rows", "kept", "percent", "published"],
        rows: here.chain(paper).collect(),
        provenance: Provenance::Counted,
    }
}
