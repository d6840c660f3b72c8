//! Figure 2: the time of each query.

use sluicegate_costmodel::Provenance;

use super::ranking::ranked;
use super::tpcds::all_queries;
use crate::chart::{Axis, Marks, PointSeries};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig2",
    title: "Time of each query of TPC-DS",
    place: "ICPE §4.2, Figure 2",
    method: Method::Live { runs, evaluate },
};

fn runs(setting: &Setting) -> Vec<Run> {
    vec![all_queries(setting)]
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let queries = ranked(results, "all queries")?;
    let mut outcome = Outcome::default();
    let points =
        queries.iter().map(|it| (it.number() as f64, it.measured_s, it.number().to_string()));
    outcome.charts.push(Chart {
        title: "Seconds of each query".to_owned(),
        x: Axis::linear("query"),
        y: Axis::logarithmic("seconds"),
        marks: Marks::Points(vec![PointSeries {
            name: "DataFusion".to_owned(),
            points: points.collect(),
            is_published: false,
        }]),
        provenance: Provenance::Measured,
    });
    let row = |name: &str, published: &str, here: usize| {
        vec![name.to_owned(), published.to_owned(), here.to_string()]
    };
    outcome.tables.push(Table {
        title: "Queries that run, of 99; those of the paper's clusters are published".to_owned(),
        columns: vec!["engine", "published", "here"],
        rows: vec![row("Spark", "91", queries.len()), row("Presto", "61", queries.len())],
        provenance: Provenance::Counted,
    });
    outcome.tables.push(Table {
        title: "Seconds of each query, without pushdown".to_owned(),
        columns: vec!["query", "seconds", "MB read"],
        rows: queries
            .iter()
            .map(|it| {
                let read = it.read_mb.map(|read| format!("{read:.2}")).unwrap_or_default();
                vec![format!("Q{}", it.number()), format!("{:.4}", it.measured_s), read]
            })
            .collect(),
        provenance: Provenance::Measured,
    });
    Ok(outcome)
}
