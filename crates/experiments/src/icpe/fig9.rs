//! Figure 9: the speed-up of queries over model tables.

use sluicegate_costmodel::Provenance;

use super::models::{ModelRun, models, optional, run};
use super::paper::PRESTO;
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig9",
    title: "Speed-up of queries over model tables",
    place: "ICPE §6.3, Figure 9",
    method: Method::Live { runs, evaluate },
};

fn runs(setting: &Setting) -> Vec<Run> {
    vec![run(setting)]
}

fn published(query: &ModelRun) -> Option<f64> {
    PRESTO.iter().find(|it| it.query == query.number()).map(|it| it.speedup)
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let queries = models(results)?;
    let mut outcome = Outcome::default();
    let bar = |query: &ModelRun| Bar {
        name: format!("Q{}", query.number()),
        lengths: [query.speedup()].into_iter().chain(published(query)).collect(),
    };
    outcome.charts.push(Chart {
        title: "Speed-up over model tables".to_owned(),
        x: Axis::linear("times as fast"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: vec!["measured".to_owned(), "published".to_owned()],
            bars: queries.iter().map(bar).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Measured,
    });
    let row = |query: &ModelRun| {
        vec![
            format!("Q{}", query.number()),
            format!("{:.2}", query.speedup()),
            optional(published(query), 2),
            optional(query.layout_speedup, 2),
            optional(query.bytes_ratio, 2),
            optional(query.cpu_ratio, 2),
        ]
    };
    outcome.tables.push(Table {
        title: "Speed-up over model tables, and over copies of the whole tables by the same writer of Parquet"
            .to_owned(),
        columns: vec![
            "query",
            "speed-up",
            "published",
            "over copies",
            "times fewer bytes",
            "times less CPU",
        ],
        rows: queries.iter().map(row).collect(),
        provenance: Provenance::Measured,
    });
    Ok(outcome)
}
