//! Figure 2: the time of each query.

use sluicegate_costmodel::Provenance;

use super::ranking::all_ranked;
use super::tpcds::{REPEATED, all_queries, ranking};
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
    vec![all_queries(setting), ranking(setting)]
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let queries = all_ranked(results)?;
    let mut outcome = Outcome::default();
    let points =
        queries.iter().map(|it| (it.number() as f64, it.measured_s, it.number().to_string()));
    outcome.charts.push(Chart {
        title: format!("Seconds of each query at scale factor {}", setting.scale),
        x: Axis::linear("query"),
        y: Axis::logarithmic("seconds"),
        marks: Marks::Points(vec![PointSeries {
            name: "DataFusion".to_owned(),
            points: points.collect(),
            is_published: false,
        }]),
        provenance: Provenance::Measured,
    });
    let row = |name: &str, count: &str| vec![name.to_owned(), count.to_owned()];
    outcome.tables.push(Table {
        title: "Queries that run, of 99".to_owned(),
        columns: vec!["engine", "queries"],
        rows: vec![
            row("DataFusion, here", &queries.len().to_string()),
            row("Spark, published", "91"),
            row("Presto, published", "61"),
        ],
        provenance: Provenance::Counted,
    });
    outcome.tables.push(Table {
        title: "Seconds of each query without pushdown".to_owned(),
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
    outcome.remarks.push(REPEATED.to_owned());
    Ok(outcome)
}
